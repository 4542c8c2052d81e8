"""Read the slips of JSON that leave no doubt about what was meant.

Mended: Python's quotes, ``True``, ``False`` and ``None``, a comma after the last entry, and line
ends and other control characters inside a string. Not mended, because it would be a guess: a
missing quote, colon, comma or bracket, a bare word, a comment, a repeated key.
"""

import json
import re

from ollm_tui.decode.json_guard import BadJson, parse_json
from ollm_tui.decode.json_span import first_value
from ollm_tui.protocol.json_types import JsonObject

_BOTH_QUOTES = "\"'"
_TOKEN = re.compile(
    r"""(?P<string>"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*')"""
    r"|(?P<word>[A-Za-z_]\w*)|[{\[]\s*,|(?P<last>,)(?=\s*[}\]])",
    re.DOTALL,
)
_IN_STRING = re.compile(r"\\.|[\"\x00-\x1f]", re.DOTALL)
_WORDS = (("True", "true"), ("False", "false"), ("None", "null"))


def loose_object(text: str) -> JsonObject | None:
    """Return the object that is the whole of this text, None if it is not clear what it says."""
    if first_value(text, _BOTH_QUOTES) != text:
        return None
    try:
        value = parse_json(_TOKEN.sub(_mended, text), unique_keys=True)
    except BadJson:
        return None
    return value if isinstance(value, dict) else None


def first_loose_object(text: str) -> str | None:
    """Return the object that begins this text, in either kind of quotes; None if it never ends."""
    return first_value(text, _BOTH_QUOTES) if text.startswith("{") else None


def _mended(token: re.Match[str]) -> str:
    if token["string"]:
        return '"' + _IN_STRING.sub(_in_string, token["string"][1:-1]) + '"'
    if token["word"]:
        return dict(_WORDS).get(token["word"], token["word"])
    return "" if token["last"] else token[0]


def _in_string(found: re.Match[str]) -> str:
    character = found[0]
    if character == r"\'":
        return "'"
    return character if character.startswith("\\") else json.dumps(character)[1:-1]
