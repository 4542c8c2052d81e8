"""The rows of the model picker: which models, in what order, and how each is written."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textual.content import Content

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing
from ollm_tui.tui.figures import size, window
from ollm_tui.tui.models import match
from ollm_tui.tui.models.abilities import beside_text, can_chat

LEAST_NAME = 22
"""Cells that a name keeps before a column goes."""


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model that can be chosen."""

    ref: ModelRef
    info: ModelInfo
    label: str
    """The provider's name for people."""


@dataclass(frozen=True, slots=True)
class PickerSection:
    """Rows below one heading."""

    heading: str
    rows: tuple[ModelRow, ...]
    names_provider: bool = False
    """Whether each row says whose it is, because the heading does not."""


def rows_of(listing: Listing) -> list[ModelRow]:
    """Give the models of one provider that can take part in a chat, as far as is known."""
    return [
        ModelRow(ModelRef(listing.provider, info.name), info, listing.label)
        for info in listing.models
        if can_chat(info)
    ]


def sections(rows: Sequence[ModelRow], query: str, recents: Sequence[str]) -> list[PickerSection]:
    """Order the rows: recent ones first, then by provider; with a query, the best match first."""
    if query.strip():
        ranked = [(rank, row) for row in rows if (rank := match_rank(query, row)) is not None]
        ranked.sort(key=lambda pair: (pair[0], _recency(pair[1], recents)))
        return [PickerSection("", tuple(row for _rank, row in ranked), names_provider=True)]
    recent = [row for row in rows if str(row.ref) in recents]
    recent.sort(key=lambda row: _recency(row, recents))
    found = [PickerSection("Recent", tuple(recent[:5]), names_provider=True)] if recent else []
    labels = dict.fromkeys(row.label for row in rows)
    return found + [
        PickerSection(label, tuple(row for row in rows if row.label == label)) for label in labels
    ]


def _recency(row: ModelRow, recents: Sequence[str]) -> int:
    address = str(row.ref)
    return recents.index(address) if address in recents else len(recents)


def match_rank(query: str, row: ModelRow) -> int | None:
    """Rank how well a row fits what was typed, 0 the best; None if it does not."""
    provider = f"{row.ref.provider} {row.label}".lower()
    return match.match_rank(query, row.ref.model.lower(), provider)


def marks(info: ModelInfo) -> str:
    """Write what a model can do beside text: `?` is assumed, `!` is set by the person."""
    return " ".join(beside_text(info))


def row_content(row: ModelRow, width: int, *, is_current: bool, names_provider: bool) -> Content:
    """Write one row in `width` cells; what does not fit is left out from the right."""
    info = row.info
    facts = [
        (size(info.size_bytes) if info.size_bytes else "").rjust(7),
        (window(info.context) if info.context else "").rjust(4),
        marks(info).ljust(24),
    ]
    room = width - 3
    while facts and room - sum(len(fact) + 2 for fact in facts) < LEAST_NAME:
        facts.pop()
    room -= sum(len(fact) + 2 for fact in facts)
    name = _shortened(clean_name(row.ref.model), max(8, room))
    left = room - Content(name).cell_length - 2
    provider = _shortened(clean_name(row.label), left) if names_provider and left > 3 else ""
    title = Content.assemble(
        ("● " if info.loaded else "  ", "$text-success"),
        (name, "bold" if is_current else ""),
        (f"  {provider}" if provider else "", "$text-muted"),
    )
    gap = max(0, room + 2 - title.cell_length)
    rest = "".join(f"  {fact}" for fact in facts)
    return Content.assemble(title, " " * gap, (rest, "$text-muted"))


def _shortened(text: str, width: int) -> str:
    content = Content(text)
    return text if content.cell_length <= width else content.truncate(width, ellipsis=True).plain


def problem_lines(listings: Iterable[Listing]) -> list[str]:
    """Write a line for each provider that gave no list."""
    lines = []
    for listing in listings:
        if listing.problem is not None:
            label, words = clean_name(listing.label), clean_line(listing.problem.message)
            lines.append(words if words.startswith(label) else f"{label}: {words}")
    return lines
