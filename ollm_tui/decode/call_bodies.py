"""Read the calls that a model printed as text, once all of their text is there."""

from collections.abc import Mapping
from typing import Final, TypeAlias

from ollm_tui.decode.json_guard import BadJson, parse_json
from ollm_tui.decode.json_span import JsonSpan
from ollm_tui.decode.leaked_forms import (
    ARGUMENT_KEYS,
    CALL_ID,
    ID_KEYS,
    NAME_END,
    NAME_KEYS,
    NAMESPACE,
    ToolTag,
)
from ollm_tui.decode.literal_calls import bare_calls_as_json, python_calls_as_json
from ollm_tui.decode.stream_search import word_start
from ollm_tui.decode.tool_calls import parse_arguments
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.tools import ToolSchema

_KNOWN_KEYS: Final = frozenset((*NAME_KEYS, *ARGUMENT_KEYS, *ID_KEYS, "type"))
_IN_LISTS: Final = ("{", "[", "]", '"')
_NUMBERED: Final = lazy_re(r":\d+$")
_FUNCTION: Final = lazy_re(
    r"<(?P<prefix>[^\s<>\"=]{0,40}?)(?P<kind>function|invoke)(?:=| name=\")(?P<name>[^\s<>\"]+)\"?>"
)
_PARAMETER: Final = lazy_re(
    r"<(?P<prefix>[^\s<>\"=]{0,40}?)parameter(?:=| name=\")(?P<name>[^\s<>\"]+)\"?"
    r"(?: string=\"(?P<is_text>true|false)\")?>"
)

Read: TypeAlias = tuple[str, JsonObject]
"""A name and arguments."""


def read_calls(
    text: str,
    offered: Mapping[str, ToolSchema],
    *,
    arguments_needed: bool,
    tag: ToolTag | None = None,
) -> list[Read] | None:
    """Return the calls that make up this text, or None if it is anything else."""
    body, tag = text.strip(), tag or ToolTag("")
    try:
        if (as_json := _as_json(body, tag)) is not None:
            return _read_json(as_json, arguments_needed)
        if body.startswith("<") and not (tag.call_start and body.startswith(tag.call_start)):
            return _read_elements(body, offered, tag.element_prefix)
    except BadJson:
        return None
    is_paired = tag.key_tags[0] and NAME_END not in body
    return (_read_pairs if is_paired else _read_named)(body, offered, tag)


def _as_json(body: str, tag: ToolTag) -> str | None:
    """Return calls that are JSON, or in a syntax that is written as JSON; None for other forms."""
    if is_json_start(body):
        return body
    if tag.syntax == "python":
        return python_calls_as_json(body)
    if tag.syntax == "bare":
        return bare_calls_as_json(body, tag.call_start, tag.quote)
    return None


def is_json_start(text: str, at: int = 0) -> bool:
    """Whether JSON begins here, not a list of calls in Python's syntax."""
    return text.startswith("{", at) or (
        text.startswith("[", at) and text.startswith(_IN_LISTS, word_start(text, at + 1))
    )


def _read_pairs(text: str, offered: Mapping[str, ToolSchema], tag: ToolTag) -> list[Read] | None:
    """Read a call that is a name and tagged pairs of names and values."""
    (key_start, key_end), (value_start, value_end) = tag.key_tags, tag.value_tags
    head, mark, _ = text.partition(key_start)
    name, args = head.strip(), JsonObject()
    at = len(head) if mark else len(text)
    while at < len(text):
        middle = text.find(key_end, at)
        value = word_start(text, middle + len(key_end))
        end = text.find(value_end, value)
        key = text[at + len(key_start) : middle].strip()
        if not text.startswith(key_start, at) or min(middle, end) < 0 or key in args:
            return None
        if not text.startswith(value_start, value):
            return None
        args[key] = _read_value(text[value + len(value_start) : end], offered.get(name), key)
        at = word_start(text, end + len(value_end))
    return [(name, args)]


def _read_named(text: str, offered: Mapping[str, ToolSchema], tag: ToolTag) -> list[Read] | None:
    """Read calls in which the name stands before the arguments, with a mark between them."""
    calls: list[Read] = []
    mark = tag.name_end if tag.name_end in text else NAME_END
    at = 0
    while at < len(text):
        if calls and not tag.in_call and text.startswith(tag.start, at):
            at = word_start(text, at + len(tag.start))
        middle = text.find(mark, at)
        if middle < 0 or not text.startswith(tag.call_start, at):
            return None
        name = text[at + len(tag.call_start) : middle].partition(CALL_ID)[0]
        stop, after = _arguments_end(text, middle + len(mark), tag.call_end)
        args = parse_arguments(text[middle + len(mark) : stop])
        if args is None:
            return None
        calls.append((_plain_name(name.strip(), offered), args))
        at = word_start(text, after)
    return calls or None


def _arguments_end(text: str, at: int, call_end: str) -> tuple[int, int]:
    """Return where arguments end, and where the next call may begin.

    Without a mark after each call that is where the JSON ends.
    """
    if call_end:
        end = text.find(call_end, at)
        return (end, end + len(call_end)) if end >= 0 else (len(text), len(text))
    start = word_start(text, at)
    span = JsonSpan()
    end = span.feed(text, start) if text.startswith("{", start) else len(text)
    return (end, end) if span.closed else (len(text), len(text))


def _plain_name(name: str, offered: Mapping[str, ToolSchema]) -> str:
    """Return the name of a tool without what some models add: `functions.weather:0`."""
    return name if name in offered else _NUMBERED.sub("", name.removeprefix(NAMESPACE))


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
        at = word_start(text, end)
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


def _read_elements(
    text: str, offered: Mapping[str, ToolSchema], prefix: str = ""
) -> list[Read] | None:
    calls: list[Read] = []
    at = 0
    while at < len(text):
        begin = _FUNCTION.match(text, at)
        if begin is None or begin["prefix"] not in ("", prefix):
            return None
        closing = f"</{begin['prefix']}{begin['kind']}>"
        end = text.find(closing, begin.end())
        body = text[begin.end() : end if end >= 0 else len(text)]
        args = _read_parameters(body, offered.get(begin["name"]), begin["prefix"])
        if args is None:
            return None
        calls.append((begin["name"], args))
        at = word_start(text, end + len(closing)) if end >= 0 else len(text)
    return calls


def _read_parameters(text: str, schema: ToolSchema | None, prefix: str) -> JsonObject | None:
    at = word_start(text, 0)
    if text.startswith("{", at):
        return parse_arguments(text)
    closing = f"</{prefix}parameter>"
    args: JsonObject = {}
    while at < len(text):
        begin = _PARAMETER.match(text, at)
        end = text.find(closing, begin.end()) if begin else -1
        if begin is None or begin["prefix"] != prefix or end < 0 or begin["name"] in args:
            return None
        written, name = text[begin.end() : end], begin["name"]
        args[name] = _read_typed(written, begin["is_text"], schema, name)
        at = word_start(text, end + len(closing))
    return args


def _read_typed(
    written: str, is_text: str | None, schema: ToolSchema | None, key: str
) -> JsonValue:
    """Return the value of an element that may say itself whether it is a text."""
    if is_text == "true":
        return written
    if is_text == "false":
        try:
            return parse_json(written.strip(), unique_keys=True)
        except BadJson:
            pass
    return _read_value(written, schema, key)


def _read_value(text: str, schema: ToolSchema | None, key: str) -> JsonValue:
    """Return the value of an element; a string by the schema stays as it was written."""
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
