"""The rows of the model search: what each stands for, and its text; pure."""

from collections.abc import Callable, Mapping
from typing import Final

from textual.content import Content

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import size_text
from ollm_tui.frontend.download_news import MAX_LENGTH
from ollm_tui.frontend.figures import count, parameters, popularity, window
from ollm_tui.frontend.model_search import (
    EntryRow,
    FindRow,
    OriginRow,
    RepositoryRow,
    purposes_text,
    stars,
)
from ollm_tui.library.address import format_address
from ollm_tui.library.fit import Verdict, fit_short, fit_words
from ollm_tui.library.fitting import SizeFit
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.widgets import cut, fit

LOOKS: Final[Mapping[Verdict, str]] = {
    "gpu": "$text-success",
    "partly": "$text-warning",
    "cpu": "$text-accent",
    "no": "$text-error",
    "unknown": "$text-muted",
}
"""The colour of a verdict."""
MIN_NAME_WIDTH: Final = 26
"""Cells of a name before a column is left out."""


def row_content(row: FindRow, width: int) -> Content:
    """Return one row of `width` cells; what does not fit is left out from the right."""
    match row:
        case EntryRow():
            return _entry(row, width)
        case RepositoryRow(address, hub):
            return _named(format_address(address), f"available at {hub}", width)
        case OriginRow():
            return _named(row.title, row.about, width)


def _named(title: str, about: str, width: int) -> Content:
    about = clean_line(about[:MAX_LENGTH])
    name = cut(clean_name(title[:MAX_LENGTH]), max(8, width - len(about) - 6))
    return Content.assemble(("→ ", "$text-accent"), name, "  ", (about, "$text-muted")).truncate(
        max(8, width), ellipsis=True
    )


def head_content(width: int) -> Content:
    """Return the heads of the columns."""
    shown, room = _columns(width)
    names = "".join(f"  {_placed(name, _COLUMNS[name][0])}" for name in shown)
    return Content.styled(f"  {fit('Model', room)}{names}", "$text-muted")


_TEXTS: Final = frozenset({"licence", "purposes"})
"""Columns that begin at the left edge of their cells; figures end at the right one."""


def _placed(column: str, text: str) -> str:
    cells = _COLUMNS[column][1]
    if column in _TEXTS:
        return fit(text, cells)
    short = cut(text, cells)
    return " " * (cells - Content(short).cell_length) + short


def _columns(width: int) -> tuple[list[str], int]:
    shown = list(_COLUMNS)
    room = width - 2
    while shown and room - sum(_COLUMNS[name][1] + 2 for name in shown) < MIN_NAME_WIDTH:
        shown.pop()
    return shown, max(8, room - sum(_COLUMNS[name][1] + 2 for name in shown))


def _entry(row: EntryRow, width: int) -> Content:
    shown, room = _columns(width)
    name = fit(clean_name(row.entry.name[:MAX_LENGTH]), room)
    cells = ((column, *_cell(row, column)) for column in shown)
    return Content.assemble(
        ("● " if row.entry.installed else "  ", "$text-success"),
        name,
        *((f"  {_placed(column, text)}", look) for column, text, look in cells),
    )


def _cell(row: EntryRow, column: str) -> tuple[str, str]:
    look = "$text-accent" if column == "rating" else "$text-muted"
    if column == "fit" and (fit := row.fit):
        look = LOOKS[fit.verdict]
    return _COLUMNS[column][2](row), look


def _size(best: SizeFit) -> str:
    return f"~{size_text(best.size)}" if best.is_estimate else size_text(best.size)


def _counted(number: int | None, write: Callable[[int], str] = count) -> str:
    return "" if number is None else write(number)


_COLUMNS: Final[Mapping[str, tuple[str, int, Callable[[EntryRow], str]]]] = {
    "parameters": ("params", 6, lambda row: _counted(row.entry.parameters or None, parameters)),
    "size": ("size", 8, lambda row: _size(row.best) if row.best else ""),
    "fit": ("fits", 8, lambda row: fit_short(verdict) if (verdict := row.fit) else ""),
    "downloads": ("downloads", 9, lambda row: _counted(row.entry.downloads)),
    "licence": ("licence", 12, lambda row: clean_line((row.entry.licence or "")[:MAX_LENGTH])),
    "purposes": ("good for", 20, lambda row: purposes_text(row.entry)),
    "likes": ("likes", 5, lambda row: _counted(row.entry.likes)),
    "rating": ("yours", 5, lambda row: stars(row.entry.rating)),
}
"""The columns by importance: head, width and text."""


def about_row(row: FindRow | None, shown: Callable[[ModelRef], str]) -> list[str]:
    """Return what has no column, in at most two lines."""
    if not isinstance(row, EntryRow):
        return []
    entry = row.entry
    facts = [
        clean_line((entry.licence or "")[:MAX_LENGTH]),
        f"{window(entry.context)} context" if entry.context else "",
        purposes_text(entry, 6),
        popularity(entry.downloads, "download", " a month"),
        popularity(entry.likes, "like"),
        f"yours {stars(entry.rating)}" if entry.rating else "",
    ]
    here = ", ".join(clean_name(shown(ref)[:MAX_LENGTH]) for ref in entry.installed[:3])
    last = [
        f"here as {here}" if here else "",
        f"{clean_name(row.best.quantization)}: {fit_words(row.best.fit)}"
        if row.best and row.best.fit
        else "",
        clean_line((entry.description or "")[:MAX_LENGTH]) if not here else "",
    ]
    return [line for line in (" · ".join(filter(None, part)) for part in (facts, last)) if line]
