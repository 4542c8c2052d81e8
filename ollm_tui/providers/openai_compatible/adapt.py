"""Ask again without the field that a server refuses, where nothing is lost by it."""

from http import HTTPStatus

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject

_REFUSALS = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
_FIXED_BY_REASONING_MODELS = ("temperature", "top_p")


def adapted(body: JsonObject, error: AIError) -> JsonObject | None:
    """Give the request in the form that the error asks for, None if there is none."""
    if error.status not in _REFUSALS:
        return None
    words = f"{error.details.get('param')} {error.message}"
    if "stream_options" in body and "stream_options" in words:
        return _without(body, "stream_options")
    if "max_tokens" in body and "max_completion_tokens" in words:
        return _without(body, "max_tokens") | {"max_completion_tokens": body["max_tokens"]}
    if error.details.get("server_code") == "unsupported_value":
        for name in _FIXED_BY_REASONING_MODELS:
            if name in body and name in words:
                return _without(body, name)
    return None


def _without(body: JsonObject, name: str) -> JsonObject:
    return {key: value for key, value in body.items() if key != name}
