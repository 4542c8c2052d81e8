import itertools
from time import monotonic

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.decode.clean import clean_line
from ollm_tui.tui.painters.markdown import OPEN_BUDGET, MarkdownPainter
from ollm_tui.tui.painters.rows import row_cells
from tests.tui.painters.painting import (
    Look,
    canvas,
    looks,
    paint,
    paint_pieces,
    rows,
    settle,
    styled,
    texts,
)

SAMPLE = """# Sky *colours*
At noon **little air** and `code`, see [Rayleigh](https://en.wikipedia.org/wiki/Rayleigh) and
~~not~~ ![pic](x.png).

Setext
------
1. First item that is long enough to wrap
   - nested `one`
     more
2. Second
   ```python
   def f():
       \"\"\"Doc
       string\"\"\"
   ```
10. Third

    second paragraph
- [ ] todo
- [x] done

> Quote that goes on
lazily
> > deeper

| angle | path |
|------:|:----:|
| 90 | short **b** |
| 5 | a very long cell that must be wrapped a\\|b |
more | cells | than | head

```rust
fn main() { println!("{}", 1); } // long comment that does not fit
/* multi
   line */
\tx
```
~~~
open 日本語 👩\u200d🚀

    indented
***
Costs $5 and $6, but $E = mc^2$ and \\(a_1\\).
$$
x
= \\frac{1}{2}
+ c
$$
- in $x_2$ an item
  \\[ y
  = 2 \\].
\\[ open

"""

LINES = st.sampled_from(
    [
        *SAMPLE.split("\n"),
        *["", "", "- a", "1. b", "  c", "    d", "> e", "```", "| x | y |", "|-|-|", "===", "---"],
        *["$$", "\\[", "\\]", "$$ x $$", "a $x^2$ b", "= $y", "1$ \\(", "\\) $5", "| $z$ | $ |"],
        *["text *a", "b* c", "\tt", "[ ] x", "\r", "日本語", "\x1b[2J", "<b>"],
    ]
)
DOCUMENTS = st.lists(LINES, max_size=25).map("\n".join) | st.text(max_size=80)


@settings(max_examples=300)
@given(
    text=DOCUMENTS,
    cuts=st.lists(st.integers(0, 1000), max_size=40),
    width=st.sampled_from([12, 30, 76]),
    live=st.booleans(),
)
def test_any_cutting_paints_the_same_rows(
    text: str, cuts: list[int], width: int, live: bool
) -> None:
    places = sorted({0, *(cut for cut in cuts if cut < len(text)), len(text)})
    pieces = [text[start:end] for start, end in itertools.pairwise(places)]
    assert looks(paint_pieces(pieces, width, live=live)) == looks(paint(text, width))


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_the_sample_is_the_same_character_by_character(newline: str) -> None:
    text = SAMPLE.replace("\n", newline)
    assert looks(paint_pieces(text)) == looks(paint(SAMPLE))


@given(text=DOCUMENTS, widths=st.tuples(st.integers(12, 90), st.integers(12, 90)))
def test_painting_again_at_another_width_equals_painting_there(
    text: str, widths: tuple[int, int]
) -> None:
    painter = paint(text, widths[0])
    painter.restyle(canvas(widths[1]), 0)
    settle(painter)
    assert looks(painter) == looks(paint(text, widths[1]))


def _check_changes(pieces: list[str]) -> None:
    """Rows outside a reported change must look as before."""
    painter = MarkdownPainter(canvas())
    before: list[Look] = []
    for piece in [*pieces, None]:
        if piece is None:
            painter.finish()
        else:
            painter.append(piece)
        more = True
        while more:
            more = painter.work(0.0)
            change = painter.rows.take_change()
            now = looks(painter)
            first, last = (len(now), len(now)) if change is None else (change.first, change.end)
            assert now[:first] == before[:first]
            if last is not None:
                assert now[last:] == before[last:]
                assert len(now) == len(before)
            before = now


@given(text=DOCUMENTS, cuts=st.lists(st.integers(0, 400), max_size=20))
def test_every_change_is_reported(text: str, cuts: list[int]) -> None:
    places = sorted({0, *(cut for cut in cuts if cut < len(text)), len(text)})
    _check_changes([text[start:end] for start, end in itertools.pairwise(places)])


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "```python\n" + "x = 'a' # b\n" * 90 + "```\nend",
        "```\nx\n" + "y" * 5000 + "\nz\n" + "w" * 2500,
        "| a | b |\n|---|---|\n" + "".join(f"| {'x' * n} | y |\n" for n in range(50)),
        "| a | b |\n|---|---|\n| 1 | " + "x " * 3000 + "|\n| c | d |\n\nend",
        "word **bold** " * 500 + "\n\nend",
        "- item\n" + "  more\n" * 900 + "- next",
    ],
)
def test_every_change_of_a_long_block_is_reported(text: str) -> None:
    _check_changes([text[start : start + 97] for start in range(0, len(text), 97)])


@given(text=DOCUMENTS, width=st.integers(12, 90))
def test_no_row_is_wider_than_the_canvas_unless_its_frames_are(text: str, width: int) -> None:
    for row in rows(paint(text, width)):
        if width > 40:
            assert row_cells(row.segments) <= width


def test_marks_become_styles() -> None:
    painter = paint("**b** *i* ~~s~~ `c`")
    assert texts(painter) == ["b i s c"]
    assert styled(painter, "b") == ["bold"]
    assert styled(painter, "i") == ["italic"]
    assert styled(painter, "s") == ["strike"]


def test_links_show_their_address_and_never_become_terminal_links() -> None:
    painter = paint("[bank](https://evil.example/) <https://a.example> ![cat](c.png)", 100)
    assert texts(painter) == [
        "bank (https://evil.example/) https://a.example [image: cat]",
    ]
    assert not any(
        segment.style and segment.style.link for row in rows(painter) for segment in row.segments
    )


def test_html_and_link_definitions_stay_text() -> None:
    painter = paint("<b onclick=x>hi</b>\n\n[ref]: http://foo\n\n[a][ref]\n\n> [q]: http://bar")
    assert texts(painter)[::2] == [
        "<b onclick=x>hi</b>",
        "[ref]: http://foo",
        "[a][ref]",
        "▎ [q]: http://bar",
    ]


def test_a_backslash_takes_the_meaning_of_a_mark_away() -> None:
    assert texts(paint(r"\*a\* \[b](c)")) == ["*a* [b](c)"]


def test_control_characters_are_shown() -> None:
    assert texts(paint("a\x1b[2Jb\n\n```\x1b\n\x1b]0;x\x07\n```")) == [
        "a␛[2Jb",
        "",
        " ␛",
        " ␛]0;x␇",
    ]


def test_lists_nest_number_and_tick() -> None:
    painter = paint("3. a\n   - b\n     - c\n7. d\n\n- [ ] todo\n- [x] done")
    assert texts(painter) == ["3. a", "   • b", "     ◦ c", "4. d", "", "☐ todo", "☑ done"]


def test_quotations_carry_a_bar_that_is_no_part_of_a_copy() -> None:
    painter = paint("> quoted text that wraps around at the end\n>> deep\n\n> - item")
    assert texts(painter) == [
        "▎ quoted text that wraps around at the",
        "▎ end",
        "▎",
        "▎ ▎ deep",
        "",
        "▎ • item",
    ]
    assert [row.gutter for row in rows(painter)] == [2, 2, 2, 4, 0, 2]


def test_a_string_over_several_lines_is_coloured_as_one() -> None:
    text = '```python\nx = """one\ntwo"""\ny = 1\n```'
    painter = MarkdownPainter(canvas())
    painter.append(text)
    painter.finish()
    settle(painter)
    assert texts(painter) == [
        " python",
        ' x = """one',
        ' two"""',
        " y = 1",
    ]


def test_a_table_shrinks_wraps_and_stacks() -> None:
    table = "| a | long |\n|--:|---|\n| 1 | one two three four five six |\n"
    assert texts(paint(table, 20)) == [
        "a │ long",
        "──┼─────────────────",
        "1 │ one two three",
        "  │ four five six",
    ]
    wide = "|" + " h |" * 9 + "\n|" + "-|" * 9 + "\n|" + " vvvvvvvv |" * 9
    assert texts(paint(wide, 40))[:2] == ["h: vvvvvvvv", "h: vvvvvvvv"]


def test_a_row_with_too_many_cells_loses_nothing() -> None:
    assert texts(paint("| a | b |\n|---|---|\n| 1 | 2 | 3 |"))[-1] == "1 │ 2 | 3"


def test_what_is_nested_too_deep_is_shown_as_it_is() -> None:
    painted = texts(paint(">" * 300 + " deep"))
    assert "".join(painted).count(">") == 300
    assert any("nested too deep" in line for line in painted)


def test_an_endless_paragraph_is_plain_and_says_so() -> None:
    painted = texts(paint("word **bold** " * 8000, 100))
    assert "**bold**" in painted[0]
    assert painted[-1] == "· too long to be formatted"


def test_the_open_block_is_formatted_while_it_streams() -> None:
    painter = MarkdownPainter(canvas())
    painter.append("# Title\n\nSome **bold** te")
    painter.work(monotonic() + 1)
    assert texts(painter) == ["Title", "", "Some bold te"]
    painter.append("xt\n\n- it")
    painter.work(monotonic() + 1)
    assert texts(painter) == ["Title", "", "Some bold text", "", "• it"]


def test_an_undecided_line_waits() -> None:
    painter = MarkdownPainter(canvas())
    painter.append("text\n-")
    painter.work(monotonic() + 1)
    assert texts(painter) == ["text"]
    assert styled(painter, "text") == ["none"]


def test_a_line_that_turns_out_to_be_something_else_leaves_nothing_behind() -> None:
    painter = MarkdownPainter(canvas())
    painter.append("text\n_ _ _ _ _")
    painter.work(monotonic() + 1)
    assert texts(painter) == ["text", "", "─" * 40]
    painter.append(" a")
    painter.finish()
    settle(painter)
    assert texts(painter) == ["text _ _ _ _ _ a"]


def test_a_closed_section_keeps_its_row_objects() -> None:
    painter = MarkdownPainter(canvas())
    painter.append("one\n\ntwo\n\nthr")
    painter.work(monotonic() + 1)
    before = rows(painter)
    painter.append("ee more")
    painter.work(monotonic() + 1)
    assert all(old is new for old, new in zip(before[:4], rows(painter), strict=False))


def test_rows_of_the_open_section_that_stay_the_same_are_the_same_objects() -> None:
    painter = MarkdownPainter(canvas(10))
    painter.append("one two three four")
    painter.work(monotonic() + 1)
    before = rows(painter)
    painter.append(" five")
    painter.work(monotonic() + 1)
    assert rows(painter)[0] is before[0]


def test_a_text_of_brackets_is_not_parsed() -> None:
    assert texts(paint("[" * 600, 100))[-1] == "· too long to be formatted"


def _stream(text: str, step: int) -> MarkdownPainter:
    painter = MarkdownPainter(canvas(100))
    for start in range(0, len(text), step):
        painter.append(text[start : start + step])
        painter.work(monotonic() + 1)
        painter.rows.take_change()
    painter.finish()
    settle(painter)
    return painter


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("paragraph", "word " * 20_000),
        ("paragraph lines", "word word word\n" * 5000),
        ("items", "- item with *marks*\n" * 3000),
        ("one item", "- a\n" + "  more text\n" * 5000),
        ("quote", "> text\n" * 5000),
        ("rules", "---\n" * 5000),
        ("headings", "# h\n" * 3000),
        ("fence", "```python\n" + "x = 1\n" * 5000),
        ("brackets", "[" * 50_000),
    ],
)
def test_the_work_for_a_growing_block_is_linear(name: str, text: str) -> None:
    # One formatted painting per piece may go up to the open budget, never with the whole text.
    small = _stream(text[: len(text) // 4], 64).rows.painted_chars
    large = _stream(text, 64).rows.painted_chars
    assert large <= 4 * small + OPEN_BUDGET * 80, name


def test_finished_code_lines_are_painted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from ollm_tui.tui.painters import code

    calls = 0
    original = code.line_rows

    def counted(*args: object) -> object:
        nonlocal calls
        calls += 1
        return original(*args)  # type: ignore[arg-type]  # passes on what it was given

    monkeypatch.setattr(code, "line_rows", counted)
    _stream("```text\n" + "line\n" * 4000, 25)
    assert calls < 4000 * 10


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "| a | b |\n|---|---|\n" + "| 1 | two |\n" * 600,
        "|" + " a |" * 90 + "\n|" + "-|" * 90 + "\n" + ("|" + " b |" * 90 + "\n") * 20,
        "```python\n" + "x = 1; " * 5000 + "\n```\n",
        "a" + "\u0301" * 5000,
        "\t" * 5000 + "x",
        "_a" * 5000,
        "[a](" * 5000,
        "`" * 3000,
        "".join("  " * depth + "- a\n" for depth in range(200)),
    ],
)
def test_costly_documents_come_out_the_same_in_pieces(text: str, whole: bool) -> None:
    step = len(text) if whole else 997
    assert looks(_stream(text, step)) == looks(paint(text, 100))


BRACKETS = [
    "[/INST]", "[/some/path]", "x[/red]", "regex [^/]+[/]", "[/", "deepseek[coder]:33b",
    "[ ] todo [x] done", "[@click=app.x]go[/]", "[b", "[bold]x[/bold]", "[[x]]", "[]", "[x",
    "a]b", "[red]", "[/]", "[link=http://x]y[/link]", "[1]", "array[0][1]", "[INST] hi [/INST]",
    "[$primary]x", "[on red]x", "[#ff0000]x", "[not bold]x", "[reverse]x[/reverse]",
    "[@click]x[/]", "[=x]", "[a=b]", "f[x]=[y]", "[[[", "]]]", "[/b", "a[/]b", "[!x]", "[ x ]",
    "[x][y]", "[b]unclosed", "[auto]x[/auto]", "[dim]x", "list[int | None]",
]  # fmt: skip


@pytest.mark.parametrize("text", BRACKETS)
def test_brackets_are_shown_exactly(text: str) -> None:
    assert texts(paint(text)) == [text]
    assert texts(paint(f"```\n{text}\n```")) == ["", f" {text}"]
    assert texts(paint(f"- {text}-")) in (
        [f"• {text}-"],
        [f"☐ {text[4:]}-"],
    )


REFERENCES = [
    "&#13;",
    "&#10;",
    "&#12;",
    "&#x0d;",
    "&Tab;",
    "&NewLine;",
    "&#x202e;",
    "&#xE0041;",
    "&#x2028;",
    "&#x85;",
    "&#127;",
    "&#27;",
    "&#x9b;",
    "&#8;",
    "&#0;",
    "&#xd800;",
]
PLACES = [
    "a {0}b",
    "**{0}x**",
    "# {0}h",
    "[{0}t](https://a.example)",
    "![{0}](https://a.example/p)",
    "| {0} | b |\n|---|---|\n| c | {0} |",
    "- {0}item",
    "> {0}quote",
    "- ```{0}x\n  y\n  ```",
    "~~{0}~~",
    "<https://a.example/{0}>",
    "[t](https://a.example '{0}')",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("reference", REFERENCES)
def test_a_character_reference_never_stands_for_what_moves_the_cursor(
    place: str, reference: str
) -> None:
    shown = "".join(texts(paint(place.format(reference))))
    assert clean_line(shown) == shown
    assert "\t" not in shown
