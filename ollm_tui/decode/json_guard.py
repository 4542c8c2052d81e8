"""Parse JSON that was written by somebody else, with one kind of failure.

Python's parser accepts ``NaN``, turns ``1e999`` into infinity, raises RecursionError on deep
nesting and lets escaped lone surrogates through, which no later encoding accepts. It also makes
values that take thirty times the room of their text, so their number has a limit.
"""

import json
import math
import re
from typing import NoReturn

from ollm_tui.decode.json_walker import WalkingDecoder
from ollm_tui.decode.limits import LimitPassed
from ollm_tui.protocol.json_types import JsonObject, JsonValue

MAX_CONTAINERS = 100_000
"""Objects and lists of one text: they are what takes room."""
MAX_VALUES = 1_000_000
"""Values of any kind in one text."""
_SURELY_FEW_CHARS = 64 * 1024
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_BLANKS = re.compile(r"[ \t\r\n]*")
_HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


class BadJson(ValueError):
    """The text is not JSON that can be passed on."""


class JsonCrowd(BadJson, LimitPassed):
    """The text may be JSON, but holds more values than are taken."""


def parse_json(text: str, *, unique_keys: bool = False, in_slices: bool = False) -> JsonValue:
    """Return the value of a JSON text; half surrogate pairs become U+FFFD.

    ``in_slices`` is for a thread: it takes several times as long, and lets other threads run.

    Raises:
        BadJson: for anything but valid, finite JSON, and for repeated keys if ``unique_keys``.
    """
    decoder = _UNIQUE_KEYS if unique_keys else _SLICED if in_slices else _PLAIN
    _refuse_crowd(text)
    try:
        value: JsonValue = decoder.decode(_repair_halves(text))
    except RecursionError:
        raise BadJson("nested too deeply") from None
    except ValueError as error:
        raise BadJson(str(error)) from None
    return value


def parse_json_objects(text: str) -> list[JsonObject]:
    """Return the objects of a text that holds one or several of them in a row.

    Raises:
        BadJson: when the text holds anything else, or nothing.
    """
    _refuse_crowd(text)
    try:
        objects = _parse_row(_repair_halves(text))
    except RecursionError:
        raise BadJson("nested too deeply") from None
    except ValueError as error:
        raise BadJson(str(error)) from None
    if not objects:
        raise BadJson("nothing but white space")
    return objects


def dump_json(value: JsonValue) -> str:
    """Return compact JSON with characters unescaped.

    Raises:
        BadJson: when the value is not finite, or nested too deeply.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (RecursionError, ValueError) as error:
        raise BadJson(str(error)) from None


def dump_or_reason(value: JsonValue) -> str:
    """Return JSON, or the reason why there is none, which no parser takes for arguments."""
    try:
        return dump_json(value)
    except BadJson as error:
        return str(error)


def _refuse_crowd(text: str) -> None:
    """Refuse what would fill the memory; brackets and commas inside strings do not count."""
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
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


_PLAIN = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
_UNIQUE_KEYS = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique
)
_SLICED = WalkingDecoder(parse_constant=_refuse_constant, parse_float=_finite)
