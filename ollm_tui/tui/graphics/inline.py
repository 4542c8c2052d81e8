"""Pictures by protocols that draw pixels at the cursor: sixel, and that of iTerm2.

The rows of such a picture are text for the app: cells with a placeholder character, whose combining
marks say which cell of which picture they are. So they scroll, are covered and cut off as text is.
On their way to the terminal, what is to be seen of a row is replaced by its pixels; so pixels are
sent when the app draws their cells, and at no other time.
"""

from base64 import b64encode
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from io import BytesIO
from itertools import count
from threading import Lock
from typing import Final, Literal, Protocol, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re
from ollm_tui.tui.graphics.kitty import MAX_KEPT, NUMBERS, PLACEHOLDER
from ollm_tui.tui.graphics.protocols import CellSize
from ollm_tui.tui.graphics.sixel import IndexedPixels, sixels, with_palette

InlineProtocol: TypeAlias = Literal["iterm", "sixel"]
MAX_BYTES: Final = 32 * 2**20
"""The size of all pictures that are kept, as they are sent."""
_MARK: Final = f"[{NUMBERS}]"
_CELL: Final = lazy_re(f"{PLACEHOLDER}({_MARK})({_MARK})({_MARK})")
_RUN: Final = lazy_re(f"(?:{_CELL.pattern})+")
_NUMBER: Final[Mapping[str, int]] = {mark: number for number, mark in enumerate(NUMBERS)}
_CUT_ROWS: Final = 64  # rows that are kept as they look behind a dialog
_SAVE, _RESTORE = "\x1b7", "\x1b8"


def inline_cells(picture_id: int, row: int, columns: int) -> str:
    """Return the text of one row of a picture."""
    ends = NUMBERS[picture_id % len(NUMBERS)]
    return "".join(
        f"{PLACEHOLDER}{NUMBERS[row]}{NUMBERS[column]}{ends}" for column in range(columns)
    )


@dataclass(frozen=True, slots=True)
class PixelRows:
    """A picture in the pixels of its cells: three bytes a pixel, line by line from the top."""

    rgb: bytes
    columns: int
    rows: int
    cell: CellSize

    @property
    def width(self) -> int:
        """Pixels across."""
        return self.columns * self.cell.width

    @property
    def height(self) -> int:
        """Pixels from top to bottom."""
        return self.rows * self.cell.height


class _Painter(Protocol):
    """Makes what draws a part of a row at the cursor."""

    def part(self, row: int, first: int, end: int) -> str: ...

    size: int


class _SixelPainter:
    def __init__(self, picture: PixelRows) -> None:
        self._cell = picture.cell
        self._image: IndexedPixels = with_palette(picture.rgb, picture.width, picture.height)
        self.size = len(self._image.pixels)

    def part(self, row: int, first: int, end: int) -> str:
        width, height = self._cell
        lines = range(row * height, (row + 1) * height)
        return sixels(self._image, range(first * width, end * width), lines)


class _ItermPainter:
    def __init__(self, picture: PixelRows) -> None:
        self._picture = picture
        self.size = len(picture.rgb)

    def part(self, row: int, first: int, end: int) -> str:
        # Loaded by now: it has decoded the picture.
        from PIL import Image

        width, height = self._picture.cell
        line = 3 * self._picture.width
        whole = self._picture.rgb[row * height * line : (row + 1) * height * line]
        image = Image.frombytes("RGB", (self._picture.width, height), whole)
        out = BytesIO()
        image.crop((first * width, 0, end * width, height)).save(out, "PNG", compress_level=1)
        data = out.getvalue()
        keys = f"inline=1;size={len(data)};width={end - first};height=1;preserveAspectRatio=0"
        return f"\x1b]1337;File={keys};doNotMoveCursor=1:{b64encode(data).decode()}\x07"


class _Inline:
    """One picture, with its whole rows ready to be sent."""

    def __init__(self, painter: _Painter, columns: int, rows: int) -> None:
        self._columns = columns
        self._whole = [painter.part(row, 0, columns) for row in range(rows)]
        self._cut = lru_cache(_CUT_ROWS)(painter.part)
        self.size = painter.size + sum(map(len, self._whole))

    def part(self, row: int, first: int, end: int) -> str:
        """Return what draws a part of a row; nothing of a row that there is not."""
        if row >= len(self._whole) or not first < end <= self._columns:
            return ""
        is_whole = (first, end) == (0, self._columns)
        return self._whole[row] if is_whole else self._cut(row, first, end)


class InlinePictures:
    """The pictures that are replaced on their way to the terminal; may be used from any thread."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, _Inline] = OrderedDict()
        self._ids = count(1)
        self._lock = Lock()

    def __len__(self) -> int:
        """How many pictures are kept."""
        return len(self._kept)

    def has(self, picture_id: int) -> bool:
        """Whether a picture is still kept."""
        return picture_id in self._kept

    def keep(self, picture: PixelRows, protocol: InlineProtocol) -> int:
        """Keep a picture and return its id. Takes up to a second: call it in a thread."""
        painter = _SixelPainter(picture) if protocol == "sixel" else _ItermPainter(picture)
        made = _Inline(painter, picture.columns, picture.rows)
        with self._lock:
            used = {number % len(NUMBERS) for number in self._kept}
            picture_id = next(one for one in self._ids if one % len(NUMBERS) not in used)
            self._kept[picture_id] = made
            while len(self._kept) > 1 and self._is_full():
                self._kept.popitem(last=False)
            return picture_id

    def _is_full(self) -> bool:
        size = sum(one.size for one in self._kept.values())
        return len(self._kept) > MAX_KEPT or size > MAX_BYTES

    def forget(self, picture_id: int) -> None:
        """Keep a picture no longer; a no-op if it is not kept."""
        with self._lock:
            self._kept.pop(picture_id, None)

    def drawn(self, text: str, *, blank: bool = False) -> str:
        """Return what goes to the terminal in place of a text: pixels, or blanks for the cells."""
        with self._lock:
            by_mark = {number % len(NUMBERS): one for number, one in self._kept.items()}
        pictures = {} if blank else by_mark
        return _RUN.sub(lambda run: "".join(_drawn(run[0], pictures)), text)


def _drawn(run: str, pictures: Mapping[int, _Inline]) -> Iterator[str]:
    for number, row, first, end in _parts(run):
        cells = " " * (end - first)
        picture = pictures.get(number)
        pixels = picture.part(row, first, end) if picture is not None else ""
        if pixels:
            # The blanks remove what was there; where the pixels leave the cursor differs.
            there = f"{_SAVE}{cells}{_RESTORE}{_SAVE}{pixels}{_RESTORE}"
            yield f"{there}\x1b[{end - first}C"
        else:
            yield cells


def _parts(run: str) -> Iterator[tuple[int, int, int, int]]:
    """Return the parts of rows among adjacent cells: picture, row, first column and end."""
    part: tuple[int, int, int, int] | None = None
    for cell in _CELL.finditer(run):
        row, column, number = (_NUMBER[mark] for mark in cell.groups())
        if part is not None and part[:2] == (number, row) and part[3] == column:
            part = *part[:3], column + 1
            continue
        if part is not None:
            yield part
        part = number, row, column, column + 1
    if part is not None:
        yield part
