"""Code blocks: a language label, highlighted lines on a background, hard wraps."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Protocol

from rich.segment import Segment
from rich.style import Style

from ollm_tui.tui.widgets.painters.palette import Canvas, Palette
from ollm_tui.tui.widgets.painters.plain import GrowingTail, GrowingText, plain_rows
from ollm_tui.tui.widgets.painters.rows import Row, Span
from ollm_tui.tui.widgets.painters.wrap import wrap_spans


class Lexer(Protocol):
    """What is used of a Pygments lexer, which has no types of its own."""

    def get_tokens(self, text: str) -> Iterable[tuple[tuple[str, ...], str]]:
        """Cut code into typed pieces."""
        ...


LONGEST_LINE = 2000
"""Code lines beyond this are shown without colours."""
MOST_LINES = 2000
MOST_CHARS = 100_000
"""Colours end here in one block."""
_OPEN_CHUNK = 24
_PAD = " "

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


@lru_cache(maxsize=64)
def find_lexer(language: str) -> Lexer | None:
    """The lexer of a language name, None when there is none."""
    if not language or len(language) > 40:
        return None
    # Imported with the first code block: the lexer table costs 15 ms no first screen needs.
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]  # has no types
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]  # has no types

    try:
        lexer: Lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    return lexer


@cache
def _meaning(token: tuple[str, ...]) -> str:
    while token:
        if token in _STYLES:
            return _STYLES[token]
        token = token[:-1]
    return ""


def _style(token: tuple[str, ...], palette: Palette) -> Style:
    name = _meaning(tuple(token))
    style = getattr(palette, name) if name else None
    return palette.block + style if isinstance(style, Style) else palette.block


def highlighted(lines: Sequence[str], language: str, palette: Palette) -> Iterator[list[Span]]:
    """The spans of each line, lexed as one text so that strings and comments may span lines."""
    lexer = find_lexer(language)
    if lexer is None:
        yield from ([(line, palette.block)] for line in lines)
        return
    line_spans: list[Span] = []
    count = 0
    for token, value in lexer.get_tokens("\n".join(lines)):
        style = _style(token, palette)
        first, *others = value.split("\n")
        if first:
            line_spans.append((first, style))
        for text in others:
            yield line_spans
            count += 1
            line_spans = [(text, style)] if text else []
    if count < len(lines):
        yield line_spans


def line_rows(spans: Sequence[Span], canvas: Canvas) -> Iterator[Row]:
    """One line of code, broken where it no longer fits."""
    block = canvas.palette.block
    pad = Segment(_PAD, block)
    for segments, join in wrap_spans(spans, canvas.width - 2, words=False):
        yield Row((pad, *segments), gutter=1, join=join, fill=block)


def long_line_rows(line: str, canvas: Canvas) -> Iterator[Row]:
    """A line too long for colours."""
    block = canvas.palette.block
    pad = Segment(_PAD, block)
    for row in plain_rows(line, canvas.width - 2, block, words=False):
        yield Row((pad, *row.segments), gutter=1, join=row.join, fill=block)


def label_row(language: str, canvas: Canvas) -> Row:
    """The language above the code; no part of a copy."""
    block = canvas.palette.block
    text = f" {language[: max(canvas.width - 2, 1)]}"
    return Row((Segment(text, block + canvas.palette.label),), gutter=len(text), fill=block)


def _colourable(lines: Sequence[str]) -> int:
    """How many lines from the start get colours."""
    chars = 0
    for number, line in enumerate(islice(lines, MOST_LINES)):
        chars += len(line)
        if len(line) > LONGEST_LINE or chars > MOST_CHARS:
            return number
    return min(len(lines), MOST_LINES)


def code_rows(lines: Sequence[str], language: str, canvas: Canvas) -> Iterator[Row]:
    """A whole code block from its lines without the fences."""
    if language:
        yield label_row(language, canvas)
    if not lines and not language:
        lines = [""]
    coloured = _colourable(lines)
    done = 0
    for spans in highlighted(lines[:coloured], language, canvas.palette):
        done += 1
        yield from line_rows(spans, canvas)
    for line in lines[done:]:
        yield from long_line_rows(line, canvas)
    if coloured < len(lines) and find_lexer(language) is not None:
        yield note_row(f"no colours beyond line {coloured}", canvas)


def note_row(text: str, canvas: Canvas) -> Row:
    """A remark of the app below a block that is too big to format; no part of a copy."""
    shown = f"· {text}"
    return Row((Segment(shown, canvas.palette.dim),), gutter=len(shown))


class GrowingCode:
    """A code block that is still written: finished lines are painted once, a chunk at a time.

    Colours come from the chunk alone, so a string that spans chunks may look wrong until the
    block is closed and painted as a whole.
    """

    def __init__(self, language: str, canvas: Canvas) -> None:
        self.rows: list[Row] = [label_row(language, canvas)] if language else []
        self.settled = 0
        self._language = language
        self._canvas = canvas
        self._start = 0
        self._start_row = len(self.rows)
        self._tail: GrowingTail | None = None

    def update(self, lines: Sequence[str], partial: str) -> bool:
        """Paint a chunk of `lines` and the unfinished one; True when there are more chunks."""
        chunk = lines[self._start : self._start + _OPEN_CHUNK]
        for number, line in enumerate(chunk):
            if len(line) > LONGEST_LINE:
                self._pass_long(chunk[:number], line)
                return True
        if len(chunk) == _OPEN_CHUNK:
            self._paint(chunk, "")
            self._pass(len(chunk))
            return True
        if len(partial) > LONGEST_LINE:
            return self._grow_tail(chunk, partial)
        self._tail = None
        self._paint(chunk, partial)
        return False

    def _pass(self, count: int) -> None:
        """Never look at these lines again."""
        self._start += count
        self._start_row = len(self.rows)
        self._tail = None

    def _pass_long(self, before: Sequence[str], line: str) -> None:
        if not self._grow_tail(before, line):
            self._pass(len(before) + 1)

    def _paint(self, lines: Sequence[str], partial: str) -> None:
        self.settled = min(self.settled, self._start_row)
        del self.rows[self._start_row :]
        shown = [*lines, partial] if partial else list(lines)
        if self._start >= MOST_LINES:
            for line in shown:
                self.rows += long_line_rows(line, self._canvas)
            return
        for spans in highlighted(shown, self._language, self._canvas.palette) if shown else ():
            self.rows += line_rows(spans, self._canvas)

    def _grow_tail(self, before: Sequence[str], line: str) -> bool:
        if self._tail is None:
            self._paint(before, "")
            text = GrowingText(self._canvas.width - 2, self._canvas.palette.block, words=False)
            self._tail = GrowingTail(self.rows, text, self._dressed)
        more = self._tail.update(line)
        self.settled = min(self.settled, self._tail.settled)
        return more

    def _dressed(self, row: Row) -> Row:
        block = self._canvas.palette.block
        return Row((Segment(_PAD, block), *row.segments), gutter=1, join=row.join, fill=block)
