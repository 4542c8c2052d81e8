"""Paints a streamed Markdown answer: closed sections once, the open one at most once a frame."""

from collections import deque
from dataclasses import replace
from time import monotonic

import anyio.lowlevel
from rich.cells import cell_len

from ollm_tui.decode.clean import Cleaner
from ollm_tui.decode.lexing import find_lexer
from ollm_tui.tui.painters.answer_parts import Jobs, Parts
from ollm_tui.tui.painters.code import lexers_are_ready
from ollm_tui.tui.painters.formulas import is_ready
from ollm_tui.tui.painters.inline import costs_too_much_open, parser
from ollm_tui.tui.painters.links import FoundLink, links_of
from ollm_tui.tui.painters.plain import LineEnds
from ollm_tui.tui.painters.rows import Canvas, Palette
from ollm_tui.tui.painters.section_rows import growing, section_rows
from ollm_tui.tui.painters.sections import (
    Kind,
    Move,
    Section,
    Sectioner,
    classify,
    undecided,
)

OPEN_BUDGET = 4096
"""An open section longer than this is shown unformatted until it is closed."""
_TAKEN_AT_ONCE = 16_384
_LINES_AT_ONCE = 32
_TAB = 4
_LONG_LINE = 2000
_SLICE_S = 0.008
_LIST_WIDTH = 400  # cells; wide enough to wrap few lines and cut no reasonable table
_ROWS_AT_ONCE = 2_000


def load_markdown() -> None:
    """Load what the first answer needs; it takes a while, so call this in a thread."""
    for maths in (False, True):
        parser(maths=maths)
    find_lexer("python")  # brings the table of all lexers
    cell_len("\N{EN DASH}")  # brings the table of wide characters


def _expand(line: str) -> str:
    if "\t" not in line:
        return line
    return line.expandtabs(_TAB) if len(line) <= _LONG_LINE else line.replace("\t", " " * _TAB)


class MarkdownPainter:
    """The rows of one answer."""

    def __init__(self, canvas: Canvas) -> None:
        self._canvas = canvas
        self._sectioner = Sectioner()
        self.rows = Parts()
        self._jobs = Jobs(self.rows, canvas)
        self._queued = 0
        self._incoming: deque[str] = deque()
        self._lines: deque[str] = deque()
        self._partial = ""
        self._ends = LineEnds()
        self._cleaner = Cleaner()
        self._finished = False
        self._ended = False

    @property
    def refining(self) -> bool:
        """Whether all text is shown, and only the formatting of long sections is missing."""
        waits = self._text_waits() or (self._finished and not self._ended) or self._open_waits()
        return self._jobs.rough and not waits

    # Text

    def append(self, text: str) -> None:
        """Take text as it came."""
        for start in range(0, len(text), _TAKEN_AT_ONCE):
            self._incoming.append(text[start : start + _TAKEN_AT_ONCE])

    def finish(self) -> None:
        """The unfinished line is a whole one now, and the open section closes."""
        self._finished = True

    def work(self, deadline: float) -> bool:
        """Take text, show the open section, paint what has closed."""
        self._take(deadline)
        more = self._text_waits() or self._finished is not self._ended
        self._jobs.show(deadline)
        if not (self._ended or more or self._jobs.hidden):
            more = self._preview(deadline)
        if not more:
            self._jobs.improve(deadline)
        return more or bool(self._jobs) or self._open_waits()

    def _text_waits(self) -> bool:
        return bool(self._incoming or self._lines)

    def _open_waits(self) -> bool:
        """Whether the open section was skipped in favour of closed ones."""
        part = self.rows[-1] if self.rows else None
        if part is None or self._ended or part.section is None or part.section.closed:
            return False
        return part.shown != (part.section.chars, len(self._partial))

    def _take(self, deadline: float) -> None:
        while self._text_waits():
            if not self._lines:
                text = self._cleaner.feed(self._ends.feed(self._next_piece()))
                first, *others = text.split("\n")
                *lines, self._partial = (self._partial + first, *others)
                self._lines += lines
            for _ in range(min(len(self._lines), _LINES_AT_ONCE)):
                self._feed(self._lines.popleft())
            if monotonic() > deadline:
                break
        if self._finished and not (self._ended or self._text_waits()):
            self._end()

    def _next_piece(self) -> str:
        pieces = [self._incoming.popleft()]
        size = len(pieces[0])
        while self._incoming and size < _TAKEN_AT_ONCE:
            pieces.append(self._incoming.popleft())
            size += len(pieces[-1])
        return "".join(pieces)

    def _end(self) -> None:
        last = self._partial + self._cleaner.finish()
        self._partial = ""
        if last:
            self._feed(last)
        self._sectioner.finish()
        self._match_parts()
        self.rows.drop_unbound()
        self._ended = True

    def _feed(self, line: str) -> None:
        self._sectioner.feed(_expand(line))
        self._match_parts()

    def _match_parts(self) -> None:
        """One part per section; what has closed is queued for its final painting."""
        sections = self._sectioner.sections
        for index in range(max(self._queued - 1, 0), len(sections)):
            if index == len(self.rows):
                self.rows.add(sections[index], int(sections[index].gap))
            if self.rows[index].section is None:
                self.rows.bind(index, sections[index])
        while self._queued < len(sections) and sections[self._queued].closed:
            self._jobs.add(self._queued)
            self._queued += 1

    # The open section

    def _preview(self, deadline: float) -> bool:
        """Show the open section with the unfinished line."""
        partial = "" if undecided(self._partial) else _expand(self._partial)
        index = len(self._sectioner.sections) - 1
        move = self._sectioner.move_for(partial) if partial else None
        starts = move in {Move.START, Move.SPLIT}
        if not starts:
            self.rows.drop_unbound()
        if self._sectioner.open is not None:
            section = self._sectioner.sections[index]
            is_formula = section.kind is Kind.FORMULA and move is Move.JOIN_LAST
            joined = partial if move is Move.JOIN or is_formula else ""
            if self._show(index, section, joined, deadline):
                return True
        return starts and self._show_start(partial, deadline)

    def _show_start(self, partial: str, deadline: float) -> bool:
        section = classify(partial)
        if section.kind is Kind.FENCE:
            return False
        if len(self.rows) == len(self._sectioner.sections):
            self.rows.add(None, gap=int(bool(self.rows)))
        return self._show(len(self.rows) - 1, section, partial, deadline)

    def _show(self, index: int, section: Section, partial: str, deadline: float) -> bool:
        part = self.rows[index]
        size = (section.chars, len(self._partial))
        if part.shown == size and part.rows:
            return False
        grows = section.kind in {Kind.FENCE, Kind.INDENTED, Kind.TABLE} and section.lines
        is_short = not grows and sum(size) <= OPEN_BUDGET
        if is_short and not self._is_ready(section.source + partial, deadline):
            return True
        is_whole = is_short and self._format(index, section, partial)
        more = not is_whole and self._grow(index, section, partial, deadline)
        if not more:
            part.shown = size
        return more

    def _is_ready(self, source: str, deadline: float) -> bool:
        """Whether all is loaded that a section needs."""
        return is_ready(source, self._canvas, deadline) and lexers_are_ready(source)

    def _format(self, index: int, section: Section, partial: str) -> bool:
        """Show a short section as it will look if it ends here; False if that costs too much."""
        whole = replace(section, lines=[*section.lines, partial] if partial else section.lines)
        if costs_too_much_open(whole.source):
            return False
        self.rows.painted_chars += section.chars + len(partial)
        rows = [row for row in section_rows(whole, self._canvas) if row is not None]
        self.rows.set_rows(index, rows)
        self.rows[index].rows_for = self._canvas
        return True

    def _grow(self, index: int, section: Section, partial: str, deadline: float) -> bool:
        part = self.rows[index]
        before = part.height
        if part.growing is None:
            part.growing = growing(section, self._canvas)
        else:
            part.growing.settled = len(part.growing.rows)
        more = part.growing.update(section, partial, deadline)
        part.rows, part.rows_for = part.growing.rows, self._canvas
        new = part.rows[part.growing.settled :]
        self.rows.painted_chars += sum(len(row.text) for row in new)
        self.rows.resized(index, part.growing.settled, before)
        return more

    def restyle(self, canvas: Canvas, first: int) -> None:
        """Paint everything again, the rows from `first` on before the others."""
        self._canvas = canvas
        start = min(self.rows.find(first), self._queued) if self.rows else 0
        self._jobs.restart(canvas, [*range(start, self._queued), *range(start)])
        self.rows.forget_looks()


async def links_in(markdown: str) -> list[FoundLink]:
    """Return the links of a Markdown text in order, each address once.

    The text is painted off screen, so that exactly the clickable links are found.
    """
    painter = MarkdownPainter(Canvas(_LIST_WIDTH, Palette()))
    painter.append(markdown)
    painter.finish()
    while painter.work(monotonic() + _SLICE_S):
        await anyio.lowlevel.checkpoint()
    links: dict[str, FoundLink] = {}
    first = 0
    while first < painter.rows.row_count:
        end = min(first + _ROWS_AT_ONCE, painter.rows.row_count)
        while end < painter.rows.row_count and painter.rows.row(end).join is not None:
            end += 1
        for link in links_of(painter.rows.row(number) for number in range(first, end)):
            links.setdefault(link.address, link)
        first = end
        await anyio.lowlevel.checkpoint()
    return list(links.values())
