"""The rows of the model search: what each stands for, and its text; pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from textual.content import Content

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.library.address import HubAddress, format_address
from ollm_tui.library.downloads.job import Origin
from ollm_tui.library.fit import Verdict, fit_short, fit_words
from ollm_tui.library.fitting import SizeFit, suggestion_key
from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.figures import count, parameters, popularity, size, window
from ollm_tui.tui.widgets import cut, fit

LOOKS: Final[Mapping[Verdict, str]] = {
    "gpu": "$text-success",
    "partly": "$text-warning",
    "cpu": "$text-accent",
    "no": "$text-error",
    "unknown": "$text-muted",
}
"""The colour of a verdict."""
LEAST_NAME: Final = 26
"""Cells of a name before a column is left out."""
_LONGEST: Final = 500
"""Characters of a foreign text that are used; no line shows as many."""
_PURPOSES_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class EntryRow:
    """A model of the registry."""

    entry: RegistryEntry
    best: SizeFit | None = None
    """The recommended quantization, if a size is known."""

    @property
    def id(self) -> str:
        """The id of the option."""
        return f"entry/{self.entry.id}"


@dataclass(frozen=True, slots=True)
class RepositoryRow:
    """A repository that was named, or something in it."""

    address: HubAddress
    hub: str

    @property
    def id(self) -> str:
        """The id of the option."""
        return f"repository/{self.address.repo}"


@dataclass(frozen=True, slots=True)
class OriginRow:
    """Something that can be downloaded as it was typed: by a server, from a URL, from a file."""

    origin: Origin
    title: str
    about: str

    @property
    def id(self) -> str:
        """The id of the option."""
        return f"origin/{self.about}/{self.title}"


FindRow: TypeAlias = EntryRow | RepositoryRow | OriginRow


@dataclass(frozen=True, slots=True)
class Group:
    """Rows below one heading; an empty one is not shown."""

    heading: str
    rows: tuple[FindRow, ...]


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
    about = clean_line(about[:_LONGEST])
    name = cut(clean_name(title[:_LONGEST]), max(8, width - len(about) - 6))
    return Content.assemble(("→ ", "$text-accent"), name, "  ", (about, "$text-muted")).truncate(
        max(8, width), ellipsis=True
    )


def head_content(width: int) -> Content:
    """Return the heads of the columns."""
    shown, room = _columns(width)
    names = "".join(f"  {_placed(name, _HEADS[name][0])}" for name in shown)
    return Content.styled(f"  {fit('Model', room)}{names}", "$text-muted")


_HEADS: Final[Mapping[str, tuple[str, int]]] = {
    "parameters": ("params", 6),
    "size": ("size", 8),
    "fit": ("fits", 8),
    "downloads": ("downloads", 9),
    "licence": ("licence", 12),
    "purposes": ("good for", 20),
    "likes": ("likes", 5),
    "rating": ("yours", 5),
}
"""The columns by importance, with head and width."""
_TEXTS: Final = frozenset({"licence", "purposes"})
"""Columns that begin at the left edge of their cells; figures end at the right one."""


def _placed(column: str, text: str) -> str:
    cells = _HEADS[column][1]
    if column in _TEXTS:
        return fit(text, cells)
    short = cut(text, cells)
    return " " * (cells - Content(short).cell_length) + short


def _columns(width: int) -> tuple[list[str], int]:
    """Return the columns that fit, and the width of the name."""
    shown = list(_HEADS)
    room = width - 2
    while shown and room - sum(_HEADS[name][1] + 2 for name in shown) < LEAST_NAME:
        shown.pop()
    return shown, max(8, room - sum(_HEADS[name][1] + 2 for name in shown))


def _entry(row: EntryRow, width: int) -> Content:
    shown, room = _columns(width)
    name = fit(clean_name(row.entry.name[:_LONGEST]), room)
    parts: list[str | tuple[str, str]] = [
        ("● " if row.entry.installed else "  ", "$text-success"),
        name,
    ]
    for column in shown:
        text, look = _cell(row, column)
        parts.append((f"  {_placed(column, text)}", look))
    return Content.assemble(*parts)


def _cell(row: EntryRow, column: str) -> tuple[str, str]:
    """Return the text of a cell and its colour."""
    if column == "fit":
        judged = row.best.fit if row.best is not None else None
        return (fit_short(judged), LOOKS[judged.verdict]) if judged else ("", "$text-muted")
    look = "$text-accent" if column == "rating" else "$text-muted"
    return _FACTS[column](row), look


def _size(best: SizeFit) -> str:
    return f"~{size(best.size)}" if best.is_estimate else size(best.size)


def _counted(number: int | None) -> str:
    return "" if number is None else count(number)


def purposes_text(entry: RegistryEntry, most: int = _PURPOSES_SHOWN) -> str:
    """Name what a model is good for, the best first."""
    ranked = sorted(entry.purposes, key=lambda name: (-entry.skills.get(name, 0), name))
    return ", ".join(clean_line(name[:_LONGEST]) for name in ranked[:most])


_FACTS: Final[Mapping[str, Callable[[EntryRow], str]]] = {
    "parameters": lambda row: parameters(row.entry.parameters) if row.entry.parameters else "",
    "size": lambda row: _size(row.best) if row.best else "",
    "downloads": lambda row: _counted(row.entry.downloads),
    "likes": lambda row: _counted(row.entry.likes),
    "licence": lambda row: clean_line((row.entry.licence or "")[:_LONGEST]),
    "purposes": lambda row: purposes_text(row.entry),
    "rating": lambda row: stars(row.entry.rating),
}
"""The text of each column."""


def stars(rating: int | None) -> str:
    """Return a person's own rating as stars."""
    return "★" * rating if rating else ""


def about_row(row: FindRow | None, shown: Callable[[ModelRef], str]) -> list[str]:
    """Return what has no column, in at most two lines."""
    if not isinstance(row, EntryRow):
        return []
    entry = row.entry
    facts = [
        clean_line((entry.licence or "")[:_LONGEST]),
        f"{window(entry.context)} context" if entry.context else "",
        purposes_text(entry, 6),
        popularity(entry.downloads, "download", " a month"),
        popularity(entry.likes, "like"),
        f"yours {stars(entry.rating)}" if entry.rating else "",
    ]
    here = ", ".join(clean_name(shown(ref)[:_LONGEST]) for ref in entry.installed[:3])
    last = [
        f"here as {here}" if here else "",
        f"{clean_name(row.best.quantization)}: {fit_words(row.best.fit)}"
        if row.best and row.best.fit
        else "",
        clean_line((entry.description or "")[:_LONGEST]) if not here else "",
    ]
    return [line for line in (" · ".join(filter(None, part)) for part in (facts, last)) if line]


def best_by_purpose(rows: Sequence[EntryRow], purposes: Sequence[str], *, each: int) -> list[Group]:
    """Return the best models that fit this machine for each purpose.

    Each model is listed once, for the first purpose that it is among the best for.
    """
    left = [row for row in rows if row.entry.sources and _fits(row)]
    groups = []
    for purpose in purposes:
        mine = [row for row in left if _serves(row, purpose)]
        mine = sorted(mine, key=lambda row: suggestion_key(row.entry, row.best, purpose))[:each]
        left = [row for row in left if row not in mine]
        groups.append(Group(purpose, tuple(mine)))
    return [group for group in groups if group.rows]


def _fits(row: EntryRow) -> bool:
    return row.best is None or row.best.fit is None or row.best.fit.verdict != "no"


def _serves(row: EntryRow, purpose: str) -> bool:
    """Return whether a model serves a purpose; an embedder serves no other."""
    purposes = row.entry.purposes
    is_embedder = "embedding" in purposes and "chat" not in purposes
    return purpose in purposes and (purpose == "embedding" or not is_embedder)
