"""What a style carries besides its look and no terminal sees: an address, or the copy word."""

from typing import Final

from rich.cells import cell_len
from rich.style import Style

from ollm_tui.decode.bare_links import bare_links
from ollm_tui.tui.transcript.painters.rows import Palette, Row, Span

_KEY: Final = "link"


def linked(style: Style, address: str) -> Style:
    """The style of text that links to an address.

    Not Rich's own `link`: with that the terminal would open what nobody was asked about.
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


_META: Final = "copy"


def copying(style: Style) -> Style:
    """The style of the word that copies a code block; its meaning never goes to the terminal."""
    return style + Style.from_meta({_META: True})


def copies(row: Row, cell: int) -> bool:
    """Whether the word that copies is at a cell of a row."""
    for text, style, _control in row.segments:
        cell -= cell_len(text)
        if cell < 0:
            return style is not None and bool(style.meta.get(_META))
    return False
