"""Words of a text as the search sees them, and the places where they are; pure.

Case and accents are ignored. Each character of Chinese and Japanese, and of scripts that are
written without spaces, is a word by itself: several in a row are searched as a phrase.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import merge
from itertools import accumulate, pairwise
from typing import Final
from unicodedata import normalize

from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re

_SLICE: Final = 50_000
_PIECE: Final = 128
_SPACELESS: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_SINGLE: Final = lazy_re(f"[{_SPACELESS}]")
_MARKS: Final = lazy_re("[\u0300-\u036f]+")
_LETTER: Final = f"[^\\W_{_SPACELESS}]"
_WORD: Final = lazy_re(f"[{_SPACELESS}]|{_LETTER}+")
_LETTERS: Final = lazy_re(f"{_LETTER}+")
_SPACE: Final = lazy_re(r"\s+")


@dataclass(frozen=True, slots=True)
class Term:
    """Words that follow each other in a text."""

    words: tuple[str, ...]
    is_prefix: bool = False
    """Whether the last one is only the beginning of a word."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a text, in one line, and the places to highlight in it."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()
    """Where each match begins and ends."""


def folded(text: str) -> str:
    """Return a text without case and accents."""
    if text.isascii():
        return text.lower()
    # In slices: each step holds up the other threads, and a long text would do so noticeably.
    parts = (text[start : start + _SLICE] for start in range(0, len(text), _SLICE))
    return "".join(_MARKS.sub("", normalize("NFD", part.casefold())) for part in parts)


def words_of(text: str) -> list[str]:
    """Return the words of a text."""
    words: list[str] = _WORD.findall(folded(text))
    return words


def indexed_text(text: str) -> str:
    """Return a text for the tokenizer of FTS5, which then sees the same words."""
    return text if text.isascii() else _SINGLE.sub(r" \g<0> ", folded(text))


def has_terms(text: str, terms: Sequence[Term]) -> bool:
    """Return whether a text has all the terms."""
    plain = folded(text)
    return all(any(True for _ in _matches(plain, term)) for term in terms)


def snippet(text: str, terms: Sequence[Term], length: int = 240, before: int = 30) -> Snippet:
    """Return the part of a text around its first match, with all matches in it."""
    places = _places(text, terms)
    first = next(places, None)
    start = 0 if first is None else _line_start(text, first[0], before)
    end = start + length
    pieces = ["…" if start else ""]
    marks: list[tuple[int, int]] = []
    at, width = start, len(pieces[0])
    match = first
    while match is not None and match[0] < end:
        gap, marked = _one_line(text[at : match[0]]), _one_line(text[match[0] : match[1]])
        pieces += (gap, marked)
        marks.append((width + len(gap), width + len(gap) + len(marked)))
        width, at = marks[-1][1], match[1]
        match = next(places, None)
    pieces += (_one_line(text[at : max(at, end)]), "…" if max(at, end) < len(text) else "")
    return Snippet("".join(pieces), tuple(marks))


def _one_line(text: str) -> str:
    return _SPACE.sub(" ", text)


def _line_start(text: str, place: int, before: int) -> int:
    """Return where a snippet begins: at a word, a little before the match."""
    if place <= before:
        return 0
    space = _SPACE.search(text, place - before, place)
    return space.end() if space else place - before


def _places(text: str, terms: Sequence[Term]) -> Iterator[tuple[int, int]]:
    """Yield where the terms are, without overlaps."""
    if terms:
        folding, after = _Folding(text), 0
        for start, end in merge(*(_matches(folding.text, term) for term in terms)):
            if start >= after:
                yield folding.origin(start), folding.origin(end - 1) + 1
                after = end


class _Folding:
    """A folded text whose characters know where they were; only what is asked for is traced."""

    def __init__(self, text: str) -> None:
        self._pieces: Sequence[str] = ()
        if text.isascii():
            self.text = folded(text)
            return
        self._pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
        lines = [folded(piece) for piece in self._pieces]
        self._starts = list(accumulate(map(len, lines), initial=0))
        self.text = "".join(lines)

    def origin(self, place: int) -> int:
        """Return where a character of the folded text is in the text itself."""
        if not self._pieces:
            return place
        number = bisect_right(self._starts, place) - 1
        at = self._starts[number]
        for offset, character in enumerate(self._pieces[number]):
            at += len(folded(character))
            if at > place:
                return number * _PIECE + offset
        return number * _PIECE + len(self._pieces[number]) - 1


def _matches(text: str, term: Term) -> Iterator[tuple[int, int]]:
    """Yield where a term is in a folded text.

    What may stand around it is checked here, and not by the pattern: `re` takes milliseconds to
    compile each class of all letters, which a search at each key press cannot wait for.
    """
    begins_with_letter = not _SINGLE.match(term.words[0])
    ends_with_letter = not _SINGLE.match(term.words[-1])
    pattern, at = _pattern(term.words), 0
    while match := pattern.search(text, at):
        start, end = match.span()
        at = start + 1
        if begins_with_letter and start and _LETTERS.match(text, start - 1):
            continue
        if ends_with_letter and (more := _LETTERS.match(text, end)):
            if not term.is_prefix:
                continue
            end = more.end()
        at = end
        yield start, end


@lru_cache(64)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    pattern = re.escape(words[0])
    for before, word in pairwise(words):
        is_apart = not (_SINGLE.match(word) or _SINGLE.match(before))
        pattern += (r"[\W_]+" if is_apart else r"[\W_]*") + re.escape(word)
    return re.compile(pattern)
