"""Links in painted text: how a style carries an address, and which links are where."""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Final

from rich.style import Style

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.bare_links import bare_links
from ollm_tui.tui.painters.rows import Palette, Row, Span

_KEY: Final = "link"
FARTHEST: Final = 16_000
"""Characters on each side that are searched for the ends of an address."""


def linked(style: Style, address: str) -> Style:
    """The style of text that links to an address, which never goes to the terminal.

    Not Rich's own `link`: with that the terminal would open addresses without asking.
    """
    return style + Style.from_meta({_KEY: address})


def address_of(style: Style | None) -> str | None:
    """The address that text in this style links to, or None."""
    address = None if style is None else style.meta.get(_KEY)
    return address if isinstance(address, str) else None


def with_links(text: str, base: Style, palette: Palette) -> list[Span]:
    """A text in one style, except for the addresses in it."""
    spans: list[Span] = []
    done = 0
    for start, end in bare_links(text):
        address = text[start:end]
        spans += [(text[done:start], base), (address, linked(base + palette.link, address))]
        done = end
    spans.append((text[done:], base))
    return [span for span in spans if span[0]] or [("", base)]


@dataclass(frozen=True, slots=True)
class FoundLink:
    """A link as a list shows it; both fields are untrusted, the address not even cleaned."""

    address: str
    text: str
    """As it is painted, with its address if the text is not the address."""


def address_at(row_at: Callable[[int], Row | None], number: int, position: int) -> str | None:
    """The address at a code point of a row: that of a link, else one that is there as text."""
    row = row_at(number)
    if row is None or not 0 <= position < len(row.text):
        return None
    passed = 0
    for text, style, _control in row.segments:
        if passed <= position < passed + len(text) and (address := address_of(style)) is not None:
            return address
        passed += len(text)
    if position < row.gutter:
        return None
    return _bare_at(row_at, number, position - row.gutter)


def _bare_at(row_at: Callable[[int], Row | None], number: int, position: int) -> str | None:
    """The address in plain text, whose soft-wrapped rows are one line."""
    before = after = ""
    first, last = number, number + 1
    while (row := row_at(first)) is not None and row.join is not None and len(before) < FARTHEST:
        above = row_at(first - 1)
        before = ("" if above is None else above.text[above.gutter :]) + row.join + before
        first -= 1
    while (row := row_at(last)) is not None and row.join is not None and len(after) < FARTHEST:
        after += row.join + row.text[row.gutter :]
        last += 1
    row = row_at(number)
    line = before + ("" if row is None else row.text[row.gutter :]) + after
    position += len(before)
    spans = (line[start:end] for start, end in bare_links(line) if start <= position < end)
    return next(spans, None)


def links_of(rows: Iterable[Row]) -> Iterator[FoundLink]:
    """Yield every link of rows that begin and end with whole lines, in order."""
    line: list[Row] = []
    for row in rows:
        if row.join is None and line:
            yield from _links_of_line(line)
            line = []
        line.append(row)
    yield from _links_of_line(line)


def _links_of_line(rows: Iterable[Row]) -> Iterator[FoundLink]:
    for address, group in groupby(_pieces(rows), key=lambda piece: piece[0]):
        text = "".join(piece for _address, piece in group)
        if address is not None:
            yield FoundLink(address, text)
        else:
            for start, end in bare_links(text):
                yield FoundLink(text[start:end], text[start:end])


def _pieces(rows: Iterable[Row]) -> Iterator[tuple[str | None, str]]:
    """The parts of one line with the addresses they lead to."""
    address: str | None = None
    for row in rows:
        if row.join:
            yield address, row.join
        gutter = row.gutter
        for text, style, _control in row.segments:
            if gutter < len(text):
                address = address_of(style)
                yield address, text[gutter:]
            gutter = max(gutter - len(text), 0)
