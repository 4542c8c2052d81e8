"""Ask again without the field that a server refuses, where nothing is lost by it.

What a model refused once is left out for it from then on.
"""

from http import HTTPStatus

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.providers.fields import objects, string

_REFUSALS = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
_FIXED_BY_REASONING_MODELS = ("temperature", "top_p")
_UNTAKEN = frozenset({"unsupported_value", "unsupported_parameter"})
_RENAMED = {"max_tokens": "max_completion_tokens"}
_ROLES = {"system": "developer", "developer": "user"}
"""What older reasoning models take in place of a role that they refuse."""


class Refusals:
    """The fields that each model of one server does not take."""

    def __init__(self) -> None:
        self._fields: dict[object, set[str]] = {}

    def apply(self, body: JsonObject) -> JsonObject:
        """Give the request without what its model has refused before."""
        for name in self._fields.get(body.get("model"), ()):
            body = _without(body, name)
        return body

    def adapt(self, body: JsonObject, error: AIError) -> JsonObject | None:
        """Give the request in the form that the error asks for, None if there is none."""
        name = _refused(body, error)
        if name is None:
            return None
        self._fields.setdefault(body.get("model"), set()).add(name)
        return _without(body, name)


def _refused(body: JsonObject, error: AIError) -> str | None:
    if error.status not in _REFUSALS:
        return None
    words = f"{error.details.get('param')} {error.message}"
    if "stream_options" in body and "stream_options" in words:
        return "stream_options"
    if "max_tokens" in body and _RENAMED["max_tokens"] in words:
        return "max_tokens"
    if error.details.get("server_code") in _UNTAKEN:
        named = (name for name in _FIXED_BY_REASONING_MODELS if name in body and name in words)
        roles = (role for role in _roles(body) if role in _ROLES and f"'{role}'" in words)
        return next(named, None) or next(roles, None)
    return None


def _roles(body: JsonObject) -> list[str]:
    """Give the roles of the messages that a model may refuse, in their order."""
    found = (string(message, "role") for message in objects(body.get("messages")))
    return [role for role in found if role]


def _without(body: JsonObject, name: str) -> JsonObject:
    if name in _ROLES:
        messages = objects(body.get("messages"))
        return body | {"messages": [_recast(message, name) for message in messages]}
    rest = {key: value for key, value in body.items() if key != name}
    if name in _RENAMED and name in body:
        rest[_RENAMED[name]] = body[name]
    return rest


def _recast(message: JsonObject, role: str) -> JsonObject:
    return message | {"role": _ROLES[role]} if message.get("role") == role else message
