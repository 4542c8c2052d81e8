"""Ask again without the field that a server refuses, where the answer stays the one meant.

What a model refused once is left out for it from then on. A field that somebody set is left out
too, and that is said; what gives the answer its form is not, and the refusal stands.
"""

from collections.abc import Collection, Iterable, Mapping

from ollm_tui.decode.json_fields import objects, string
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.provider_events import LeftOut
from ollm_tui.providers.refusals import INVALID, Path, refused_fields, without
from ollm_tui.providers.unsupported import Say, unsaid

_UNTAKEN = frozenset({"unsupported_value", "unsupported_parameter"})
_COUNTS = ("stream_options", "include_usage")
_RENAMED = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_SHOWN = dict.fromkeys(_RENAMED, "max_tokens")
"""Either name is the same thing to a person."""
_NEVER = frozenset({"model", "tools", "stream"})
_FORM = frozenset(
    {
        "tool_choice",
        "response_format",
        "structured_outputs",
        "guided_json",
        "guided_regex",
        "guided_choice",
        "guided_grammar",
        "structural_tag",
        "grammar",
        "json_schema",
    }
)
"""Without these the answer would be another one than was asked for."""
_OF_A_MESSAGE = frozenset({"name"})
_ROLES = {"system": "developer", "developer": "user"}
"""What older reasoning models take in place of a role that they refuse."""


class Refusals:
    """What each model of one server does not take, in the order it was found out."""

    def __init__(self) -> None:
        self._refused: dict[object, dict[Path, AIError]] = {}

    def apply(self, body: JsonObject, say: Say = unsaid) -> JsonObject:
        """Give the request without what its model has refused before.

        `say` is given every field that somebody set and that is not sent under any name.
        """
        refused = self._refused.get(body.get("model"), {})
        return _without_all(body, refused, refused, say)

    def adapt(self, body: JsonObject, error: AIError, say: Say = unsaid) -> JsonObject | None:
        """Give the request in the form that the error asks for, None if there is none."""
        if error.status not in INVALID or error.known_code is ErrorCode.CONTEXT_LENGTH_EXCEEDED:
            return None
        found = _found(body, error)
        if not found:
            return None
        refused = self._refused.setdefault(body.get("model"), {})
        refused.update(dict.fromkeys(found, error))
        return _without_all(body, found, refused, say)


def _without_all(
    body: JsonObject, paths: Iterable[Path], refused: Mapping[Path, AIError], say: Say
) -> JsonObject:
    for path in paths:
        changed = _changed(body, path, refused)
        if changed != body and _is_lost(changed, path):
            say(LeftOut(_SHOWN.get(path[0]) or ".".join(path), refused[path]))
        body = changed
    return body


def _found(body: JsonObject, error: AIError) -> list[Path]:
    words = f"{error.details.get('param')} {error.message}"
    named: dict[Path, None] = {}
    if "stream_options" in body and any(name in words for name in _COUNTS):
        named["stream_options",] = None
    if "max_tokens" in body and _RENAMED["max_tokens"] in words:
        named["max_tokens",] = None
    for path in refused_fields(body, error):
        if _may_go(path) and path[:1] not in named:
            named[path] = None
    if named or error.details.get("server_code") not in _UNTAKEN:
        return list(named)
    role = next((role for role in _roles(body) if role in _ROLES and f"'{role}'" in words), None)
    return [(role,)] if role else []


def _may_go(path: Path) -> bool:
    if path[0] == "messages":
        return path[1:] != () and path[-1] in _OF_A_MESSAGE
    return path[0] not in _NEVER and path[0] not in _FORM


def _roles(body: JsonObject) -> list[str]:
    """Give the roles of the messages that a model may refuse, in their order."""
    found = (string(message, "role") for message in objects(body.get("messages")))
    return [role for role in found if role]


def _is_lost(body: JsonObject, path: Path) -> bool:
    name = path[0]
    if name in _ROLES or name == "stream_options":
        return False
    return _RENAMED.get(name) not in body


def _changed(body: JsonObject, path: Path, refused: Collection[Path]) -> JsonObject:
    name = path[0]
    if name in _ROLES:
        messages = objects(body.get("messages"))
        return body | {"messages": [_recast(message, name) for message in messages]}
    other = _RENAMED.get(name)
    if other is not None and name in body and (other,) not in refused:
        renamed = {other: body[name]}
        return renamed | without(body, path)  # one that was sent under its name counts more
    return without(body, path)


def _recast(message: JsonObject, role: str) -> JsonObject:
    return message | {"role": _ROLES[role]} if message.get("role") == role else message
