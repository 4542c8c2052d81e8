"""The columns of the models screen: what each shows, how it sorts, which ones fit a width; pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.counted import size_text
from ollm_tui.frontend.figures import window
from ollm_tui.library.fit import fit_short
from ollm_tui.tui.models.entry import ModelEntry, matching
from ollm_tui.tui.widgets import GAP, fit

ColumnId: TypeAlias = Literal[
    "name", "provider", "size", "quant", "context", "can", "loaded", "modified", "fit"
]
SortKey: TypeAlias = str | float | tuple[int, str]
_MIN_NAME_WIDTH: Final = 18
_GROWTH: Final[tuple[tuple[ColumnId, int], ...]] = (
    *(("can", 20), ("name", 26), ("provider", 15), ("name", 40)),
    *(("can", 35), ("provider", 20), ("name", 500)),
)
"""How far columns grow, one after the other, if there is room."""
_FITS: Final[Mapping[str, tuple[float | None, str]]] = {
    "gpu": (0, "good"),
    "partly": (1, "fair"),
    "cpu": (2, "quiet"),
    "no": (3, "bad"),
}
"""Verdicts by rank, the best first, and their component classes."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column."""

    id: ColumnId
    head: str
    width: int
    text: Callable[[ModelEntry], str]
    key: Callable[[ModelEntry], SortKey | None]
    """Returns what it sorts by, or None if that is unknown, which comes last."""
    is_right: bool = False
    largest_first: bool = False
    """Whether the first sort is descending."""
    look: Callable[[ModelEntry], str] = lambda _entry: "quiet"
    """The end of the component class."""

    def cell(self, entry: ModelEntry) -> str:
        """Return the cell, exactly as wide as the column."""
        return self.placed(self.text(entry))

    def placed(self, text: str) -> str:
        """Cut or fill a text to the width of the column."""
        return fit(text, self.width, is_right=self.is_right)


def _loaded(entry: ModelEntry) -> str:
    if not entry.is_loaded:
        return ""
    share = entry.gpu_share
    if share is None:
        return "●"
    return "● CPU" if share <= 0 else "● GPU" if share >= 1 else f"● {share * 100:.0f} %"


def _context(entry: ModelEntry) -> str:
    if entry.context:
        return window(entry.context) + ("!" if "context" in entry.info.chosen else "")
    return f"≤{window(entry.trained)}" if entry.trained else ""


def _modified(entry: ModelEntry) -> datetime | None:
    try:
        then = datetime.fromisoformat(entry.info.modified_at or "")
    except ValueError:
        return None
    return then if then.tzinfo is not None else then.replace(tzinfo=UTC)


def _modified_key(entry: ModelEntry) -> float | None:
    then = _modified(entry)
    try:
        return then.timestamp() if then is not None else None
    except (OverflowError, ValueError):
        return None


def _modified_text(entry: ModelEntry) -> str:
    then = _modified(entry)
    return then.date().isoformat() if then is not None else ""


def _loaded_key(entry: ModelEntry) -> float | None:
    if entry.is_loaded is None:
        return None
    return 1.0 + (entry.gpu_share or 0.0) if entry.is_loaded else 0.0


def _fit(entry: ModelEntry) -> tuple[float | None, str]:
    return _FITS.get(entry.fit.verdict if entry.fit else "", (None, "quiet"))


def _ability_key(entry: ModelEntry) -> tuple[int, str] | None:
    return (len(entry.abilities), " ".join(entry.abilities)) if entry.abilities else None


def _size_text(entry: ModelEntry) -> str:
    size_bytes = entry.info.size_bytes
    return size_text(size_bytes) if size_bytes and size_bytes > 0 else ""


COLUMNS: Final[tuple[Column, ...]] = (
    Column("name", "Name", _MIN_NAME_WIDTH, lambda one: one.name, lambda one: one.name.casefold()),
    Column(
        "provider", "Provider", 12, lambda one: one.provider, lambda one: one.provider.casefold()
    ),
    Column(
        "size",
        "Size",
        7,
        _size_text,
        lambda one: one.info.size_bytes or None,
        is_right=True,
        largest_first=True,
    ),
    Column(
        "quant",
        "Quant",
        8,
        lambda one: one.quantization,
        lambda one: one.quantization.casefold() or None,
    ),
    Column(
        "context",
        "Ctx",
        5,
        _context,
        lambda one: one.context or one.trained,
        is_right=True,
        largest_first=True,
    ),
    Column(
        "can",
        "Capabilities",
        17,
        lambda one: " ".join(one.abilities),
        _ability_key,
        largest_first=True,
    ),
    Column(
        "loaded", "Loaded", 8, _loaded, _loaded_key, largest_first=True, look=lambda _one: "good"
    ),
    Column("modified", "Modified", 10, _modified_text, _modified_key, largest_first=True),
    Column(
        id="fit",
        head="Fit",
        width=8,
        text=lambda one: fit_short(one.fit) if one.fit else "",
        key=lambda one: _fit(one)[0],
        look=lambda one: _fit(one)[1],
    ),
)
_FIRST_TO_STAY: Final[tuple[ColumnId, ...]] = (
    *("name", "size", "loaded", "can", "provider", "context", "fit", "quant", "modified"),
)
"""The columns by importance: the last ones are left out first."""


def columns_for(width: int, *, has_fit: bool) -> list[Column]:
    """Return the columns that fit, in order; the name takes the rest of the width."""
    chosen = {column.id: column for column in COLUMNS}
    if not has_fit:
        del chosen["fit"]
    for last in reversed(_FIRST_TO_STAY):
        if _width_of(list(chosen.values())) <= width or len(chosen) == 1:
            break
        chosen.pop(last, None)
    columns = list(chosen.values())
    widths = {column.id: column.width for column in columns}
    left = width - _width_of(columns)
    if left < 0:
        widths["name"] = max(1, widths["name"] + left)
    for name, most in _GROWTH:
        if name in widths and left > 0:
            more = min(left, most - widths[name])
            widths[name] += more
            left -= more
    return [replace(column, width=widths[column.id]) for column in columns]


def _width_of(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)


@dataclass(frozen=True, slots=True)
class Sorting:
    """A column to sort by and the direction."""

    column: ColumnId
    is_descending: bool = False

    @property
    def turned(self) -> "Sorting":
        """The same column in the other direction."""
        return Sorting(self.column, not self.is_descending)

    @property
    def head(self) -> str:
        """The name of the column within a sentence."""
        return _column(self.column).head.lower()


def _column(column_id: ColumnId) -> Column:
    return next(column for column in COLUMNS if column.id == column_id)


def sorted_by(column_id: ColumnId) -> Sorting:
    """Return the first sorting of a column: the largest size or the latest date first."""
    return Sorting(column_id, _column(column_id).largest_first)


def next_sorting(now: Sorting | None, columns: Sequence[Column]) -> Sorting | None:
    """Return the sorting of the next visible column, or None after the last one."""
    shown = [column.id for column in columns]
    index = shown.index(now.column) + 1 if now is not None and now.column in shown else 0
    return sorted_by(shown[index]) if index < len(shown) else None


def arranged(
    entries: Iterable[ModelEntry], query: str, sorting: Sorting | None, recents: Sequence[str]
) -> list[ModelEntry]:
    """Return the entries that match a query, sorted; without a sorting the best match comes first.

    Equal entries keep that order, and unknown values come last in both directions.
    """
    kept = matching(entries, query, recents)
    if sorting is None:
        return kept
    key_of = _column(sorting.column).key
    known = [(key, entry) for entry in kept if (key := key_of(entry)) is not None]
    # of one column all keys are of one type
    known.sort(key=lambda pair: pair[0], reverse=sorting.is_descending)
    return [*(entry for _key, entry in known), *(one for one in kept if key_of(one) is None)]
