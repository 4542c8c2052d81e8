"""Markdown in words: nothing is lost but marks, and the pieces of a stream do not matter."""

from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.linear.answer_text import MAX_LENGTH, LinearText, links_of

ANSWER = """# Title

First **bold** sentence. Second with `code.x y` inside. See [the docs](https://a.b/c). E.g. this.
- one
- two **b. c** more
  - nested
- [x] finished
- [ ] open
1. first

> quoted text. More.

~~~python
def f():
    return "**1**"
~~~

| Name | Size |
|------|-----:|
| a | 1 |
| b \\| c |  |

---
The end"""

LINES = """\
Heading 1: Title
First bold sentence.
Second with code.x y inside.
See the docs (https://a.b/c).
E.g. this.
Item: one
Item: two b. c more
Item, level 2: nested
Done: finished
To do: open
1. first
Quote: quoted text.
More.
Code, python:
def f():
    return "**1**"
End of code.
Table with 2 columns: Name, Size.
Row 1. Name: a; Size: 1.
Row 2. Name: b | c; Size: empty.
End of table.
The end"""


def read(pieces: list[str]) -> list[str]:
    reader = LinearText()
    lines = [line for piece in pieces for line in reader.feed(piece)]
    return [*lines, *reader.finish()]


def test_an_answer_in_words() -> None:
    assert read([ANSWER]) == LINES.splitlines()


texts = st.lists(
    st.sampled_from(
        ["# ", "- ", "| a | b |", "|--|--|", "```", "\n", "**", "`", "A. ", "x", " ", "1."]
    ),
    max_size=40,
).map("".join)


@given(texts | st.just(ANSWER), st.data())
def test_the_lines_are_the_same_however_the_answer_is_cut(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert read(pieces) == read([text])


def test_a_line_that_is_no_head_of_a_table_comes_before_the_next_one() -> None:
    whole = "# a | b |\nOne is. | c |"
    for at in range(len(whole)):
        assert read([whole[:at], whole[at:]]) == ["Heading 1: a | b |", "One is.", "| c |"]


def test_a_text_without_an_end_is_read_in_parts() -> None:
    reader = LinearText()
    lines = [line for _ in range(200) for line in reader.feed("again and ")]
    assert len(lines) >= 200 * 10 // (MAX_LENGTH + 20)
    assert " ".join([*lines, *reader.finish()]).split() == ["again", "and"] * 200


def test_links_are_listed_once() -> None:
    text = "[docs](https://a.b/c), https://d.e and [again](https://a.b/c)."
    assert links_of(text) == [("docs", "https://a.b/c"), ("", "https://d.e")]
