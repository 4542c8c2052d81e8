"""Paints a JSON value as a tree whose objects and lists fold."""

import json
from collections.abc import Iterator
from time import monotonic
from typing import Final

from rich.segment import Segment

from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import counted
from ollm_tui.decode.json_guard import BadJson, parse_json, unfenced
from ollm_tui.decode.json_tree import MAX_LINES, JsonTree, Path, TreeLine
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.tui.painters.painter import Change, Painter, RowList, WholePainter
from ollm_tui.tui.painters.rows import Canvas, Palette, Row, Span
from ollm_tui.tui.painters.wrapping import wrap_spans

MAX_CHARS: Final = 100_000
"""A longer text is shown as it is: reading it would hold up the keys."""
_MAX_VALUE_LENGTH: Final = 4_000
_MAX_KEY_LENGTH: Final = 200
_INDENT: Final = 2


class TreePainter(WholePainter):
    """Paints a tree as it is at the time; `repaint` asks for that after it has changed."""

    def __init__(self, canvas: Canvas, tree: JsonTree) -> None:
        self._canvas = canvas
        self._tree = tree
        self.rows = RowList()
        self._paths: list[Path | None] = []
        self.repaint()

    def repaint(self) -> None:
        """Paint the tree again with the next slices; until then the old rows are shown."""
        self._todo: Iterator[tuple[Row, Path | None]] | None = self._painted()
        self._next: list[tuple[Row, Path | None]] = []

    def restyle(self, canvas: Canvas, first: int) -> None:
        """Paint it again with the next slices."""
        del first
        self._canvas = canvas
        self.repaint()

    def path_at(self, row: int) -> Path | None:
        """Return the object or list that a row folds, if it does."""
        return self._paths[row] if 0 <= row < len(self._paths) else None

    def work(self, deadline: float) -> bool:
        """Paint until the deadline; the new rows replace the old ones when all are there."""
        if self._todo is None:
            return False
        for painted in self._todo:
            self._next.append(painted)
            if monotonic() >= deadline:
                return True
        self.rows.items = [row for row, _path in self._next]
        self._paths = [path for _row, path in self._next]
        self._todo, self._next = None, []
        self.rows.touch(Change(0, None))
        return False

    def _painted(self) -> Iterator[tuple[Row, Path | None]]:
        dim = self._canvas.palette.dim
        for number, line in enumerate(self._tree.lines()):
            if number == MAX_LINES:
                yield (
                    Row((Segment("… more is not shown; a copy of the message has all", dim),)),
                    None,
                )
                return
            yield from self._line_rows(line)

    def _line_rows(self, line: TreeLine) -> Iterator[tuple[Row, Path | None]]:
        palette, width = self._canvas.palette, self._canvas.width
        depth = max(len(line.path) - 1, 0)
        before = " " * min(depth * _INDENT, width // 2)
        sign = ("▾ " if line.is_open else "▸ ") if line.folds else "  "
        gutter = len(before) + len(sign)
        for segments, join in wrap_spans(_spans(line, palette), max(width - gutter, 1)):
            head = Segment(before + (sign if join is None else "  "), palette.dim)
            row = Row((head, *segments), gutter=gutter, join=join)
            yield row, line.path if line.folds else None


def _spans(line: TreeLine, palette: Palette) -> list[Span]:
    """Return the words of a line with their styles."""
    label = f"[{line.path[-1]}]" if line.path else ""
    if line.key is not None:
        label = clean_line(line.key[:_MAX_KEY_LENGTH]) or '""'
    spans: list[Span] = [(label, palette.text + (palette.name if line.key else palette.dim))]
    if line.is_open:
        return spans
    if line.folds:
        size = len(line.value) if isinstance(line.value, dict | list) else 0
        what = counted(size, "key" if isinstance(line.value, dict) else "item")
        return [*spans, (f"  {what}", palette.dim)]
    return [*spans, (": " if label else "", palette.dim), _scalar(line.value, palette)]


def _scalar(value: JsonValue, palette: Palette) -> Span:
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > _MAX_VALUE_LENGTH:
        text = f"{text[:_MAX_VALUE_LENGTH]}…"
    match value:
        case str():
            style = palette.string
        case bool() | None:
            style = palette.keyword
        case _:
            style = palette.number
    return clean_line(text), palette.text + style


class TreeSource:
    """The text of an answer that is JSON as the source of a block."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = _tree_of(text)
        """None for a text that is shown as it is."""

    @property
    def size(self) -> int:
        """Another number than that of the text alone, since it is shown in another way."""
        return len(self.text) + 1

    def painter(self, canvas: Canvas) -> Painter:
        """A painter of the tree, or of the text if it is no tree."""
        if self.tree is not None:
            return TreePainter(canvas, self.tree)
        # Loaded with the first answer; nothing else here needs it.
        from ollm_tui.tui.painters.markdown import MarkdownPainter

        painter = MarkdownPainter(canvas)
        painter.append(f"```json\n{unfenced(self.text)}\n```")
        painter.finish()
        return painter

    def estimate(self, canvas: Canvas) -> int:
        """One row for each line of the tree."""
        if self.tree is None:
            return self.text.count("\n") + 3 + len(self.text) // max(canvas.width, 1)
        return sum(1 for _line, _number in zip(self.tree.lines(), range(MAX_LINES), strict=False))

    def unfolded(self) -> "TreeSource":
        """Return the same with everything open."""
        whole = TreeSource(self.text)
        if whole.tree is not None:
            whole.tree.unfold()
        return whole


def _tree_of(text: str) -> JsonTree | None:
    if len(text) > MAX_CHARS:
        return None
    try:
        return JsonTree(parse_json(unfenced(text)))
    except BadJson:
        return None
