"""What an Ollama server refuses, because of the model or because the server is too old."""

import re
from http import HTTPStatus

from ollm_tui.lazy import lazy_re
from ollm_tui.models.thinking import FEATURE, THINKING
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.provider_events import LeftOut
from ollm_tui.providers.body.unsupported import OnLeftOut
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.refusals import NO_SUCH_PATH

_DAMAGED = lazy_re(r"exceeds file size")
"""A model file that is shorter than its header says."""
_BAD_NAME = lazy_re(
    r'^invalid model name$|^(?:name|source|destination) "(.*)" is invalid$', re.DOTALL
)
_NAME_FORM = (
    "A name looks like NAME, USER/NAME or HOST/USER/NAME; a tag may follow after ':'. Start each"
    " part with a letter or a digit, then use letters, digits, '-', '_' and, except in USER, '.'."
)
_MAX_PART_CHARS = 80
"""Characters of a user, a name or a tag; a host may have more."""


def adapt(body: JsonObject, error: AIError, on_left_out: OnLeftOut) -> JsonObject | None:
    """Return the body without what the server refuses, where the answer stays the same.

    Returns None if there is no such body, and then sets the hint of the error.
    """
    name = str(body.get("model"))
    if error.code == ErrorCode.MODEL_NOT_FOUND:  # its name may have "think" in it
        error.hint = f"Download it with `ollm models pull {name}`, or choose another model."
    elif explain_bad_name(error, name):
        return None
    elif error.status == HTTPStatus.FORBIDDEN and "cloud" in error.message.lower():
        error.hint = "That server uses no cloud models: choose a local one."
    elif _DAMAGED.search(error.message):
        error.retryable = False
        error.hint = (
            "The model's file is damaged on that machine: delete the model and download it again."
        )
    elif body.get("think") is not None and "think" in error.message.lower():
        return _with_other_thinking(body, error, on_left_out)
    return None


def explain_bad_name(error: AIError, model: str) -> bool:
    """If the error is about a malformed name, explain what names look like and return True.

    `model` is the name in question if the server does not repeat it.
    """
    refusal = _BAD_NAME.match(error.message)
    if refusal is None:
        return False
    name = refusal[1] or model
    error.message = f"The server does not accept the model name '{name}'."
    error.hint = _NAME_FORM
    if _is_too_long(name):
        error.message = f"The model name '{name}' is too long."
        error.hint = (
            f"Use at most {_MAX_PART_CHARS} characters each for the name, for its tag and for the"
            " user before '/'."
        )
    return True


def _is_too_long(name: str) -> bool:
    head, _, last = name.rpartition("/")
    user = head.rpartition("/")[2]
    return any(len(part.encode()) > _MAX_PART_CHARS for part in (user, *last.split(":", 1)))


def _with_other_thinking(
    body: JsonObject, error: AIError, on_left_out: OnLeftOut
) -> JsonObject | None:
    """Leave out `think: false`, or a level and report it; but not a request to think."""
    if body["think"] is False:
        return {key: value for key, value in body.items() if key != "think"}
    if error.status != HTTPStatus.BAD_REQUEST:
        return None
    if isinstance(body["think"], str) and "support" not in error.message:
        on_left_out(LeftOut("think.level", error))  # older servers know only on and off
        return body | {"think": True}
    error.code = ErrorCode.UNSUPPORTED_FEATURE
    error.hint = "Switch thinking off, or choose a model that thinks."
    error.details = {**error.details, FEATURE: THINKING}
    return None


_LACKS = "model does not support"
"""Ollama's words for what a model cannot do, which has the status of a missing path."""


def unknown_path(
    error: AIError, endpoint: Endpoint, action: str, *, names_model: bool = True
) -> AIError | None:
    """Return the error of a server that lacks a path, or None if `error` means something else.

    A missing model is reported in JSON, a missing path in plain text. If the request names no
    model, only the path can be missing.
    """
    if error.status not in NO_SUCH_PATH:
        return None
    if names_model and (error.code == ErrorCode.MODEL_NOT_FOUND or _LACKS in error.message):
        return None
    return AIError(
        ErrorCode.UNSUPPORTED_FEATURE,
        f"{endpoint.label} at {endpoint.address} cannot {action}: it does not know the request.",
        hint="It may be an old version, or another program: update it, or check its address.",
        status=error.status,
        provider=endpoint.provider,
        details=error.details,
    )
