"""Repeat a request without a field that the server refuses, where the answer stays the same."""

from collections.abc import Collection, Iterable, Mapping

from ollm_tui.decode.json_fields import objects, string
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.provider_events import LeftOut
from ollm_tui.providers.body.unsupported import OnLeftOut, ignore_left_out
from ollm_tui.providers.refusals import INVALID, FieldPath, refused_fields, without_field

_UNSUPPORTED_CODES = frozenset({"unsupported_value", "unsupported_parameter"})
_USAGE_FIELDS = ("stream_options", "include_usage")
_RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_DISPLAY_NAMES = dict.fromkeys(_RENAMED, "max_tokens")
"""Both names are the same option to a user."""
_REQUIRED = frozenset({"model", "tools", "stream"})
_FORM = frozenset(
    {"tool_choice", "response_format", "structured_outputs", "guided_json", "guided_regex",
     "guided_choice", "guided_grammar", "structural_tag", "grammar", "json_schema"}
)  # fmt: skip
"""Without these the answer would not have the form that was requested."""
_MESSAGE_KEYS = frozenset({"name"})
_ROLES = {"system": "developer", "developer": "user"}
"""Roles that older reasoning models refuse, and what they accept instead."""


class Refusals:
    """What each model of one server has refused, in the order of the refusals."""

    def __init__(self) -> None:
        self._refused: dict[object, dict[FieldPath, AIError]] = {}

    def apply(self, body: JsonObject, on_left_out: OnLeftOut = ignore_left_out) -> JsonObject:
        """Return the body without what its model refused; `on_left_out` gets what is lost."""
        refused = self._refused.get(body.get("model"), {})
        return _without_all(body, refused, refused, on_left_out)

    def adapt(
        self, body: JsonObject, error: AIError, on_left_out: OnLeftOut = ignore_left_out
    ) -> JsonObject | None:
        """Return the body in the form that the error asks for, or None if there is none."""
        if error.status not in INVALID or error.known_code is ErrorCode.CONTEXT_LENGTH_EXCEEDED:
            return None
        paths = _refused_paths(body, error)
        if not paths:
            return None
        refused = self._refused.setdefault(body.get("model"), {})
        refused.update(dict.fromkeys(paths, error))
        return _without_all(body, paths, refused, on_left_out)


def _without_all(
    body: JsonObject,
    paths: Iterable[FieldPath],
    refused: Mapping[FieldPath, AIError],
    on_left_out: OnLeftOut,
) -> JsonObject:
    for path in paths:
        changed = _changed(body, path, refused)
        if changed != body and _is_lost(changed, path):
            on_left_out(LeftOut(_DISPLAY_NAMES.get(path[0]) or ".".join(path), refused[path]))
        body = changed
    return body


def _refused_paths(body: JsonObject, error: AIError) -> list[FieldPath]:
    words = f"{error.details.get('param')} {error.message}"
    named: dict[FieldPath, None] = {}
    if "stream_options" in body and any(name in words for name in _USAGE_FIELDS):
        named["stream_options",] = None
    if "max_tokens" in body and _RENAMED["max_tokens"] in words:
        named["max_tokens",] = None
    for path in refused_fields(body, error):
        if _may_be_left_out(path) and path[:1] not in named:
            named[path] = None
    if named or error.details.get("server_code") not in _UNSUPPORTED_CODES:
        return list(named)
    roles = (string(message, "role") for message in objects(body.get("messages")))
    role = next((role for role in roles if role in _ROLES and f"'{role}'" in words), None)
    return [(role,)] if role else []


def _may_be_left_out(path: FieldPath) -> bool:
    if path[0] == "messages":
        return path[1:] != () and path[-1] in _MESSAGE_KEYS
    return path[0] not in _REQUIRED and path[0] not in _FORM


def _is_lost(body: JsonObject, path: FieldPath) -> bool:
    name = path[0]
    if name in _ROLES or name == "stream_options":
        return False
    return _RENAMED.get(name) not in body


def _changed(body: JsonObject, path: FieldPath, refused: Collection[FieldPath]) -> JsonObject:
    name = path[0]
    if name in _ROLES:
        role: JsonObject = {"role": _ROLES[name]}
        messages = objects(body.get("messages"))
        return body | {"messages": [m | role if m.get("role") == name else m for m in messages]}
    other = _RENAMED.get(name)
    if other is not None and name in body and (other,) not in refused:
        renamed = {other: body[name]}
        return renamed | without_field(body, path)  # a value under the other name counts more
    return without_field(body, path)
