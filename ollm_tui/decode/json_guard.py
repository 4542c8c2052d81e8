"""Parse and write JSON that others wrote, with one kind of failure and limits for its memory.

The parser and encoder of `json` stop all other threads; slices let those run in between.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from json import decoder, scanner
from typing import Any, NoReturn, TypeVar

from ollm_tui.decode import LimitPassed
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.json_types import JsonObject, JsonValue

T = TypeVar("T")
MAX_CONTAINERS = 100_000
"""Objects and lists in one text: they take most of the memory."""
MAX_VALUES = 1_000_000
"""Values of any kind in one text."""
PIECE = 64 * 1024
"""Characters of a string encoded at once."""
SLICE = 256 * 1024
"""Characters that are encoded at once; a few milliseconds of work."""
WALKED = 8
"""How many levels are encoded piece by piece; deeper values come in one piece."""
_SURELY_FEW_CHARS = 64 * 1024
_STRING = lazy_re(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_BLANKS = lazy_re(r"[ \t\r\n]*")
_HALF_PAIR = lazy_re(r"\\u[dD][89a-fA-F]")
_FENCED = lazy_re(r"```[ \t]*(?:json)?[ \t]*\r?\n(.*)\n[ \t]*```", re.DOTALL | re.IGNORECASE)
_ESCAPE = lazy_re(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


class BadJson(ValueError):
    """The text is not JSON that can be passed on."""


class JsonCrowd(BadJson, LimitPassed):
    """The text may be JSON, but has more values than the limit."""


def parse_json(text: str, *, unique_keys: bool = False, in_slices: bool = False) -> JsonValue:
    """Return the value of a JSON text; half surrogate pairs become U+FFFD.

    ``in_slices`` is for a thread: it takes several times as long, but lets other threads run.

    Raises:
        BadJson: for anything but valid, finite JSON, and for repeated keys if ``unique_keys``.
    """
    parser = _UNIQUE_KEYS if unique_keys else _SLICED if in_slices else _PLAIN
    value: JsonValue = _guarded(parser.decode, text)
    return value


def unfenced(text: str) -> str:
    """Return a text without white space around it, and without a code fence around all of it."""
    stripped = text.strip()
    fenced = _FENCED.fullmatch(stripped)
    return fenced[1] if fenced else stripped


def parse_json_objects(text: str) -> list[JsonObject]:
    """Return the objects of a text that holds one or several of them in a row.

    Raises:
        BadJson: if the text holds anything else, or nothing.
    """
    objects = _guarded(_parse_row, text)
    if not objects:
        raise BadJson("nothing but white space")
    return objects


def _guarded(parse: Callable[[str], T], text: str) -> T:
    _refuse_crowd(text)
    try:
        return parse(_repair_halves(text))
    except RecursionError:
        raise BadJson("nested too deeply") from None
    except ValueError as error:
        raise BadJson(str(error)) from None


def dump_json(value: JsonValue) -> str:
    """Return compact JSON with characters unescaped.

    Raises:
        BadJson: if the value is not finite, or nested too deeply.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (RecursionError, ValueError) as error:
        raise BadJson(str(error)) from None


def dump_or_reason(value: JsonValue) -> str:
    """Return JSON, or why there is none: a sentence that no parser accepts as arguments."""
    try:
        return dump_json(value)
    except BadJson as error:
        return str(error)


def _refuse_crowd(text: str) -> None:
    """Refuse text that would fill the memory; brackets and commas in strings do not count."""
    if len(text) > _SURELY_FEW_CHARS and _is_crowd(text) and _is_crowd(_STRING.sub("", text)):
        raise JsonCrowd(
            f"the server sent JSON of over {MAX_CONTAINERS} objects or {MAX_VALUES} values"
        )


def _is_crowd(text: str) -> bool:
    containers = text.count("{") + text.count("[")
    return containers > MAX_CONTAINERS or containers + text.count(",") > MAX_VALUES


def _parse_row(text: str) -> list[JsonObject]:
    objects: list[JsonObject] = []
    at = _skip_blanks(text, 0)
    while at < len(text):
        value, end = _PLAIN.raw_decode(text, at)
        if not isinstance(value, dict):
            raise BadJson(f"an object was expected, not {type(value).__name__}")
        objects.append(value)
        at = _skip_blanks(text, end)
    return objects


def _skip_blanks(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at


def _repair_halves(text: str) -> str:
    if "\\u" in text and _HALF_PAIR.search(text):
        return _ESCAPE.sub(_repair_half, text)
    return text


def _repair_half(escape: re.Match[str]) -> str:
    return r"\ufffd" if escape["half"] else escape[0]


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("a number is out of range")
    return number


def _unique(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key is given twice")
    return value


class _WalkingDecoder(json.JSONDecoder):
    """Walks the text in Python, so that other threads run before the whole text is read."""

    def __init__(
        self, *, parse_constant: Callable[[str], Any], parse_float: Callable[[str], Any]
    ) -> None:
        super().__init__(parse_constant=parse_constant, parse_float=parse_float)
        # Names that the standard library has for this, and its type stubs do not know.
        self.parse_object = decoder.JSONObject  # type: ignore[attr-defined]
        self.parse_array = decoder.JSONArray  # type: ignore[attr-defined]
        self.scan_once = scanner.py_make_scanner(self)  # type: ignore[attr-defined]


_PLAIN = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
_UNIQUE_KEYS = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique
)
_SLICED = _WalkingDecoder(parse_constant=_refuse_constant, parse_float=_finite)


def json_slices(value: JsonValue, encoder: json.JSONEncoder) -> Iterator[bytes]:
    """Yield the UTF-8 of `encoder.encode(value)` in slices; half surrogate pairs become U+FFFD.

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
    """Yield what `encoder.encode` gives, in pieces that are not empty.

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
    """Return text that UTF-8 can hold: half surrogate pairs become U+FFFD, whole ones a letter."""
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
    """Whether a cut after it might divide a surrogate pair."""
    return "\ud800" <= character <= "\udbff"
