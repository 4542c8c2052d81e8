"""Cut terminal output into text and escape sequences, strictly, and name the shape of each.

A foreign text that reaches the terminal uncleaned adds a shape that a benign run of the same screen
does not have, so comparing two `grammar`s finds it whatever the text was.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

Kind = Literal["text", "c0", "c1", "esc", "csi", "string", "broken"]

_TOKEN = re.compile(
    r"(?P<csi>\x1b\[[0-?]*[ -/]*[@-~])"
    r"|(?P<string>\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c))"
    r"|(?P<esc>\x1b[ -/]*[0-OQ-WYZ\\`-~])"
    r"|(?P<broken>\x1b|[\udc80-\udcff]+)"
    r"|(?P<c0>[\x00-\x1a\x1c-\x1f\x7f])"
    r"|(?P<c1>[\x80-\x9f])"
    r"|(?P<text>[^\x00-\x1f\x7f-\x9f\udc80-\udcff]+)"
)
# What may still become a whole sequence when more bytes come.
_UNFINISHED = re.compile(
    rb"(?:\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?"
    rb"|[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z"
)
_CSI = re.compile(r"\x1b\[(?P<prefix>[<-?]?)(?P<numbers>[0-?]*)(?P<final>[ -/]*[@-~])")
_MOVES = frozenset("ABCDEFGHdf")
_COLOUR = re.compile(r"(?<![\d])([345]8)[;:](?:2[;:]\d+[;:]\d+[;:]\d+|5[;:]\d+)")
_STRING_NAMES = {"]": "OSC", "P": "DCS", "X": "SOS", "^": "PM", "_": "APC"}


@dataclass(frozen=True, slots=True)
class Token:
    """One run of text or one sequence, as it stood in the output."""

    kind: Kind
    raw: str

    def shapes(self) -> frozenset[str]:
        """Name what the sequence does; positions and colour values do not count."""
        match self.kind:
            case "text":
                return frozenset()
            case "c0" | "c1":
                return frozenset({f"{self.kind.upper()} {ord(self.raw):02x}"})
            case "esc":
                return frozenset({f"ESC {self.raw[1:]}"})
            case "csi":
                return _csi_shapes(self.raw)
            case "string":
                number = self.raw[2:].partition(";")[0][:8]
                name = _STRING_NAMES[self.raw[1]]
                return frozenset({f"OSC {number}" if name == "OSC" else name})
            case "broken":
                return frozenset({f"broken {self.raw!a}"})


def _csi_shapes(raw: str) -> frozenset[str]:
    match = _CSI.fullmatch(raw)
    assert match is not None, raw
    prefix, numbers, final = match["prefix"], match["numbers"], match["final"]
    if final == "m" and not prefix:
        plain = _COLOUR.sub(lambda colour: f"{colour[1]}:n", numbers)
        return frozenset(f"SGR {part or '0'}" for part in plain.split(";"))
    if final in _MOVES and not prefix:
        return frozenset({f"CSI {final}"})
    return frozenset({f"CSI {prefix}{numbers}{final}"})


def tokens(output: bytes) -> Iterator[Token]:
    text = output.decode("utf-8", "surrogateescape")
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        assert match is not None, f"no token at {text[place : place + 20]!r}"
        yield Token(cast(Kind, match.lastgroup), match[0])
        place = match.end()


def unfinished(output: bytes) -> int:
    """Return where the sequence or character starts that the output ends in the middle of."""
    # The last ESC may be half of the end of a string that an earlier one began.
    last = output.rfind(b"\x1b")
    earlier = output.rfind(b"\x1b", 0, max(last, 0))
    starts = [
        match.start()
        for place in (earlier, last, len(output) - 3)
        if (match := _UNFINISHED.search(output, max(0, place)))
    ]
    return min(starts, default=len(output))


_ROWS_MOVED = re.compile(rb"\x1b\[(?P<top>\d+);\d+r\x1b\[(?P=top);1H\x1b\[\d+[ML]\x1b\[r")


def grammar(output: bytes) -> frozenset[str]:
    """Name the shapes in the output, but for the rows that the app has the terminal move.

    How often it does so depends on the time, and nothing but the whole row of sequences is the app.
    """
    output = _ROWS_MOVED.sub(b"", output)
    return frozenset().union(*(token.shapes() for token in tokens(output)))


def text_of(output: bytes) -> str:
    return "".join(
        token.raw for token in tokens(output) if token.kind == "text" or token.raw == "\n"
    )
