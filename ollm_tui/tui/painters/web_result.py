"""Rows of what the tools for the web return: a page with its text, or the results of a search.

Titles, snippets and texts are foreign. Each link leads to the address that is shown with it, by
the host that a browser would go to.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from rich.cells import cell_len
from rich.segment import Segment

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean, clean_line
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.link_target import LinkTarget, read_link
from ollm_tui.tui.painters.links import linked
from ollm_tui.tui.painters.plain import LineEnds, plain_rows
from ollm_tui.tui.painters.rows import BOLD, Canvas, Palette, Row, Span
from ollm_tui.tui.widgets import cut, cut_start
from ollm_tui.web.shown import SearchResult, ShownPage, ShownSearch, read_page, read_search

_INDENT: Final = "  "
_BAR: Final = "▎ "
_MIN_LINES: Final = 3
"""Rows of a page that are shown at first, whatever is said above them."""
_MAX_SNIPPET_ROWS: Final = 6
_MAX_TITLE_LENGTH: Final = 400


@dataclass(frozen=True, slots=True)
class WebView:
    """The rows below the line of a call."""

    rows: Sequence[Row]
    has_more: bool
    """Whether unfolding shows more than this."""


def web_view(output: str, canvas: Canvas, most: int, *, is_open: bool) -> WebView | None:
    """Return the view of an output, of at most `most` rows of text; None if it is neither form."""
    if (page := read_page(output)) is not None:
        return _page_view(page, canvas, most, is_open=is_open)
    if (search := read_search(output)) is not None:
        return _search_view(search, canvas, is_open=is_open)
    return None


def _page_view(page: ShownPage, canvas: Canvas, most: int, *, is_open: bool) -> WebView:
    palette, width = canvas.palette, canvas.width - len(_INDENT)
    rows: list[Row] = []
    if page.title:
        title = cut(clean_line(page.title[:_MAX_TITLE_LENGTH]), width)
        rows.append(_row(palette, (title, palette.text + palette.heading)))
    rows.append(_row(palette, *_address(page.url, width, canvas)))
    rows.append(_row(palette, (cut(clean_line(page.facts), width), palette.dim)))
    rows += [_row(palette, (cut(clean_line(note), width), palette.warning)) for note in page.notes]
    text = clean(LineEnds().feed(page.text)).strip("\n")
    most = most if is_open else max(_MIN_LINES, most - len(rows) - 1)
    lines = (line for line in text.split("\n") if is_open or line.strip())
    bar = (Segment(_INDENT, palette.dim), Segment(_BAR, palette.bar))
    gutter = len(_INDENT) + len(_BAR)
    shown = [*islice(_text_rows(lines, width - len(_BAR), canvas), most + 1)]
    for row in shown[:most]:
        rows.append(replace(row, segments=(*bar, *row.segments), gutter=gutter))
    has_more = len(shown) > most
    if has_more:
        rows.append(_row(palette, (f"… {_left(text, shown[:most])}", palette.dim)))
    return WebView(rows, has_more)


def _text_rows(lines: Iterator[str], width: int, canvas: Canvas) -> Iterator[Row]:
    for line in lines:
        yield from plain_rows(line, width, canvas.palette.dim)


def _left(text: str, shown: Sequence[Row]) -> str:
    """Return how much of a text follows its first rows."""
    seen = sum(bool(row.text.strip()) and row.join is None for row in shown)
    left = sum(bool(line.strip()) for line in text.split("\n")) - seen
    return "the line goes on" if left < 1 else counted(left, "more line")


def _search_view(search: ShownSearch, canvas: Canvas, *, is_open: bool) -> WebView:
    palette = canvas.palette
    rows = [_row(palette, (clean_line(search.heading), palette.dim))]
    widest = len(f"{len(search.results)}. ")
    for at, one in enumerate(search.results, 1):
        number = f"{at}. ".ljust(widest)
        rows += _opened(number, one, canvas) if is_open else [_folded(number, one, canvas)]
    return WebView(rows, has_more=True)


def _folded(number: str, result: SearchResult, canvas: Canvas) -> Row:
    """Return a title and its host in one row; the host is what stays."""
    palette, room = canvas.palette, canvas.width - len(_INDENT) - len(number)
    host = cut_start(_host(result.url), max(room // 2, 1))
    title = cut(clean_line(result.title[:_MAX_TITLE_LENGTH]), room - cell_len(host) - 2)
    style = linked(palette.text + palette.link, result.url)
    return _row(palette, (number, palette.marker), (title, style), (f"  {host}", palette.dim))


def _opened(number: str, result: SearchResult, canvas: Canvas) -> Iterator[Row]:
    palette, inset = canvas.palette, _INDENT + " " * len(number)
    room = max(canvas.width - len(inset), 1)
    title = cut(clean_line(result.title[:_MAX_TITLE_LENGTH]), room)
    style = linked(palette.text + palette.link, result.url)
    yield _row(palette, (number, palette.marker), (title, style))
    below = Segment(inset, palette.dim)
    address = [Segment(*span) for span in _address(result.url, room, canvas)]
    yield Row((below, *address), gutter=len(inset))
    snippet = clean_line(result.snippet)
    for row in islice(plain_rows(snippet, room, palette.text), _MAX_SNIPPET_ROWS):
        if snippet:
            yield replace(row, segments=(below, *row.segments), gutter=len(inset))


def _host(url: str) -> str:
    target = read_link(url)
    if not isinstance(target, LinkTarget):
        return clean_line(url)
    port = "" if target.port is None else f":{target.port}"
    return f"{target.hosts[0].ascii}{port}"


def _address(url: str, width: int, canvas: Canvas) -> list[Span]:
    """Return the host, which stays, and as much of the rest as there is room for."""
    palette, target = canvas.palette, read_link(url)
    if not isinstance(target, LinkTarget):
        return [(cut(clean_line(url), width), palette.dim)]
    style = linked(palette.text, url)
    scheme = "" if target.scheme == "https" else f"{target.scheme}://"
    host = cut_start(_host(url), width - len(scheme))
    rest = cut(target.rest, width - len(scheme) - cell_len(host))
    dim = linked(palette.dim, url)
    return [(scheme, dim), (host, style + BOLD), ("" if rest == "/" else rest, dim)]


def _row(palette: Palette, *spans: Span) -> Row:
    indented = ((_INDENT, palette.dim), *spans)
    return Row(tuple(Segment(*span) for span in indented if span[0]), gutter=len(_INDENT))
