"""Code blocks: a language label, highlighted lines on a background, hard wraps."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice
from time import monotonic
from typing import Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from ollm_tui.decode.lexing import find_lexer, is_loaded, tokens
from ollm_tui.tui.painters.plain import GrowingTail, GrowingText, plain_rows
from ollm_tui.tui.painters.rows import Canvas, Palette, Row, Span, Step, copy_style
from ollm_tui.tui.painters.sections import Kind, Section
from ollm_tui.tui.painters.wrapping import wrap_spans
from ollm_tui.tui.widgets import cut

MAX_LINE_LENGTH = 2000
"""Code lines beyond this are shown without colours."""
MAX_LINES = 50_000
MAX_CHARS = 2_000_000
"""Colours end here in one block."""
OPEN_LINES = 2000
"""Colours end here while a block is open; it gets the others when it is closed."""
_OPEN_CHUNK = 24
_OPEN_CHARS = 4096
_AT_ONCE = 1024
_FENCES: Final = re.compile(r"^[ \t>*+\-0-9.)]*(?:`{3,}|~{3,})[ \t]*([^\s`]+)", re.MULTILINE)
"""The language of a code block, wherever it stands."""
_PAD = " "
_COPY = "copy"

_STYLES: dict[tuple[str, ...], str] = {
    ("Keyword",): "keyword",
    ("Operator", "Word"): "keyword",
    ("Name", "Function"): "name",
    ("Name", "Class"): "name",
    ("Name", "Builtin"): "name",
    ("Name", "Decorator"): "name",
    ("Name", "Tag"): "keyword",
    ("Name", "Attribute"): "name",
    ("Literal", "String"): "string",
    ("Literal", "Number"): "number",
    ("Comment",): "comment",
    ("Generic", "Inserted"): "inserted",
    ("Generic", "Deleted"): "deleted",
    ("Generic", "Heading"): "name",
    ("Generic", "Subheading"): "name",
}


@cache
def _meaning(token: tuple[str, ...]) -> str:
    while token:
        if token in _STYLES:
            return _STYLES[token]
        token = token[:-1]
    return ""


def _styles(palette: Palette) -> dict[str, Style]:
    """The style of each meaning on the background of a block: one object for one look."""
    names = set(_STYLES.values())
    return {"": palette.block, **{name: palette.block + getattr(palette, name) for name in names}}


def highlighted(lines: Sequence[str], language: str, palette: Palette) -> Iterator[list[Span]]:
    """The spans of each line, lexed as one text so that strings and comments may span lines.

    Some lexers lose characters. It ends before the first line that would not be shown as it is.
    """
    styles = _styles(palette)
    line_spans: list[Span] = []
    count = 0
    for token, value in tokens(language, "\n".join(lines)):
        style = styles[_meaning(tuple(token))]
        first, *others = value.split("\n")
        if line_spans and line_spans[-1][1] is style:
            line_spans[-1] = (line_spans[-1][0] + first, style)
        elif first:
            line_spans.append((first, style))
        for text in others:
            if not _shows(line_spans, lines, count):
                return
            yield line_spans
            count += 1
            line_spans = [(text, style)] if text else []
    if _shows(line_spans, lines, count):
        yield line_spans


def code_meanings(text: str, language: str) -> Sequence[str]:
    """Return what each character of code is, such as `keyword`; empty where it is nothing known."""
    meanings: list[str] = []
    if len(text) <= MAX_CHARS:
        for token, value in tokens(language, text):
            if not text.startswith(value, len(meanings)):  # some lexers lose characters
                break
            meanings += [_meaning(tuple(token))] * len(value)
    return [*meanings[: len(text)], *([""] * (len(text) - len(meanings)))]


def lexers_are_ready(markdown: str) -> bool:
    """Whether the lexers of all code blocks of a text are loaded; loads the next one."""
    return all(is_loaded(language) for language in _FENCES.findall(markdown))


def _shows(spans: Sequence[Span], lines: Sequence[str], number: int) -> bool:
    return number < len(lines) and "".join([text for text, _style in spans]) == lines[number]


def _line_row(segments: Iterable[Segment], join: str | None, block: Style) -> Row:
    return Row((Segment(_PAD, block), *segments), gutter=1, join=join, fill=block)


def line_rows(spans: Sequence[Span], canvas: Canvas) -> Iterator[Row]:
    """One line of code, broken where it no longer fits."""
    for segments, join in wrap_spans(spans, canvas.width - 2, words=False):
        yield _line_row(segments, join, canvas.palette.block)


def long_line_rows(line: str, canvas: Canvas) -> Iterator[Row]:
    """A line too long for colours."""
    block = canvas.palette.block
    for row in plain_rows(line, canvas.width - 2, block, words=False):
        yield _line_row(row.segments, row.join, block)


def label_row(language: str, canvas: Canvas) -> Row:
    """The language above the code, and the word that copies it; never part of a copy."""
    look = canvas.palette.block + canvas.palette.label
    left = f" {cut(language, canvas.width - len(_COPY) - 4)}"
    gap = " " * max(canvas.width - cell_len(left) - len(_COPY) - 1, 1)
    text = (Segment(left + gap, look), Segment(_COPY, copy_style(look)), Segment(" ", look))
    gutter = len(left + gap) + len(_COPY) + 1
    return Row(text, gutter=gutter, fill=canvas.palette.block, aside=True)


def code_rows(lines: Iterable[str], language: str, canvas: Canvas) -> Iterator[Step]:
    """A whole code block from its lines without the fences."""
    yield label_row(language, canvas)
    rest = iter(lines)
    coloured: list[str] = []
    stopper: str | None = None
    while not is_loaded(language):
        yield None
    if find_lexer(language) is not None:
        chars = 0
        for line in rest:
            chars += len(line)
            if len(line) > MAX_LINE_LENGTH or chars > MAX_CHARS or len(coloured) == MAX_LINES:
                stopper = line
                break
            coloured.append(line)
            if len(coloured) % _AT_ONCE == 0:
                yield None
        done = 0
        lexed_as = language if canvas.highlights else ""
        for spans in highlighted(coloured, lexed_as, canvas.palette):
            done += 1
            yield from line_rows(spans, canvas)
        rest = chain(coloured[done:], [] if stopper is None else [stopper], rest)
    yield from plain_code_rows(rest, canvas, at_least=not (language or coloured))
    if stopper is not None:
        yield note_row(f"no colours beyond line {len(coloured)}", canvas)


def plain_code_rows(lines: Iterable[str], canvas: Canvas, *, at_least: bool) -> Iterator[Row]:
    """Lines without colours; an empty one if `at_least` and there is none."""
    for line in lines:
        at_least = False
        yield from long_line_rows(line, canvas)
    if at_least:
        yield from long_line_rows("", canvas)


def note_row(text: str, canvas: Canvas) -> Row:
    """A remark of the app below a block that is too big to format; never part of a copy."""
    shown = f"· {text}"
    return Row((Segment(shown, canvas.palette.dim),), gutter=len(shown))


def code_lines(section: Section, start: int = 0) -> Iterator[str]:
    """The code of a code section from a line on, without fences and their indentation."""
    indent = 4 if section.kind is Kind.INDENTED else section.indent
    for number in range(start + (section.kind is Kind.FENCE), len(section.lines)):
        line = section.lines[number]
        yield line[min(indent, len(line) - len(line.lstrip(" "))) if indent else 0 :]


class GrowingCode:
    """An open code block: finished lines are painted once, a chunk at a time.

    Colours come from the chunk alone, so a string that spans chunks may look wrong until the
    block is closed and painted as a whole.
    """

    def __init__(self, section: Section, canvas: Canvas) -> None:
        self.rows: list[Row] = [label_row(section.language, canvas)]
        self.settled = 0
        self._language = section.language
        self._canvas = canvas
        self._lines: list[str] = []
        self._start = 0
        self._start_row = len(self.rows)
        self._tail: GrowingTail | None = None
        self._is_plain = not is_loaded(self._language)

    def update(self, section: Section, partial: str, deadline: float) -> bool:
        """Paint what is new, without colours until there is a lexer; True when there is more."""
        if self._is_plain and is_loaded(self._language):
            self._is_plain = False
            self._start, self._start_row, self._tail = 0, 1, None
        lines = code_lines(section, len(self._lines))
        more = True
        while more:
            self._lines += islice(lines, _AT_ONCE)
            waits = len(self._lines) < len(section.lines) - (section.kind is Kind.FENCE)
            more = self._paint_chunk("" if waits else partial) or waits
            if monotonic() >= deadline:
                break
        return more or self._is_plain

    def _paint_chunk(self, partial: str) -> bool:
        """Paint a chunk of lines and the unfinished one; True when there are more chunks."""
        chunk: list[str] = []
        size = 0
        for line in self._lines[self._start : self._start + _OPEN_CHUNK]:
            if len(line) > MAX_LINE_LENGTH:
                if not self._grow_tail(chunk, line):
                    self._pass(len(chunk) + 1)
                return True
            chunk.append(line)
            size += len(line)
            if size > _OPEN_CHARS or len(chunk) == _OPEN_CHUNK:
                self._paint(chunk, "")
                self._pass(len(chunk))
                return True
        if len(partial) > MAX_LINE_LENGTH:
            return self._grow_tail(chunk, partial)
        self._tail = None
        self._paint(chunk, partial)
        return False

    def _pass(self, count: int) -> None:
        """Mark lines as painted for good."""
        self._start += count
        self._start_row = len(self.rows)
        self._tail = None

    def _paint(self, lines: Sequence[str], partial: str) -> None:
        self.settled = min(self.settled, self._start_row)
        del self.rows[self._start_row :]
        shown = [*lines, partial] if partial else list(lines)
        if self._start >= OPEN_LINES:
            for line in shown:
                self.rows += long_line_rows(line, self._canvas)
            return
        done = 0
        language = "" if self._is_plain else self._language
        for spans in highlighted(shown, language, self._canvas.palette):
            self.rows += line_rows(spans, self._canvas)
            done += 1
        self.rows += plain_code_rows(shown[done:], self._canvas, at_least=False)

    def _grow_tail(self, before: Sequence[str], line: str) -> bool:
        if self._tail is None:
            self._paint(before, "")
            text = GrowingText(self._canvas.width - 2, self._canvas.palette.block, words=False)
            self._tail = GrowingTail(self.rows, text, self._dressed)
        more = self._tail.update(line)
        self.settled = min(self.settled, self._tail.settled)
        return more

    def _dressed(self, row: Row) -> Row:
        return _line_row(row.segments, row.join, self._canvas.palette.block)
