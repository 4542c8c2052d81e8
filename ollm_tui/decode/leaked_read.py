"""Read the call that a model printed as text, from the text alone.

Forms: a JSON object with a name and arguments, also inside ``function``; several in a row or in an
array; ``name[ARGS]{...}``; ``<function=name>`` and ``<invoke name="name">`` with JSON or with one
``<parameter=key>`` element for each argument.
"""

import re
from collections.abc import Mapping
from typing import Final, TypeAlias

from ollm_tui.decode.json_guard import BadJson, parse_json
from ollm_tui.decode.json_span import JsonSpan
from ollm_tui.decode.open_call import parse_arguments
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.tools import ToolSchema

NAME_KEYS: Final = ("name", "tool", "tool_name", "function_name", "function")
ARGUMENT_KEYS: Final = ("arguments", "parameters", "args")
OTHER_KEYS: Final = ("type", "id")
MISTRAL_MARK: Final = "[ARGS]"
_KNOWN_KEYS: Final = frozenset((*NAME_KEYS, *ARGUMENT_KEYS, *OTHER_KEYS))
_PARAMETER_END: Final = "</parameter>"
_WORD = re.compile(r"\S")
_FUNCTION = re.compile(r"<(function=|invoke name=\")([^\s<>\"]+)\"?>")
_PARAMETER = re.compile(r"<(parameter=|parameter name=\")([^\s<>\"]+)\"?>")

Read: TypeAlias = tuple[str, JsonObject]
"""A name and arguments."""


def read_calls(
    text: str, offered: Mapping[str, ToolSchema], *, arguments_needed: bool
) -> list[Read] | None:
    """Return the calls that are all of this text, None if it is anything else."""
    body = text.strip()
    try:
        if body.startswith(("{", "[")):
            return _read_json(body, arguments_needed)
        if body.startswith("<"):
            return _read_elements(body, offered)
    except BadJson:
        return None
    name, mark, arguments = body.partition(MISTRAL_MARK)
    args = parse_arguments(arguments) if mark else None
    return None if args is None else [(name.strip(), args)]


def _read_json(text: str, arguments_needed: bool) -> list[Read] | None:
    calls: list[Read] = []
    at = 0
    while at < len(text):
        span = JsonSpan()
        end = span.feed(text, at)
        if not span.closed:
            return None
        value = parse_json(text[at:end], unique_keys=True)
        for entry in value if isinstance(value, list) else [value]:
            if (call := _read_object(entry, arguments_needed)) is None:
                return None
            calls.append(call)
        at = _skip_blanks(text, end)
    return calls or None


def _read_object(value: JsonValue, arguments_needed: bool) -> Read | None:
    if not isinstance(value, dict) or not value.keys() <= _KNOWN_KEYS:
        return None
    if isinstance(inner := value.get("function"), dict):
        return _read_object(inner, arguments_needed)
    names = [value[key] for key in NAME_KEYS if key in value]
    written = [value[key] for key in ARGUMENT_KEYS if key in value]
    if len(names) != 1 or len(written) > 1 or not isinstance(names[0], str):
        return None
    if not written and arguments_needed:
        return None
    args = written[0] if written else None
    if args is None or isinstance(args, str):
        args = parse_arguments(args or "")
    return (names[0], args) if isinstance(args, dict) else None


def _read_elements(text: str, offered: Mapping[str, ToolSchema]) -> list[Read] | None:
    calls: list[Read] = []
    at = 0
    while at < len(text):
        begin = _FUNCTION.match(text, at)
        if begin is None:
            return None
        closing = "</function>" if begin[1] == "function=" else "</invoke>"
        end = text.find(closing, begin.end())
        body = text[begin.end() : end if end >= 0 else len(text)]
        args = _read_parameters(body, offered.get(begin[2]))
        if args is None:
            return None
        calls.append((begin[2], args))
        at = _skip_blanks(text, end + len(closing)) if end >= 0 else len(text)
    return calls


def _read_parameters(text: str, schema: ToolSchema | None) -> JsonObject | None:
    at = _skip_blanks(text, 0)
    if text.startswith("{", at):
        return parse_arguments(text)
    args: JsonObject = {}
    while at < len(text):
        begin = _PARAMETER.match(text, at)
        end = text.find(_PARAMETER_END, begin.end()) if begin else -1
        if begin is None or end < 0 or begin[2] in args:
            return None
        args[begin[2]] = _read_value(text[begin.end() : end], schema, begin[2])
        at = _skip_blanks(text, end + len(_PARAMETER_END))
    return args


def _skip_blanks(text: str, at: int) -> int:
    word = _WORD.search(text, at)
    return word.start() if word else len(text)


def _read_value(text: str, schema: ToolSchema | None, key: str) -> JsonValue:
    """Return the value of an element: what the schema calls a string stays as it was written."""
    written = text.removeprefix("\n").removesuffix("\n")
    properties = (schema.parameters or {}).get("properties") if schema else None
    wanted = properties.get(key) if isinstance(properties, dict) else None
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if kind is None or kind == "string":
        return written
    try:
        return parse_json(written.strip(), unique_keys=True)
    except BadJson:
        return written
