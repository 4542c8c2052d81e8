"""Find literal tags in text that arrives in pieces.

The rule is: earliest start, then longest tag. A match counts only when no tag that starts earlier,
nor a longer one at the same place, may still be coming; from there on the text has to wait, which
is always less than one tag. So each character is searched a bounded number of times and chunk
borders never change the result.
"""

import re
from collections.abc import Iterable


class TagSearch:
    """Some tags to look for, and which ends of a text may still become one."""

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
        found = self._pattern.search(text, at)
        if found and (final or found.start() < wait):
            return found.span()
        return wait, wait

    def match(self, text: str, at: int, *, final: bool) -> int | None:
        """Return the end of the tag that stands here, ``at`` if none does, None to wait."""
        if not final and text[at : at + self._longest] in self._beginnings:
            return None
        found = self._pattern.match(text, at)
        return found.end() if found else at

    def _wait(self, text: str, at: int) -> int:
        for start in range(max(at, len(text) - self._longest + 1), len(text)):
            if text[start:] in self._beginnings:
                return start
        return len(text)
