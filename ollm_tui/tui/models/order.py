"""In which order the models screen lists models; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ollm_tui.tui.models.columns import COLUMNS, Column, ColumnId, SortKey
from ollm_tui.tui.models.entry import ModelEntry, matching


@dataclass(frozen=True, slots=True)
class Sorting:
    """By which column, and which way."""

    column: ColumnId
    is_descending: bool = False

    @property
    def turned(self) -> "Sorting":
        """The other way round."""
        return Sorting(self.column, not self.is_descending)

    @property
    def head(self) -> str:
        """The column as a sentence calls it."""
        return _column(self.column).head.lower()

    @property
    def mark(self) -> str:
        """What stands beside the column's head."""
        return "▼" if self.is_descending else "▲"


def _column(column_id: ColumnId) -> Column:
    return next(column for column in COLUMNS if column.id == column_id)


def sorted_by(column_id: ColumnId) -> Sorting:
    """Sort by a column the way people mostly want it: the largest size, the latest date first."""
    return Sorting(column_id, _column(column_id).largest_first)


def next_sorting(now: Sorting | None, columns: Sequence[Column]) -> Sorting | None:
    """Go on to the next column that is shown; after the last one nothing is sorted."""
    shown = [column.id for column in columns]
    place = shown.index(now.column) + 1 if now is not None and now.column in shown else 0
    return sorted_by(shown[place]) if place < len(shown) else None


def arranged(
    entries: Iterable[ModelEntry], query: str, sorting: Sorting | None, recents: Sequence[str]
) -> list[ModelEntry]:
    """Keep what fits the query, sorted; without a sorting the best match or the latest used first.

    Among equals that order stays, and what is unknown comes last either way.
    """
    kept = matching(entries, query, recents)
    if sorting is None:
        return kept
    key_of = _column(sorting.column).key
    known: list[tuple[SortKey, ModelEntry]] = []
    unknown: list[ModelEntry] = []
    for entry in kept:
        key = key_of(entry)
        if key is None:
            unknown.append(entry)
        else:
            known.append((key, entry))
    # of one column all keys are of one type
    known.sort(key=lambda pair: pair[0], reverse=sorting.is_descending)
    return [*(entry for _key, entry in known), *unknown]
