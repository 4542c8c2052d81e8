"""JSON Schemas in the forms that services accept; pure.

A form may be narrower than the schema, so that its values match, or wider where the service knows
no such limit: the chat checks the answer in any case.
"""

import re
from collections.abc import Mapping
from typing import Final

from ollm_tui.decode.schema_parts import LIMITS, closed, rewritten
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.json_types import JsonMapping, JsonObject

_STRICT: Final = frozenset(
    {
        *("type", "title", "description", "enum", "const", "anyOf", "$ref", "$defs", "definitions"),
        *("properties", "required", "additionalProperties", "items", "minItems", "maxItems"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("pattern", "format"),
    }
)
"""The keywords that OpenAI's strict mode accepts."""
_KINDS: Final = frozenset({"type", "anyOf", "$ref", "enum", "const"})
"""Keywords of which its strict mode wants one in every schema."""
_NOTES: Final = frozenset({"title", "description"})
_STRICT_FORMATS: Final = (
    *("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"),
)
_TOKEN: Final = lazy_re(r"\\.|\[\^?|.", re.DOTALL)
_ENDS: Final = lazy_re(r"(?<!\\)(?:\\\\)*\$\Z")
_CLASSES: Final[Mapping[str, str]] = {r"\d": "0-9", r"\w": "A-Za-z0-9_", r"\s": " "}
_NOT_IN_TEXT: Final = r'"\\\x00-\x1f'
"""Characters that a text of JSON has only behind a backslash."""
_ANY: Final = f"[^{_NOT_IN_TEXT}]"
_OF_THE_FILE: Final = frozenset({"$schema", "$id", "$comment"})
_KEPT_BY_ANTHROPIC: Final = frozenset({"pattern", "format"})


def strict_form(schema: JsonMapping) -> JsonObject | None:
    """Return the schema for OpenAI's strict mode; None if that does not accept it.

    Notes beside a reference and formats that the mode refuses are left out.
    """
    is_strict = True

    def check(one: JsonObject) -> JsonObject:
        nonlocal is_strict
        own = closed(_without(one, _OF_THE_FILE | (_NOTES if "$ref" in one else frozenset())))
        if own.get("format") not in _STRICT_FORMATS:
            own = _without(own, frozenset({"format"}))
        is_strict = is_strict and _is_strict(own)
        return own

    form = rewritten(schema, check)
    return form if is_strict and form.get("type") == "object" and "anyOf" not in form else None


def _is_strict(schema: JsonObject) -> bool:
    if not (schema.keys() <= _STRICT and schema.keys() & _KINDS):
        return False
    if "$ref" in schema and len(schema) > 1:
        return False
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        kind = schema.get("type")
        return kind != "object" and not (isinstance(kind, list) and "object" in kind)
    names = set(required) if isinstance(required, list) else set()
    return names == properties.keys() and schema.get("additionalProperties") is False


def anthropic_form(schema: JsonMapping) -> JsonObject:
    """Return the schema without the limits that Anthropic refuses, and with closed objects."""

    def change(one: JsonObject) -> JsonObject:
        own = closed(_without(one, _OF_THE_FILE | (LIMITS - _KEPT_BY_ANTHROPIC)))
        if "oneOf" in own and "anyOf" not in own:
            own["anyOf"] = own.pop("oneOf")
        return own

    return rewritten(schema, change)


def grammar_form(schema: JsonMapping) -> JsonObject:
    r"""Return the schema with patterns that llama.cpp can turn into a grammar.

    It ignores a pattern with \d, \w or \s, and one without an end. A dot and `[^a]` would let a
    quotation mark into a text of JSON. A pattern without a beginning is left to be ignored: held to
    it, a model may write without end before the match.
    """

    def change(one: JsonObject) -> JsonObject:
        pattern = one.get("pattern")
        return one | {"pattern": _grammar_pattern(pattern)} if isinstance(pattern, str) else one

    return rewritten(schema, change)


def _grammar_pattern(pattern: str) -> str:
    written, level, in_class, has_choice = "", 0, False, False
    for token in _TOKEN.findall(pattern):
        written += _written(token, in_class=in_class)
        in_class = token.startswith("[") or (in_class and token != "]")
        level += 0 if in_class else (token == "(") - (token == ")")
        has_choice |= token == "|" and not level and not in_class
    if has_choice or not pattern.startswith("^") or _ENDS.search(pattern) is not None:
        return written
    return f"{written}{_ANY}*$"


def _written(token: str, *, in_class: bool) -> str:
    """Return one sign of a pattern as llama.cpp's grammars have it."""
    members = _CLASSES.get(token.lower())
    if members is not None and in_class:
        return members if token.islower() else token
    if members is not None:
        return f"[{members}]" if token.islower() else f"[^{members}{_NOT_IN_TEXT}]"
    if in_class:
        return token
    return {".": _ANY, "[^": f"[^{_NOT_IN_TEXT}"}.get(token, token)


def _without(schema: JsonObject, keys: frozenset[str]) -> JsonObject:
    return {key: value for key, value in schema.items() if key not in keys}
