"""Cuts long code into typed pieces in steps that stay short, whatever the code is.

Pygments can stop between two places, but one rule may look for its end through all that follows
(`<!--` without `-->`), and at every such place again. Here the rules see a window only, which grows
while what they find reaches its end, so that a vain look costs a window and not the whole text.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache, partial
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final, Protocol

from ollm_tui.dataclass import dataclass

if TYPE_CHECKING:
    import re

Token = tuple[str, ...]
Match = Callable[..., "re.Match[str] | None"]
"""Takes the text, a position and the end of the window."""
Rule = tuple[Match, object, object]


_MAX_NAME_LENGTH: Final = 40


class Lexer(Protocol):
    """The part of a Pygments lexer that is used; Pygments has no types."""

    def get_tokens(self, text: str) -> Iterable[tuple[Token, str]]:
        """Cut code into typed pieces."""


WINDOW = 8192
"""Characters that rules look at in vain."""
_MAX_WINDOWS = 64
EAGER_PIECE = 1024
"""Characters at once for lexers that cannot be stopped; each piece begins anew."""
_SLOW = ("Evoque", "Mason", "Myghty", "Pug")
"""Parts of names of lexers whose rules take seconds at one position of a hostile text."""
_MAX_KEPT: Final = 64
_WAIT_S: Final = 0.005
"""How long one step of painting waits for a lexer."""
_MAX_LOOKS = 200  # times that rules may match at one position: some loop there


def is_loaded(language: str) -> bool:
    """Whether it is known what lexer a language has; loads it, and waits a little while it is not.

    Loading one takes up to 0.2 s, and a name without one a look at all that is installed.
    """
    if not _may_have_lexer(language):
        return True
    loading = _loading(language)
    loading.join(_WAIT_S)
    return not loading.is_alive()


@lru_cache(maxsize=_MAX_KEPT)
def _loading(language: str) -> Thread:
    thread = Thread(target=find_lexer, args=(language,), name="load-lexer", daemon=True)
    thread.start()
    return thread


@cache
def _one_at_a_time() -> Lock:
    """Pygments prepares a lexer in its class, which two names may share."""
    return Lock()


def _may_have_lexer(language: str) -> bool:
    return bool(language) and len(language) <= _MAX_NAME_LENGTH


@lru_cache(maxsize=_MAX_KEPT)
def find_lexer(language: str) -> Lexer | None:
    """The lexer of a language name, or None; takes long if `is_loaded` has not said that it is."""
    if not _may_have_lexer(language):
        return None
    with _one_at_a_time():
        return _load_lexer(language)


def _load_lexer(language: str) -> Lexer | None:
    # Imported with the first code block: the lexer table costs 15 ms no first screen needs.
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]  # has no types
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]  # has no types

    try:
        lexer: Lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    if any(name in type(lexer).__name__ for name in _SLOW):
        return None
    _put_windows_in(lexer)
    _steps(lexer)  # brings the lexer of JSON
    return lexer


def tokens(language: str, text: str) -> Iterator[tuple[Token, str]]:
    """The typed pieces of code, as far as its lexer gets; none in a language without one."""
    lexer = find_lexer(language)
    if lexer is None or not text:
        return
    try:
        for piece in [text] if _steps(lexer) else _pieces(text):
            yield from lexer.get_tokens(piece)
    except Exception:  # noqa: BLE001  # hundreds of lexers: a fault costs colours, not the chat
        return


def _pieces(text: str) -> Iterator[str]:
    """Runs of whole lines; a line that is longer than a piece is cut."""
    start = 0
    while start < len(text):
        end = start + EAGER_PIECE
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end
        yield text[start:end]
        start = end


def _steps(lexer: Lexer) -> bool:
    """Whether a lexer yields its pieces as it finds them."""
    # As above: only code needs them, and a lexer has loaded them already.
    from pygments.lexer import DelegatingLexer, RegexLexer  # type: ignore[import-untyped]  # no types
    from pygments.lexers import JsonLexer

    return isinstance(lexer, RegexLexer | JsonLexer) and not isinstance(lexer, DelegatingLexer)


def _put_windows_in(lexer: Any) -> None:
    table: dict[str, list[Rule]] = getattr(lexer, "_tokens", {})
    progress = _Progress()
    # The instance's own table hides that of its class, which others go on using.
    lexer._tokens = {name: _Windowed(rules, progress) for name, rules in table.items()}


@dataclass(slots=True)
class _Progress:
    """Where a lexer is, and how often it has matched there; no text ends where it begins."""

    position: int = -1
    looks: int = 0

    def is_stuck_at(self, position: int) -> bool:
        """Count a match; True if the lexer matches at this position again and again."""
        self.looks = self.looks + 1 if position == self.position else 0
        self.position = position
        return self.looks > _MAX_LOOKS


class _Windowed:
    """The rules of one state: yields Pygments a rule that only looks, then the one that matched."""

    def __init__(self, rules: list[Rule], progress: _Progress) -> None:
        self._rules = rules
        self._progress = progress

    def __iter__(self) -> Iterator[Rule]:
        hits: list[Rule] = []

        def look(text: str, position: int, end: int | None = None) -> None:
            if not self._progress.is_stuck_at(position):
                hits.extend(self._first(text, position, len(text) if end is None else end))

        yield look, None, None
        yield from hits

    def _first(self, text: str, position: int, limit: int) -> Iterator[Rule]:
        """The first rule that matches, with its match; nothing if none does."""
        window = WINDOW
        while True:
            end = min(position + window, limit)
            match = None
            for rule, action, state in self._rules:
                if (match := rule(text, position, end)) is not None:
                    if match.end() < end or end == limit or window >= WINDOW * _MAX_WINDOWS:
                        yield partial(_already_matched, match), action, state
                        return
                    break
            if match is None:
                return
            window *= 2


def _already_matched(match: "re.Match[str]", *_where: object) -> "re.Match[str]":
    return match
