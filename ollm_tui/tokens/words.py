"""Counts the tokens of short texts with the ranks of a tokenizer alone.

tiktoken holds Python's interpreter for 0.2 s while it takes in the ranks of a large tokenizer, and
everything stands still. A word is mostly one token, and few need any merging.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Final

MAX_TEXT_LENGTH: Final = 64 * 1024
MAX_TOTAL_LENGTH: Final = 2_000_000
"""Characters in all, after which counting faster is worth the wait."""
MAX_WORD_LENGTH: Final = 48
"""Bytes of a word; merging takes time by their square."""
MAX_KEPT: Final = 20_000
"""Words whose counts are kept."""


class WordCounter:
    """Counts words, as the pattern of a tokenizer cuts a text into them."""

    def __init__(self, ranks: Mapping[bytes, int], words: Callable[[str], Iterable[str]]) -> None:
        """Take the ranks of tokens, and what cuts a text into words."""
        self._ranks = ranks
        self._words = words
        self._known: dict[str, int] = {}
        self._left = MAX_TOTAL_LENGTH

    def count(self, text: str) -> int | None:
        """Return the number of tokens; None if it would take long."""
        if len(text) > MAX_TEXT_LENGTH or len(text) > self._left:
            return None
        self._left -= len(text)
        total = 0
        for word in self._words(text):
            tokens = self._known.get(word)
            if tokens is None:
                try:
                    data = word.encode()
                except UnicodeEncodeError:
                    return None
                if len(data) > MAX_WORD_LENGTH and data not in self._ranks:
                    return None
                tokens = self._merged(data)
                if len(self._known) < MAX_KEPT:
                    self._known[word] = tokens
            total += tokens
        return total

    def _merged(self, data: bytes) -> int:
        """Return how many tokens are left when the pair of the lowest rank is merged each time."""
        ranks = self._ranks
        if data in ranks:
            return 1
        parts = [data[at : at + 1] for at in range(len(data))]
        while len(parts) > 1:
            pairs = [ranks.get(one + two) for one, two in pairwise(parts)]
            best = min((rank for rank in pairs if rank is not None), default=None)
            if best is None:
                break
            at = pairs.index(best)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        return len(parts)
