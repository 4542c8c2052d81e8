"""Search text that arrives in pieces: for literal tags, and for the forms a text may begin with.

Both say "wait" while the next piece could still change the result, for a bounded number of letters.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re

_WORD = lazy_re(r"\S")
Step: TypeAlias = Callable[[str, int, bool], int]
"""Takes a text, a position in it, and whether the text is complete; returns the next position."""


class Scanner:
    """Reads text that arrives in pieces by steps, each of which may set the next one.

    A step that changes neither the position nor itself waits for more text, which is held back.
    """

    def __init__(self, first: Step) -> None:
        self.step = first
        self.held = ""
        """The text that waits."""

    def feed(self, chunk: str, *, final: bool = False) -> None:
        """Read a piece of the text as far as that is possible."""
        text, at = self.held + chunk, 0
        while at < len(text):
            before = at, self.step
            at = self.step(text, at, final)
            if before == (at, self.step):
                break
        self.held = text[at:]


def word_start(text: str, at: int, end: int | None = None) -> int:
    """Return where the next word begins, or the end if there is none."""
    end = len(text) if end is None else end
    word = _WORD.search(text, at, end)
    return word.start() if word else end


class TagSearch:
    """Finds literal tags: the earliest start counts, then the longest tag.

    A match counts only if no tag that starts earlier, nor a longer one at the same position, may
    still be coming. Until then the text has to wait, for less than the length of one tag.
    """

    def __init__(self, tags: Iterable[str]) -> None:
        by_length = sorted(set(tags), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, by_length)) or r"(?!)")
        self._beginnings = frozenset(tag[:end] for tag in by_length for end in range(1, len(tag)))
        self._longest = len(by_length[0]) if by_length else 0

    def search(self, text: str, at: int, *, final: bool) -> tuple[int, int]:
        """Return start and end of the next tag; an empty span is where the text has to wait."""
        if not self._longest:
            return len(text), len(text)
        wait = len(text) if final else self._wait(text, at)
        match = self._pattern.search(text, at)
        if match and (final or match.start() < wait):
            return match.span()
        return wait, wait

    def match(self, text: str, at: int, *, final: bool) -> int | None:
        """Return the end of the tag at this position, ``at`` if there is none, or None to wait."""
        if not final and text[at : at + self._longest] in self._beginnings:
            return None
        match = self._pattern.match(text, at)
        return match.end() if match else at

    def _wait(self, text: str, at: int) -> int:
        for start in range(max(at, len(text) - self._longest + 1), len(text)):
            if text[start:] in self._beginnings:
                return start
        return len(text)


@dataclass(frozen=True, slots=True)
class Words:
    """One of these words; an empty word makes the part optional."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """Up to ``most`` characters of a class, which is written as in a regular expression."""

    characters: str
    most: int


Part: TypeAlias = Words | Run


class PrefixMatcher:
    """Recognises the forms that a text may begin with.

    A form is a row of parts: one of some words, or a bounded run of characters of one class.
    Because every part is bounded, what has to be held back is too.
    """

    def __init__(self, forms: Iterable[Sequence[Part]]) -> None:
        listed = [tuple(form) for form in forms]
        self._whole = re.compile("|".join(map(_whole, listed)) or "(?!)")
        self._growing = re.compile("|".join(map(_growing, listed)) or "(?!)")
        self.longest = max(map(_longest, listed), default=0)
        """No longer text can be undecided."""

    def test(self, text: str, at: int = 0, *, final: bool = False) -> bool | None:
        """Return whether one of the forms is at this position, or None while it may still come."""
        start = text[at : at + self.longest]
        if self._whole.match(start):
            return True
        if final or len(text) - at >= self.longest:
            return False
        return None if self._growing.match(start) else False


def _whole(form: Sequence[Part]) -> str:
    return "(?:" + "".join(map(_part, form)) + ")"


def _part(part: Part) -> str:
    match part:
        case Words(words):
            return f"(?:{_either(words)})"
        case Run(characters, most):
            return f"[{characters}]{{0,{most}}}"


def _growing(form: Sequence[Part]) -> str:
    """Return a pattern for texts that can be continued to the form."""
    pattern = ""
    for part in reversed(form):
        match part:
            case Words(words):
                cut = {word[:end] for word in words for end in range(len(word))}
                pattern = rf"(?:(?:{_either(words)}){pattern}|(?:{_either(cut)})\Z)"
            case Run():
                pattern = rf"{_part(part)}(?:\Z|{pattern})"
    return pattern


def _either(words: Iterable[str]) -> str:
    longest_first = sorted(set(words), key=lambda word: (-len(word), word))
    return "|".join(map(re.escape, longest_first)) if longest_first else "(?!)"


def _longest(form: Sequence[Part]) -> int:
    return sum(
        max(map(len, part.words), default=0) if isinstance(part, Words) else part.most
        for part in form
    )
