"""Paints nested Markdown (items, quotations, headings, paragraphs) from parsed tokens."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, takewhile
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_name
from ollm_tui.tui.painters.code import code_rows
from ollm_tui.tui.painters.formulas import formula_rows
from ollm_tui.tui.painters.inline import MAX_NESTING, formatted, parser
from ollm_tui.tui.painters.rows import BLANK, UNDERLINE, Canvas, Palette, Row, Span, Step
from ollm_tui.tui.painters.table import table_rows
from ollm_tui.tui.painters.wrapping import wrapped_rows

if TYPE_CHECKING:
    from markdown_it.token import Token

BULLETS = "•◦▪"
MAX_LENGTH = 60_000
_MAX_COST = 2500
_COSTLY = re.compile(r"\n|\||[-*+.)] ")
_NARROWEST = 12


def too_costly(source: str) -> bool:
    """Whether cutting this into blocks, which cannot be interrupted, would hold up the screen."""
    return len(source) > MAX_LENGTH or sum(1 for _ in _COSTLY.finditer(source)) > _MAX_COST


def text_rows(text: str, style: Style, canvas: Canvas) -> Iterator[Step]:
    """A top-level paragraph or heading."""
    lines = yield from formatted(text, style, canvas)
    yield from _wrapped(lines, canvas)


def heading_style(level: int, palette: Palette) -> Style:
    """Bold for all, underlined for the top level, so that it differs without colour too."""
    return palette.heading + UNDERLINE if level == 1 else palette.heading


def rule_row(canvas: Canvas) -> Row:
    """A thematic break."""
    return Row((Segment("─" * canvas.width, canvas.palette.rule),), gutter=0)


def _wrapped(lines: list[list[Span]], canvas: Canvas) -> Iterator[Row]:
    return chain.from_iterable(wrapped_rows(spans, canvas.width) for spans in lines)


@dataclass(slots=True)
class _Frame:
    """The decoration left of the rows of an item or a quotation."""

    rest: str
    style: Style
    decoration: bool
    first: str | None = None


@dataclass(slots=True)
class _List:
    ordered: bool
    number: int


@dataclass(slots=True)
class FlowPainter:
    """One walk over the tokens of one section."""

    canvas: Canvas
    number: int | None = None
    """Overrides the number of the first ordered item."""
    _frames: list[_Frame] = field(default_factory=list)
    _lists: list[_List] = field(default_factory=list)
    _styles: list[Style] = field(default_factory=list)
    _gap: int | None = None
    """How many frames reach across the gap before the next row; None for no gap."""

    def paint(self, source: str) -> Iterator[Step] | None:
        """The rows of the source; None if it is nested too deeply."""
        markdown = parser(maths=self.canvas.maths)
        tokens: list[Token] = []
        # Blocks only: the text inside them is parsed when its turn comes.
        markdown.block.parse(source, markdown, {}, tokens)
        if any(token.level >= MAX_NESTING - 2 for token in tokens):
            return None
        return self._walk(tokens)

    def _walk(self, tokens: Sequence["Token"]) -> Iterator[Step]:
        self._styles = [self.canvas.palette.text]
        rest = iter(tokens)
        for token in rest:
            if token.type == "table_open":
                inner = takewhile(lambda each: each.type != "table_close", rest)
                yield from self._framed(table_rows(_table_source(inner), self._room))
                self._gap = len(self._frames)
            else:
                yield from self._take(token)

    def _take(self, token: "Token") -> Iterator[Step]:
        match token.type:
            case "inline":
                lines = yield from formatted(token.content, self._styles[-1], self.canvas)
                self._tick_box(lines)
                yield from self._framed(_wrapped(lines, self._room))
            case "fence" | "code_block":
                code = token.content.removesuffix("\n").split("\n")
                # what a reference stands for is decoded here too
                language = clean_name(next(iter(token.info.split(maxsplit=1)), ""))
                yield from self._framed(code_rows(code, language, self._room))
                self._gap = len(self._frames)
            case "maths_block":
                yield from self._framed(formula_rows(token.content, self._room))
                self._gap = len(self._frames)
            case "hr":
                yield from self._framed([rule_row(self._room)])
                self._gap = len(self._frames)
            case "paragraph_close":
                self._gap = None if token.hidden else len(self._frames)
            case "heading_open":
                self._styles.append(heading_style(int(token.tag[1:]), self.canvas.palette))
            case "heading_close":
                self._styles.pop()
                self._gap = len(self._frames)
            case _:
                yield from self._container(token)

    def _container(self, token: "Token") -> Iterator[Step]:
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                self._open_list(token)
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
            case "list_item_open":
                self._open_item()
            case "blockquote_open":
                self._frames.append(_Frame("▎ ", self.canvas.palette.bar, decoration=True))
                self._styles.append(self._styles[-1] + self.canvas.palette.quote)
            case "list_item_close" | "blockquote_close":
                if self._frames[-1].first is not None:
                    yield from self._framed([BLANK])
                self._frames.pop()
                if token.type == "blockquote_close":
                    self._styles.pop()
                    self._gap = len(self._frames)

    def _open_list(self, token: "Token") -> None:
        ordered = token.type == "ordered_list_open"
        number = int(token.attrs.get("start", 1)) if ordered else 0
        if ordered and not self._lists and self.number is not None:
            number = self.number
        self._lists.append(_List(ordered, number))

    def _open_item(self) -> None:
        current = self._lists[-1]
        depth = sum(not each.ordered for each in self._lists) - 1
        marker = f"{current.number}. " if current.ordered else f"{BULLETS[min(depth, 2)]} "
        current.number += 1
        style = self.canvas.palette.marker
        self._frames.append(_Frame(" " * len(marker), style, decoration=False, first=marker))

    @property
    def _room(self) -> Canvas:
        """The canvas inside the frames."""
        used = sum(len(frame.rest) for frame in self._frames)
        return replace(self.canvas, width=max(self.canvas.width - used, _NARROWEST))

    def _tick_box(self, lines: list[list[Span]]) -> None:
        """Turn the bullet of a task into its box."""
        frame = self._frames[-1] if self._frames else None
        if frame is None or frame.first is None or not lines or not lines[0]:
            return
        text, style = lines[0][0]
        box = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}.get(text[:4])
        if box is not None:
            lines[0][0] = (text[4:], style)
            frame.first = box if frame.first[0] in BULLETS else frame.first + box

    def _framed(self, rows: Iterable[Step]) -> Iterator[Step]:
        """Put the frames left of rows, and the gap above the first."""
        if self._gap is not None:
            left = [Segment(frame.rest, frame.style) for frame in self._frames[: self._gap]]
            yield Row(tuple(left), gutter=sum(len(segment.text) for segment in left))
            self._gap = None
        for row in rows:
            yield row if row is None else self._with_frames(row)

    def _with_frames(self, row: Row) -> Row:
        if not self._frames:
            return row
        left: list[Segment] = []
        kept = False
        gutter = 0
        for frame in self._frames:
            text = frame.rest
            if frame.first is not None:
                text, frame.first, kept = frame.first, None, True
            left.append(Segment(text, frame.style))
            if (frame.decoration and not kept) or row.join is not None:
                gutter = sum(len(segment.text) for segment in left)
        gutter += row.gutter if gutter == sum(len(segment.text) for segment in left) else 0
        segments = (*left, *row.segments)
        return replace(row, segments=segments, gutter=gutter)


def _table_source(tokens: Iterable["Token"]) -> list[str]:
    """The source lines of a nested table, so that one painter draws all tables."""
    rows: list[list[str]] = []
    aligns: list[str] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(token.content.replace("|", "\\|"))
        elif token.type == "th_open":
            style = str(token.attrs.get("style", ""))
            aligns.append({"text-align:right": "-:", "text-align:center": ":-:"}.get(style, "-"))
    head, *body = ["| " + " | ".join(row) + " |" for row in rows]
    return [head, "| " + " | ".join(aligns) + " |", *body]
