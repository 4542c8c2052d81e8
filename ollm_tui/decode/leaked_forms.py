"""How the calls that models print as text begin and end, and how they are read."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from ollm_tui.decode.json_guard import BadJson, parse_json
from ollm_tui.decode.json_span import JsonSpan
from ollm_tui.decode.stream_search import Part, PrefixMatcher, Run, Words, word_start
from ollm_tui.decode.tool_calls import parse_arguments
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.tools import ToolSchema

NAME_END: Final = "[ARGS]"


@dataclass(frozen=True, slots=True)
class ToolTag:
    """A tag before calls, and the tags after them; the end of the answer ends a call too."""

    start: str
    ends: tuple[str, ...] = ()
    in_call: bool = False
    """Whether the tags are part of the call's own text."""
    call_start: str = ""
    """What stands before each call inside the tags, if the form has such a mark."""
    call_end: str = ""
    """What stands after each call inside the tags."""
    name_end: str = NAME_END
    """What stands between the name of a tool and its arguments, if the name is not in the JSON."""
    key_tags: tuple[str, str] = ("", "")
    value_tags: tuple[str, str] = ("", "")
    """What stands around each argument's name and value, in forms without JSON."""


FENCE: Final = "```"
TOOL_TAGS: Final = (
    ToolTag("<tool_call>", ("</tool_call>",)),
    ToolTag("<tools>", ("</tools>",)),
    ToolTag("<function_call>", ("</function_call>",)),
    ToolTag("<function_calls>", ("</function_calls>",)),
    ToolTag("<|tool_call|>", ("</|tool_call|>", "<|/tool_call|>")),
    ToolTag("<|python_tag|>", ("<|eom_id|>", "<|eot_id|>")),
    ToolTag("[TOOL_REQUEST]", ("[END_TOOL_REQUEST]",)),
    ToolTag("[TOOL_CALLS]", ("[/TOOL_CALLS]", "</s>")),
    ToolTag("<function=", ("</function>",), in_call=True),
    ToolTag('<invoke name="', ("</invoke>",), in_call=True),
)
"""The forms that models of many families borrow from each other: read in the answers of every
model, with a bare JSON call. Forms of one family alone are in its file, below `toolCalls`."""
_BLANKS: Final = Run(r"\s", 40)
_COLON: Final = (_BLANKS, Words((":",)), _BLANKS)


def json_beginnings(names: Iterable[str]) -> PrefixMatcher:
    """Return how an answer begins that is only a JSON call of one of these tools."""
    fence = (Words(("", FENCE, "```json", "```tool_call", "```xml")), _BLANKS)
    return PrefixMatcher((*fence, *form) for form in _json_forms(tuple(names)))


def body_beginnings(names: Iterable[str], tags: Iterable[ToolTag] = TOOL_TAGS) -> PrefixMatcher:
    """Return how a call of one of these tools begins inside one of these tags."""
    listed, used = tuple(names), tuple(tags)
    elements = Words(
        tuple(f"<function={name}>" for name in listed)
        + tuple(f'<invoke name="{name}">' for name in listed)
    )
    named = (
        Words(("", *(tag.call_start for tag in used))),
        *(_BLANKS, Words(("", _NAMESPACE)), Words(listed), Run(r":\d", 6)),
        Words((NAME_END, *(tag.name_end for tag in used))),
    )
    paired = [
        (Words(listed), _BLANKS, Words((tag.key_tags[0], *tag.ends)))
        for tag in used
        if tag.key_tags[0]
    ]
    forms = ((elements,), named, *paired, *_json_forms(listed))
    return PrefixMatcher((_BLANKS, *form) for form in forms)


def _json_forms(names: tuple[str, ...]) -> list[tuple[Part, ...]]:
    quoted = Words(tuple(f'"{name}"' for name in names))
    start = (Words(("", "[")), _BLANKS, Words(("{",)), _BLANKS)
    name_first = (_keys(NAME_KEYS), *_COLON, quoted)
    others = (_keys((*ARGUMENT_KEYS, *ID_KEYS)), *_COLON)
    typed = (_keys(("type",)), *_COLON, Words(('"function"',)))
    wrapped = (_keys(("function",)), *_COLON, Words(("{",)))
    return [(*start, *rest) for rest in (name_first, others, typed, wrapped)]


def _keys(keys: tuple[str, ...]) -> Words:
    return Words(tuple(f'"{key}"' for key in keys))


NAME_KEYS: Final = ("name", "tool", "tool_name", "function_name", "function")
ARGUMENT_KEYS: Final = ("arguments", "parameters", "args")
ID_KEYS: Final = ("id", "tool_call_id")
_KNOWN_KEYS: Final = frozenset((*NAME_KEYS, *ARGUMENT_KEYS, *ID_KEYS, "type"))
_NAMESPACE: Final = "functions."
_NUMBERED: Final = re.compile(r":\d+$")
_PARAMETER_END: Final = "</parameter>"
_FUNCTION = re.compile(r"<(function=|invoke name=\")([^\s<>\"]+)\"?>")
_PARAMETER = re.compile(r"<(parameter=|parameter name=\")([^\s<>\"]+)\"?>")

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
    body = text.strip()
    try:
        if body.startswith(("{", "[")):
            return _read_json(body, arguments_needed)
        if body.startswith("<") and not (
            tag and tag.call_start and body.startswith(tag.call_start)
        ):
            return _read_elements(body, offered)
    except BadJson:
        return None
    if tag and tag.key_tags[0] and NAME_END not in body:
        return _read_pairs(body, offered, tag)
    return _read_named(body, offered, tag or ToolTag(""))


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
        if not text.startswith(tag.call_start, at):
            return None
        end = text.find(tag.call_end, at) if tag.call_end else -1
        stop = end if end >= 0 else len(text)
        name, separator, written = text[at + len(tag.call_start) : stop].partition(mark)
        args = parse_arguments(written) if separator else None
        if args is None:
            return None
        calls.append((_plain_name(name.strip(), offered), args))
        at = word_start(text, stop + len(tag.call_end)) if end >= 0 else len(text)
    return calls or None


def _plain_name(name: str, offered: Mapping[str, ToolSchema]) -> str:
    """Return the name of a tool without what some models add: `functions.weather:0`."""
    return name if name in offered else _NUMBERED.sub("", name.removeprefix(_NAMESPACE))


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
        at = word_start(text, end + len(closing)) if end >= 0 else len(text)
    return calls


def _read_parameters(text: str, schema: ToolSchema | None) -> JsonObject | None:
    at = word_start(text, 0)
    if text.startswith("{", at):
        return parse_arguments(text)
    args: JsonObject = {}
    while at < len(text):
        begin = _PARAMETER.match(text, at)
        end = text.find(_PARAMETER_END, begin.end()) if begin else -1
        if begin is None or end < 0 or begin[2] in args:
            return None
        args[begin[2]] = _read_value(text[begin.end() : end], schema, begin[2])
        at = word_start(text, end + len(_PARAMETER_END))
    return args


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
