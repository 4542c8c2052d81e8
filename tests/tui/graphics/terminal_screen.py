"""What a terminal shows of text with pixels in it: a line of cells, and the pixels over them."""

import re
from base64 import b64decode
from collections.abc import Iterator
from io import BytesIO

from tests.decode.drawn import Image
from tests.support.vt import tokens

Pixels = list[list[tuple[int, int, int] | None]]
"""Lines of pixels; None where nothing is drawn."""
_COMMAND = re.compile(r"#(\d+);2;(\d+);(\d+);(\d+)|#(\d+)|!(\d+)([?-~])|([?-~])|([$-])")
_SIXEL = re.compile(r'\x1bP0;1;0q"1;1;(\d+);(\d+)([^\x1b]*)\x1b\\')
_ITERM = re.compile(r"\x1b\]1337;File=([^:]*):([^\x07]*)\x07")


def decoded_sixels(raw: str) -> Pixels:
    """The pixels of one sixel string, which holds nothing else."""
    match = _SIXEL.fullmatch(raw)
    assert match is not None, raw[:80]
    width, height, body = int(match[1]), int(match[2]), match[3]
    commands = list(_COMMAND.finditer(body))
    assert "".join(one[0] for one in commands) == body
    pixels: Pixels = [[None] * width for _ in range(height)]
    palette: dict[int, tuple[int, int, int]] = {}
    x = y = colour = 0
    for one in commands:
        if one[1]:
            red, green, blue = (round(int(value) * 2.55) for value in one.group(2, 3, 4))
            palette[int(one[1])] = red, green, blue
        elif one[5]:
            colour = int(one[5])
        elif one[9]:
            x, y = 0, y + 6 * (one[9] == "-")
        else:
            bits, end = ord(one[7] or one[8]) - 63, x + int(one[6] or 1)
            for line in range(6):
                if bits >> line & 1:
                    pixels[y + line][x:end] = [palette[colour]] * (end - x)
            x = end
    return pixels


def decoded_iterm(raw: str) -> tuple[dict[str, str], Pixels]:
    """The keys and the pixels of a picture by iTerm2's protocol."""
    match = _ITERM.fullmatch(raw)
    assert match is not None, raw[:80]
    data = b64decode(match[2], validate=True)
    with Image.open(BytesIO(data), formats=["PNG"]) as image:
        width, height = image.size
        rgb: bytes = image.convert("RGB").tobytes()
        flat = [(rgb[at], rgb[at + 1], rgb[at + 2]) for at in range(0, len(rgb), 3)]
    keys = dict(key.split("=") for key in match[1].split(";"))
    assert keys["size"] == str(len(data))
    return keys, [list(flat[line * width : (line + 1) * width]) for line in range(height)]


def shown(text: str) -> tuple[str, dict[int, Pixels]]:
    """The line of cells, and the pixels by first column; a picture leaves the cursor lost."""
    cells: list[str] = []
    pixels: dict[int, Pixels] = {}
    cursor: int | None = 0
    kept = 0
    for token in tokens(text.encode()):
        if token.kind == "text":
            assert cursor is not None
            cells += " " * (cursor + len(token.raw) - len(cells))
            cells[cursor : cursor + len(token.raw)] = token.raw
            for column in range(cursor, cursor + len(token.raw)):
                pixels.pop(column, None)
            cursor += len(token.raw)
        elif token.raw == "\x1b7":
            assert cursor is not None
            kept = cursor
        elif token.raw == "\x1b8":
            cursor = kept
        elif forward := re.fullmatch(r"\x1b\[(\d+)C", token.raw):
            assert cursor is not None
            cursor += int(forward[1])
        else:
            assert cursor is not None
            is_sixel = token.raw.startswith("\x1bP")
            pixels[cursor] = decoded_sixels(token.raw) if is_sixel else decoded_iterm(token.raw)[1]
            cursor = None
    assert cursor == len(cells)
    return "".join(cells), pixels


def strings(raw: bytes, start: str) -> Iterator[str]:
    """The strings that reached a terminal and begin so."""
    return (one.raw for one in tokens(raw) if one.kind == "string" and one.raw.startswith(start))
