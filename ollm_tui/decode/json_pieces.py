"""JSON of a large value in pieces, so that whoever encodes it can let others run in between.

Python's encoder makes the whole text in one go, during which no other thread runs: a third of a
second for a chat of 20 MB.
"""

import json
from collections.abc import Iterator, Mapping

from ollm_tui.protocol.json_types import JsonValue

PIECE = 64 * 1024
"""Characters of a string encoded at once."""
SLICE = 256 * 1024
"""Characters that are collected before they become bytes; a few milliseconds of work."""
WALKED = 8
"""How many levels are taken apart; what lies deeper comes in one piece."""


def json_slices(value: JsonValue, encoder: json.JSONEncoder) -> Iterator[bytes]:
    """Give the UTF-8 of `encoder.encode(value)` in slices; half surrogate pairs become U+FFFD.

    For an encoder that does not escape text.

    Raises:
        ValueError: the value is not finite where the encoder does not allow that.
        RecursionError: it is nested too deeply.
    """
    pieces: list[str] = []
    size = 0
    for piece in json_pieces(value, encoder):
        pieces.append(piece)
        size += len(piece)
        if size >= SLICE:
            text = "".join(pieces)
            end = len(text) - _is_first_half(text[-1])
            yield repaired(text[:end]).encode()
            pieces, size = [text[end:]], 0
    yield repaired("".join(pieces)).encode()


def json_pieces(value: JsonValue, encoder: json.JSONEncoder, levels: int = WALKED) -> Iterator[str]:
    """Give what `encoder.encode` gives, in pieces that are not empty.

    Raises:
        ValueError, RecursionError: as `json_slices`.
    """
    match value:
        case str() if len(value) > PIECE:
            yield '"'
            for at in range(0, len(value), PIECE):
                yield encoder.encode(value[at : at + PIECE])[1:-1]
            yield '"'
        case dict() if value and levels and all(isinstance(key, str) for key in value):
            yield from _members(value, encoder, levels - 1)
        case list() if value and levels:
            before = "["
            for item in value:
                yield before
                yield from json_pieces(item, encoder, levels - 1)
                before = encoder.item_separator
            yield "]"
        case _:
            yield encoder.encode(value)


def repaired(text: str) -> str:
    """Give text that UTF-8 can hold: half surrogate pairs become U+FFFD, whole ones a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _members(
    members: Mapping[str, JsonValue], encoder: json.JSONEncoder, levels: int
) -> Iterator[str]:
    before = "{"
    for key, value in members.items():
        yield f"{before}{encoder.encode(key)}{encoder.key_separator}"
        yield from json_pieces(value, encoder, levels)
        before = encoder.item_separator
    yield "}"


def _is_first_half(character: str) -> bool:
    """Whether a surrogate pair might be cut after it."""
    return "\ud800" <= character <= "\udbff"
