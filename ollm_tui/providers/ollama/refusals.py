"""What an Ollama server refuses, because of the model or because the server is too old."""

import re
from http import HTTPStatus

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.provider_events import LeftOut
from ollm_tui.providers.http_faults import Place
from ollm_tui.providers.left_out import Say
from ollm_tui.providers.statuses import NO_SUCH_PATH

_DAMAGED = re.compile(r"exceeds file size")
"""A model file that is shorter than its header says."""
_BAD_NAME = re.compile(
    r'^invalid model name$|^(?:name|source|destination) "(.*)" is invalid$', re.DOTALL
)


def adapted(body: JsonObject, error: AIError, say: Say) -> JsonObject | None:
    """Give the request without what the server refuses, where the answer stays the one meant.

    None is no way out; then the error is given the one that a person has.
    """
    if error.code == ErrorCode.MODEL_NOT_FOUND:  # whose name may be about thinking too
        name = body.get("model")
        error.hint = f"Download it with `ollm models pull {name}`, or choose another model."
    elif explain_bad_name(error):
        return None
    elif error.status == HTTPStatus.FORBIDDEN and "cloud" in error.message.lower():
        error.hint = "That server uses no cloud models: choose a local one."
    elif _DAMAGED.search(error.message):
        error.retryable = False
        error.hint = (
            "The model's file is damaged on that machine: delete the model and download it again."
        )
    elif body.get("think") is not None and "think" in error.message.lower():
        return _otherwise_thinking(body, error, say)
    return None


def explain_bad_name(error: AIError) -> bool:
    """Say of a name that no model can have what a name looks like; tell whether it is that."""
    refusal = _BAD_NAME.match(error.message)
    if refusal is None:
        return False
    name = f"the model name '{refusal[1]}'" if refusal[1] else "this model name"
    error.message = f"The server does not accept {name}."
    error.hint = (
        "Start it with a letter or a digit, then use letters, digits, '-', '_' and '.';"
        " a tag may follow after ':'."
    )
    return True


def _otherwise_thinking(body: JsonObject, error: AIError, say: Say) -> JsonObject | None:
    """Leave out a `think: false`, and say of a level that it is; a wish to think is not dropped."""
    if body["think"] is False:
        return {key: value for key, value in body.items() if key != "think"}
    if error.status != HTTPStatus.BAD_REQUEST:
        return None
    if isinstance(body["think"], str) and "support" not in error.message:
        say(LeftOut("think.level", error))  # older servers know on and off
        return body | {"think": True}
    error.code = ErrorCode.UNSUPPORTED_FEATURE
    error.hint = "Switch thinking off, or choose a model that thinks."
    return None


def unknown_here(
    error: AIError, place: Place, deed: str, *, names_model: bool = True
) -> AIError | None:
    """Give the error of a server that lacks an endpoint; None where `error` says something else.

    A model that is missing is told by JSON, a path by plain text; where the request names no
    model, only the path can be missing.
    """
    if error.status not in NO_SUCH_PATH:
        return None
    if names_model and error.code == ErrorCode.MODEL_NOT_FOUND:
        return None
    return AIError(
        ErrorCode.UNSUPPORTED_FEATURE,
        f"{place.label} at {place.address} cannot {deed}: it does not know the request.",
        hint="It may be an old version, or another program: update it, or look at its address.",
        status=error.status,
        provider=place.provider,
        details=error.details,
    )
