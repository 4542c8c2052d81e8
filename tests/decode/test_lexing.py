from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]  # has no types

from ollm_tui.decode import lexing
from ollm_tui.decode.lexing import WINDOW, Rule, Token, find_lexer, tokens
from ollm_tui.tui.painters import code
from ollm_tui.tui.painters.code import code_rows
from tests.tui.painters.painting import canvas

if TYPE_CHECKING:
    import re

CODE = {
    "python": 'def f(x: int) -> str:\n    """Doc\n    string."""\n    return f"{x!r}"  # note\n\n',
    "javascript": "const f = (x) => `${x}`; /* a\ncomment */ class A { b() {} }\n",
    "html": "<div class='a'><!-- note\n--><script>let x = 1;</script>&amp;</div>\n",
    "c": "/* a\n comment */\n#include <a.h>\nint main(void) { return 0; } // end\n",
    "rust": 'fn main() { println!("{}", 1); } /* a /* nested */ one */\n',
    "json": '{"a": [1, 2.5, null, "b\\n"]}\n',
    "yaml": "a: 1\nb:\n  - c # note\n  - 'd'\n",
    "php": "<?php\nfunction f($x) { return strlen($x); } // note\n?>\n<p>text</p>\n",
    "bash": 'for x in *; do echo "$x"; done # note\n',
}


def joined(pieces: list[tuple[Token, str]]) -> list[tuple[Token, str]]:
    """Neighbours of one type as one, since a text may be cut anywhere inside a type."""
    return [
        (kind, "".join(text for _kind, text in group))
        for kind, group in groupby(pieces, key=lambda each: each[0])
    ]


@pytest.mark.slow
@pytest.mark.parametrize("language", CODE)
def test_long_code_is_cut_as_the_lexer_cuts_it_at_once(language: str) -> None:
    text = CODE[language] * (3 * WINDOW // len(CODE[language]))
    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    assert joined(list(tokens(language, text))) == joined(list(lexer.get_tokens(text)))


def test_a_comment_longer_than_a_window_is_one_comment() -> None:
    text = "/*" + "int x;\n" * WINDOW + "*/\nint y;\n"
    kinds = [kind for kind, piece in tokens("c", text) if "x" in piece]
    assert {kind[0] for kind in kinds} == {"Comment"}
    assert any("y" in piece and kind[0] == "Name" for kind, piece in tokens("c", text))


LANGUAGES = st.sampled_from([*CODE, "html+jinja", "console", "make", "erb", "text", "sql", "diff"])
SNIPPETS = st.sampled_from(
    [
        *CODE.values(),
        "<!-- ",
        "/* ",
        '"""',
        "'",
        '"',
        "`${",
        "{{ x",
        "{% if",
        "\n",
        "    ",
        "x = 1;",
    ]
)


@given(language=LANGUAGES, parts=st.lists(SNIPPETS | st.text(max_size=20), max_size=12))
def test_no_code_is_lost_even_if_the_lexer_loses_some(language: str, parts: list[str]) -> None:
    lines = "".join(parts).replace("\t", " ").split("\n")
    with patch.multiple(lexing, WINDOW=16, EAGER_PIECE=32):
        shown = [row for row in code_rows(lines, language, canvas()) if row is not None][1:]
    text = "".join(("\n" if row.join is None else "") + row.text[row.gutter :] for row in shown)
    assert text.removeprefix("\n").split("\n") == lines


@pytest.mark.slow
def test_a_vain_look_sees_a_window_only() -> None:
    looks: list[int] = []

    def counted(rule: Rule) -> Rule:
        match, action, state = rule

        def look(text: str, position: int, end: int) -> "re.Match[str] | None":
            looks.append(end - position)
            return match(text, position, end)

        return look, action, state

    lexer: Any = find_lexer.__wrapped__("html")
    for state in lexer._tokens.values():
        state._rules = [counted(rule) for rule in state._rules]
    pieces = list(lexer.get_tokens("<!-- a <![CDATA[ b\n" * 5000))
    assert len(pieces) > 5000
    assert max(looks) == WINDOW


def test_a_lexer_that_goes_round_in_circles_comes_to_an_end() -> None:
    # This one stays at such a place forever and gives nothing again and again.
    text = '=<!-- …//<!-- (1e--$x"""    */0x1e\'{*/begin$x"""\\:0x<%%def f%>/* /* …é日^|!-->\n'
    assert "".join(piece for _kind, piece in tokens("mcschema", text)) == text


def test_a_lexer_that_fails_costs_only_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        def get_tokens(self, text: str) -> Iterator[tuple[Token, str]]:
            yield ("Keyword",), text[:2]
            raise RuntimeError

    for module in (lexing, code):
        monkeypatch.setattr(module, "find_lexer", lambda _language: Failing())
    assert list(tokens("any", "a b")) == [(("Keyword",), "a ")]
    rows = [row for row in code_rows(["if x:", "y"], "any", canvas()) if row is not None]
    assert [row.text for row in rows[1:]] == [" if x:", " y"]


def test_lexing_nothing_again_and_again_leaves_no_trace() -> None:
    before = list(tokens("python", "x = 1\n"))
    for _ in range(500):
        assert list(tokens("python", "")) == []
    assert list(tokens("python", "x = 1\n")) == before
