"""Cuts long code into typed pieces in steps that stay short, whatever the code is.

Pygments tries its rules at one place after another, and that is a generator: work can stop between
two places. But one rule may look for its end through all that follows (`<!--` without `-->`), and
at every such place again. Here the rules see a window only, which grows while what they find
reaches its end. So comments and strings of any length come out right unless only a rule that also
matches without its end could tell, and a vain look costs a window and not the whole text.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import re

Token = tuple[str, ...]
Match = Callable[..., "re.Match[str] | None"]
"""Takes the text, a position and the end of what may be looked at."""
Rule = tuple[Match, object, object]


class Lexer(Protocol):
    """What is used of a Pygments lexer, which has no types of its own."""

    def get_tokens(self, text: str) -> Iterable[tuple[Token, str]]:
        """Cut code into typed pieces."""
        ...


WINDOW = 8192
"""Characters that rules look at in vain, and the longest text that is lexed as it is."""
_MOST_WINDOWS = 64


@lru_cache(maxsize=64)
def find_lexer(language: str) -> Lexer | None:
    """The lexer of a language name, None when there is none."""
    if not language or len(language) > 40:
        return None
    # Imported with the first code block: the lexer table costs 15 ms no first screen needs.
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]  # has no types
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]  # has no types

    try:
        lexer: Lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    return lexer


def tokens(language: str, text: str) -> Iterator[tuple[Token, str]]:
    """The typed pieces of code; none in a language without a lexer."""
    whole = find_lexer(language)
    if whole is None:
        return
    stepping = whole if len(text) <= WINDOW else _stepping(language)
    if stepping is not None:
        yield from stepping.get_tokens(text)
        return
    for piece in _pieces(text):
        yield from whole.get_tokens(piece)


def _pieces(text: str) -> Iterator[str]:
    """Runs of whole lines that fit into a window; a longer line is cut."""
    start = 0
    while start < len(text):
        end = start + WINDOW
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end
        yield text[start:end]
        start = end


@lru_cache(maxsize=16)
def _stepping(language: str) -> Lexer | None:
    """The lexer for texts of any length; None for one that works on whole texts only."""
    from pygments.lexer import DelegatingLexer, RegexLexer  # type: ignore[import-untyped]  # untyped
    from pygments.lexers import JsonLexer, get_lexer_by_name

    lexer: Any = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    if isinstance(lexer, DelegatingLexer) or not isinstance(lexer, RegexLexer | JsonLexer):
        return None
    stepping: Lexer = lexer
    if isinstance(lexer, JsonLexer):
        return stepping
    table: dict[str, list[Rule]] = lexer._tokens
    # The instance's own table hides that of its class, which others go on using.
    lexer._tokens = {name: _Windowed(rules) for name, rules in table.items()}
    return stepping


class _Windowed:
    """The rules of one state: gives Pygments a rule that only looks, then the one that matched."""

    def __init__(self, rules: list[Rule]) -> None:
        self._rules = rules

    def __iter__(self) -> Iterator[Rule]:
        hits: list[Rule] = []

        def look(text: str, position: int, end: int | None = None) -> None:
            hits.extend(self._first(text, position, len(text) if end is None else end))

        yield look, None, None
        yield from hits

    def _first(self, text: str, position: int, limit: int) -> Iterator[Rule]:
        """The first rule that matches, as one that has done so; nothing if none does."""
        window = WINDOW
        while True:
            end = min(position + window, limit)
            found = None
            for match, action, state in self._rules:
                if (found := match(text, position, end)) is not None:
                    if found.end() < end or end == limit or window >= WINDOW * _MOST_WINDOWS:
                        yield partial(_found, found), action, state
                        return
                    break
            if found is None:
                return
            window *= 2


def _found(found: "re.Match[str]", *_where: object) -> "re.Match[str]":
    return found
