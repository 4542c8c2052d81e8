"""Values that are computed once for each item of a sequence that grows at its end."""

from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.sent_messages import common_length

K = TypeVar("K")
V = TypeVar("V")
KEPT: Final = 3
"""Sequences that are remembered: a title is asked for between two questions of a chat."""


@dataclass(frozen=True, slots=True)
class _Entry(Generic[K, V]):
    items: Sequence[K]
    values: list[V]


class SequenceCache(Generic[K, V]):
    """Computes a value of each item, and remembers those of the last sequences.

    Items are compared by identity, which takes next to no time: an item must not change. One
    sequence is remembered for each first item, and so one for each chat.
    """

    def __init__(self, compute: Callable[[K], V], kept: int = KEPT) -> None:
        self._compute = compute
        self._kept = kept
        self._entries: list[_Entry[K, V]] = []

    def values(self, items: Sequence[K]) -> list[V]:
        """Return the values, in a list of the caller's own; may run in a thread."""
        items = items if isinstance(items, tuple) else tuple(items)
        others = [one for one in self._entries if not _begin_alike(one.items, items)]
        known = next((one for one in self._entries if _begin_alike(one.items, items)), None)
        values: list[V] = []
        if known is not None:
            values = known.values[: common_length(known.items, items)]
        values += [self._compute(item) for item in items[len(values) :]]
        if items:
            # All at once, so that a thread sees the entries as they were or as they are now.
            self._entries = [_Entry(items, values), *others][: self._kept]
        return list(values)


def _begin_alike(one: Sequence[K], other: Sequence[K]) -> bool:
    return bool(one and other) and one[0] is other[0]
