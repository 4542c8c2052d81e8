"""Compare what a terminal shows with what the whole screen would look like, frame by frame."""

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.styled_terminal import Cell, Pen, StyledTerminal

Resize = tuple[int, tuple[int, int]]
"""After how many bytes of output a terminal took which size, as columns and rows."""


@dataclass
class Comparison:
    """What a session showed, and where it differed from what it should have shown."""

    resizes: Sequence[Resize]
    checked: int = 0
    wrong: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def of(self, output: bytes) -> "Comparison":
        """Compare all the pictures that the output holds."""
        (_, size), *later = self.resizes
        terminal = StyledTerminal(*size, on_string=lambda text: self._compare(terminal, text))
        at = 0
        for place, size in later:
            terminal.feed(output[at:place])
            terminal.resize(*size)
            at = place
        terminal.feed(output[at:])
        self.unknown = terminal.unknown
        return self

    def _compare(self, terminal: StyledTerminal, packed: str) -> None:
        told = unpacked(packed)
        columns, rows = told["size"]
        if (columns, rows) != (terminal.columns, terminal.rows):
            return
        self.checked += 1
        whole = whole_screen(told)
        wrong = [
            f"frame {self.checked}, row {y}: {difference(shown, right)}"
            for y, (shown, right) in enumerate(zip(terminal.cells, whole.cells, strict=True))
            if y not in told["live"] and seen(shown) != seen(right)
        ]
        if [terminal.x, terminal.y] != told["cursor"]:
            wrong.append(f"frame {self.checked}: cursor {terminal.x}, {terminal.y}")
        if (terminal.top, terminal.bottom) != (0, rows - 1):
            wrong.append(f"frame {self.checked}: scrolls {terminal.top} to {terminal.bottom}")
        self.wrong += wrong


def unpacked(packed: str | bytes) -> Any:
    """What the program told of a picture."""
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def whole_screen(told: Any) -> StyledTerminal:
    """Show the picture that the program told."""
    terminal = StyledTerminal(*told["size"])
    terminal.feed(told["ansi"].encode())
    return terminal


def seen(row: Sequence[Cell]) -> list[tuple[object, ...]]:
    """What a person sees of a row: a blank has no colour of its own."""
    return [_seen(text, pen) for text, pen in row]


def _seen(text: str, pen: Pen) -> tuple[object, ...]:
    lines = pen.attributes & {"underline", "strike"}
    if text != " " or lines:
        return text, pen
    return text, pen.colour if "reverse" in pen.attributes else pen.background, pen.link


def difference(shown: Sequence[Cell], right: Sequence[Cell]) -> str:
    """Say where two rows differ first, and show both."""
    pairs = enumerate(zip(seen(shown), seen(right), strict=True))
    x = next(x for x, (one, other) in pairs if one != other)
    texts = ["".join(text for text, _ in row).rstrip() for row in (shown, right)]
    if texts[0] == texts[1]:
        return f"column {x} looks like {shown[x]}, not {right[x]}, in {texts[0]!r}"
    return f"from column {x} {texts[0]!r}, not {texts[1]!r}"
