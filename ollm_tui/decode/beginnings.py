"""Tell of the start of a text whether it has a form, may still get it, or cannot have it.

A form is a row of parts: some words of which one stands there, or a bounded run of characters of
one class. Because every part is bounded, what must be held back is too.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Words:
    """One of these words; the empty word makes the part optional."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """Up to ``most`` characters of a class, which is written as in a regular expression."""

    characters: str
    most: int


Part: TypeAlias = Words | Run


class Beginnings:
    """Some forms that a text may begin with."""

    def __init__(self, forms: Iterable[Sequence[Part]]) -> None:
        listed = [tuple(form) for form in forms]
        self._whole = re.compile("|".join(map(_whole, listed)) or "(?!)")
        self._growing = re.compile("|".join(map(_growing, listed)) or "(?!)")
        self.longest = max(map(_longest, listed), default=0)
        """No text longer than this can be undecided."""

    def test(self, text: str, at: int = 0, *, final: bool = False) -> bool | None:
        """Return whether one of the forms stands here; None while it may still come."""
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
    """Match what may be continued to the form: each part may be where the text ends."""
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
    return "|".join(map(re.escape, longest_first)) or "(?!)"


def _longest(form: Sequence[Part]) -> int:
    return sum(
        max(map(len, part.words), default=0) if isinstance(part, Words) else part.most
        for part in form
    )
