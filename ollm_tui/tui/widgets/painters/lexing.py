"""Cuts long code into typed pieces in steps that stay short, whatever the code is.

Pygments tries its rules at one place after another, and that is a generator: work can stop between
two places. But one rule may look for its end through all that follows (`<!--` without `-->`), at
every place again. Here each rule sees a window only, which grows where what it finds reaches the
window's end. So comments and strings of any length come out right, and a vain look costs a window
and not the whole text.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Protocol

Token = tuple[str, ...]
Match = Callable[..., "re.Match[str] | None"]
Rule = tuple[Match, object, object]


class Lexer(Protocol):
    """What is used of a Pygments lexer, which has no types of its own."""

    def get_tokens(self, text: str) -> Iterable[tuple[Token, str]]:
        """Cut code into typed pieces."""
        ...


WINDOW = 8192
"""Characters a rule may look at in vain; text up to this length is never cut into windows."""
PIECE = 4096
"""Characters at once for languages that cannot be cut in steps; each piece begins anew."""
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
    """The typed pieces of code in a language that has a lexer."""
    lexer = find_lexer(language) if len(text) <= PIECE else _stepping(language)
    if lexer is not None:
        yield from lexer.get_tokens(text)
        return
    whole = find_lexer(language)
    for piece in _pieces(text):
        yield from () if whole is None else whole.get_tokens(piece)


def _pieces(text: str) -> Iterator[str]:
    """Runs of whole lines, each at most a piece if its lines are."""
    start = 0
    while start < len(text):
        end = start + PIECE
        if end < len(text):
            end = max(text.rfind("\n", start, end), start) + 1
            end = end if end > start + 1 or text[start] == "\n" else start + PIECE
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
    # The instance's own table hides that of its class, which other users of Pygments go on using.
    table: dict[str, list[Rule]] = lexer._tokens
    lexer._tokens = {name: [_windowed(rule) for rule in rules] for name, rules in table.items()}
    return stepping


def _windowed(rule: Rule) -> Rule:
    match, action, state = rule
    pattern = getattr(match, "__self__", None)
    if not isinstance(pattern, re.Pattern) or not _looks_far(pattern):
        return rule
    return (_Windowed(pattern.match), action, state)


def _looks_far(pattern: "re.Pattern[str]") -> bool:
    """Can it repeat something that goes over line ends? The others stop at the end of a line."""
    repeats = any(sign in pattern.pattern for sign in "*+{")
    return repeats and (
        bool(pattern.flags & re.DOTALL)
        or any(sign in pattern.pattern for sign in (r"\s", r"\S", r"\W", r"\D", r"\n", "[^"))
    )


class _Windowed:
    """A rule's match that sees a window first."""

    __slots__ = ("_match",)

    def __init__(self, match: Match) -> None:
        self._match = match

    def __call__(self, text: str, position: int, end: int = -1) -> "re.Match[str] | None":
        limit = len(text) if end < 0 else end
        window = WINDOW
        found = self._match(text, position, min(position + window, limit))
        while found is not None and found.end() == position + window < limit:
            if window == WINDOW * _MOST_WINDOWS:
                return found
            window *= 2
            longer = self._match(text, position, min(position + window, limit))
            if longer is None:
                return found
            found = longer
        return found
