"""Fuzzy matching of a query with known words."""

from collections.abc import Iterable
from typing import Final, TypeAlias

from ollm_tui.lazy import lazy_re

Rank: TypeAlias = tuple[int, int]
"""Smaller is better; equal ranks keep their order."""

_WORD_START: Final = lazy_re(r"(?<![^\W_])(?=\w)")


def rank(query: str, word: str) -> Rank | None:
    """Rank how `word` matches `query`: whole, prefix, word in it, inside, scattered."""
    query, word = query.casefold(), word.casefold()
    if query == word:
        return (0, 0)
    if word.startswith(query):
        return (1, 0)
    place = word.find(query)
    if place >= 0:
        starts = (start.start() for start in _WORD_START.finditer(word))
        return (2 if any(word.startswith(query, start) for start in starts) else 3, place)
    return _scattered(query, word)


def _scattered(query: str, word: str) -> Rank | None:
    place = -1
    first = None
    for letter in query:
        place = word.find(letter, place + 1)
        if place < 0:
            return None
        first = place if first is None else first
    return (4, place - (first or 0))


def best_rank(query: str, words: Iterable[str]) -> Rank | None:
    """Return the best rank of the words, or None if none matches."""
    return min((best for word in words if (best := rank(query, word))), default=None)
