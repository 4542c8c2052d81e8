"""Paints one call of a tool: a line with its outcome, and its output below when unfolded."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean, clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.figures import seconds as written_seconds
from ollm_tui.tui.painters.painter import Change, RowList, WholePainter
from ollm_tui.tui.painters.plain import LineEnds, plain_rows
from ollm_tui.tui.painters.rows import Canvas, Palette, Row
from ollm_tui.tui.widgets import cut
from ollm_tui.web.shown import WEB_TOOLS

if TYPE_CHECKING:
    from ollm_tui.protocol.tools import ToolOutcome
    from ollm_tui.tui.painters.web_result import WebView

Fold: TypeAlias = Literal["folded", "peek", "open"]
"""No output, its first rows, or all that is ever shown."""

PEEK_ROWS: Final = 8
OPEN_ROWS: Final = 400
MAX_OUTPUT_LENGTH: Final = 200_000
"""Characters of an output that are read."""
_SIGN: Final = "⚙ "
_COMMAND_SIGN: Final = "$ "
_COLUMN: Final = 52  # the column in which outcomes are aligned, if there is room
_MAX_LENGTH: Final = 400  # characters of a name or an argument that are read; no line shows as many
_DIFF: Final = re.compile(r"--- [^\n]{1,4096}\n\+\+\+ [^\n]{1,4096}\n@@ ")
_MARKS: Final["Mapping[ToolOutcome, str]"] = MappingProxyType(
    {"done": "✓", "failed": "✗ failed", "denied": "⊘ denied", "stopped": "■ stopped"}
)


@dataclass(slots=True)
class ToolCall:
    """A call of a tool: running until `end`."""

    name: str
    argument: str = ""
    outcome: "ToolOutcome | None" = None
    seconds: float | None = None
    """Until its end how long it has been running; None if the time is not known."""
    output: str = ""
    fold: Fold = "folded"
    is_command: bool = False
    """Whether the user ran it; the name is all of it."""

    @property
    def is_of_the_web(self) -> bool:
        """Whether the output is a page or the results of a search, which have rows of their own."""
        return self.outcome in {"done", "failed"} and self.name in WEB_TOOLS

    @property
    def closed(self) -> Fold:
        """How it is folded with all others: of a page and results the beginning stays."""
        return "peek" if self.is_of_the_web and self.outcome == "done" else "folded"

    @property
    def is_diff(self) -> bool:
        """Whether the output is a unified diff of what was done."""
        return self.outcome == "done" and bool(_DIFF.match(self.output))

    def show(self, output: str) -> None:
        """Show the end of the output of a call that still runs."""
        self.output, self.fold = output, "peek"

    def end(self, outcome: "ToolOutcome", seconds: float | None, output: str) -> None:
        """Record how it ended; a failed call opens by itself, any other stays one line."""
        self.outcome, self.seconds, self.output = outcome, seconds, output
        opens = outcome == "failed" or self.is_command or self.is_diff or self.is_of_the_web
        if opens:
            self.fold = "peek"


class ToolPainter(WholePainter):
    """Paints a call as it is at the time; `repaint` asks for that after it has changed."""

    def __init__(self, canvas: Canvas, call: ToolCall) -> None:
        self._canvas = canvas
        self._call = call
        self.rows = RowList()
        self._is_stale = True
        self._has_more = False
        """Whether a call whose first rows are shown has others."""

    def repaint(self) -> None:
        """Paint the call again with the next slice."""
        self._is_stale = True

    def next_fold(self) -> Fold:
        """What a further click shows: all of the output, or nothing once all is shown."""
        fold = self._call.fold
        return "folded" if fold == "open" or (fold == "peek" and not self._has_more) else "open"

    def work(self, deadline: float) -> bool:
        """Paint all of it: its rows are few."""
        del deadline
        if self._is_stale:
            self._is_stale = self._has_more = False
            self.rows.items = [self._header(), *self._below()]
            self.rows.touch(Change(0, None))
        return False

    def restyle(self, canvas: Canvas, first: int) -> None:
        """Paint it again with the next slice."""
        del first
        self._canvas = canvas
        self.repaint()

    def _header(self) -> Row:
        palette, width = self._canvas.palette, self._canvas.width
        mark = self._mark()
        sign = _COMMAND_SIGN if self._call.is_command else _SIGN
        room = max(0, width - len(sign) - cell_len(mark) - 3)
        texts = self._call.name[:_MAX_LENGTH], self._call.argument[:_MAX_LENGTH]
        if self._call.is_command:  # the user wrote its lines
            texts = texts[0], texts[1].replace("\n", " ⏎ ")
        name, argument = map(clean_name, texts)
        name = cut(name, max(room * 2 // 3, room - cell_len(argument) - 2))
        argument = cut(argument, room - cell_len(name) - 2)
        used = cell_len(name) + (2 + cell_len(argument) if argument else 0)
        gap = max(3, min(_COLUMN - len(sign), room + 3) - used)
        parts = [
            (sign, palette.dim),
            (name, palette.text + palette.code),
            (f"  {argument}" if argument else "", palette.text),
            (" " * gap, palette.text),
            (mark, _mark_style(self._call.outcome, palette)),
        ]
        return Row(tuple(Segment(text, style) for text, style in parts if text), gutter=len(sign))

    def _mark(self) -> str:
        outcome, seconds = self._call.outcome, self._call.seconds
        if outcome is None:
            return "…" if seconds is None else f"… {written_seconds(seconds)}"
        if outcome not in {"done", "failed"} or seconds is None:
            return _MARKS[outcome]
        time = f"{seconds:.1f} s" if seconds < 1 else written_seconds(seconds)
        return f"{_MARKS[outcome]} {time}"

    def _below(self) -> Iterator[Row]:
        if self._call.fold == "folded":
            return
        if self._call.outcome is None:
            yield from self._running()
            return
        if self._call.is_of_the_web and (view := self._web_view()):
            self._has_more = view.has_more
            yield from view.rows
            return
        most = PEEK_ROWS if self._call.fold == "peek" else OPEN_ROWS
        dim = self._canvas.palette.dim
        text = clean(LineEnds().feed(self._call.output[:MAX_OUTPUT_LENGTH])).strip("\n")
        shown_lines, style = 0, dim
        for number, row in enumerate(plain_rows(text, self._canvas.width - 2, dim)):
            if number == most:
                self._has_more = True
                left = text.count("\n") + 1 - shown_lines
                what = "the line goes on" if left < 1 else counted(left, "more line")
                yield _indented(Row((Segment(f"… {what}", dim),)), dim)
                return
            shown_lines += row.join is None
            if self._call.is_diff:
                style = style if row.join is not None else self._diff_style(row.text)
                row = replace(row, segments=(Segment(row.text, style),))
            yield _indented(row if text else Row((Segment("no output", dim),)), dim)

    def _web_view(self) -> "WebView | None":
        # imported with the first call that used the web
        from ollm_tui.tui.painters.web_result import web_view

        is_open = self._call.fold == "open"
        text = self._call.output[:MAX_OUTPUT_LENGTH]
        return web_view(text, self._canvas, OPEN_ROWS if is_open else PEEK_ROWS, is_open=is_open)

    def _diff_style(self, line: str) -> Style:
        palette = self._canvas.palette
        if line.startswith("+"):
            return palette.text + palette.inserted
        return palette.text + palette.deleted if line.startswith("-") else palette.dim

    def _running(self) -> Iterator[Row]:
        """Show the last rows of what was printed so far."""
        dim = self._canvas.palette.dim
        text = clean(LineEnds().feed(self._call.output)).strip("\n")
        if text:
            for row in [*plain_rows(text, self._canvas.width - 2, dim)][-PEEK_ROWS:]:
                yield _indented(row, dim)


def _mark_style(outcome: "ToolOutcome | None", palette: Palette) -> Style:
    if outcome == "done":
        return palette.text + palette.inserted
    return {"failed": palette.error, "denied": palette.warning}.get(outcome or "", palette.dim)


def _indented(row: Row, style: Style) -> Row:
    return replace(row, segments=(Segment("  ", style), *row.segments), gutter=2)
