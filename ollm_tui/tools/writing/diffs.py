"""Unified diffs of what a tool changes, in bounded time."""

import difflib
from collections.abc import Iterator, Sequence
from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.counted import counted

CONTEXT: Final = 3
MAX_COMPARED: Final = 4_000_000
"""Pairs of lines that are compared; more are shown as removed and added as a whole."""
NO_FEED: Final = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class Diff:
    """The difference between two texts."""

    text: str
    """A unified diff; empty if they are equal."""
    added: int
    removed: int

    @property
    def words(self) -> str:
        """How many lines differ."""
        return f"{counted(self.added, 'line')} added, {self.removed} removed"


def diff_of(name: str, old: str | None, new: str | None) -> Diff:
    """Compare two texts of a file; None stands for no file."""
    before, after = _lines(old or ""), _lines(new or "")
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    cut = slice(head, len(before) - tail), slice(head, len(after) - tail)
    blocks = _blocks(before[cut[0]], after[cut[1]], head)
    if not blocks and (old is None) == (new is None):
        return Diff("", 0, 0)
    rows = [f"--- {'/dev/null' if old is None else name}"]
    rows.append(f"+++ {'/dev/null' if new is None else name}")
    for hunk in _hunks(blocks):
        rows += _rows(hunk, before, after)
    added = sum(end - start for _, _, start, end in blocks)
    removed = sum(end - start for start, end, _, _ in blocks)
    return Diff("\n".join(rows), added, removed)


_Block = tuple[int, int, int, int]
"""Lines from-to of the old text that became lines from-to of the new one."""


def _lines(text: str) -> list[str]:
    """Split at line feeds only, and keep them."""
    parts = text.split("\n")
    lines = [f"{part}\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        count += 1
    return count


def _blocks(before: Sequence[str], after: Sequence[str], offset: int) -> list[_Block]:
    if not before and not after:
        return []
    if len(before) * len(after) > MAX_COMPARED:
        return [(offset, offset + len(before), offset, offset + len(after))]
    matcher = difflib.SequenceMatcher(None, before, after)
    return [
        (offset + i1, offset + i2, offset + j1, offset + j2)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _hunks(blocks: Sequence[_Block]) -> Iterator[list[_Block]]:
    """Group changes whose context overlaps."""
    group: list[_Block] = []
    for block in blocks:
        if group and block[0] - group[-1][1] > 2 * CONTEXT:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _rows(hunk: Sequence[_Block], before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    first, last = hunk[0], hunk[-1]
    start, end = max(0, first[0] - CONTEXT), min(len(before), last[1] + CONTEXT)
    new_start = max(0, first[2] - CONTEXT)
    new_end = min(len(after), last[3] + CONTEXT)
    yield f"@@ -{_range(start, end)} +{_range(new_start, new_end)} @@"
    at = start
    for old_from, old_to, new_from, new_to in hunk:
        yield from _marked(" ", before[at:old_from])
        yield from _marked("-", before[old_from:old_to])
        yield from _marked("+", after[new_from:new_to])
        at = old_to
    yield from _marked(" ", before[at:end])


def _range(start: int, end: int) -> str:
    count = end - start
    return f"{start + 1 if count else start},{count}"


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield f"{mark}{line.removesuffix(chr(10))}"
        if not line.endswith("\n"):
            yield NO_FEED
