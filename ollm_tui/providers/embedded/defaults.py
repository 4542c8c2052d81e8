"""What a model file needs to answer well, where the request leaves it open."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import LeftOut
from ollm_tui.protocol.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDefaults:
    """Recommended values; a request's own values win."""

    system_prompt: str | None = None
    temperature: float | None = None
    repeat_penalty: float | None = None


MODEL_DEFAULTS: Mapping[str, ModelDefaults] = MappingProxyType(
    {
        # Of eight prompts, none is answered confusedly this way; without the system prompt it
        # says the capital of France in broken French, without the penalty three of seven
        # answers turn in circles until the window is full.
        "SmolLM2-135M-Instruct.Q4_1": ModelDefaults(
            system_prompt="You are a helpful assistant.", temperature=0.0, repeat_penalty=1.1
        ),
    }
)


def with_defaults(request: Request, defaults: ModelDefaults | None) -> Request:
    """Fill in what the request leaves open."""
    if defaults is None:
        return request
    given = request.options
    options = replace(
        given,
        temperature=_first(given.temperature, defaults.temperature),
        repeat_penalty=_first(given.repeat_penalty, defaults.repeat_penalty),
    )
    request = replace(request, options=options)
    if request.system_prompt is None and not _is_instructed(request):
        request = replace(request, system_prompt=defaults.system_prompt)
    return request


def unread_settings(model_file: Path) -> str | None:
    """Give the name of the settings beside a model file, which are not read yet; touches disk."""
    beside = model_file.with_name(f"{model_file.stem}.config.yaml")
    return beside.name if beside.exists() else None


def left_unread(name: str) -> LeftOut:
    """Say that an answer is made without the settings beside the model file."""
    why = AIError(
        ErrorCode.UNSUPPORTED_FEATURE,
        "Settings beside a model file are not read yet.",
        hint="Put them into config.toml, or change them with /set.",
    )
    return LeftOut(name, why)


def _is_instructed(request: Request) -> bool:
    return any(message.role == "system" for message in request.conversation)


def _first(given: float | None, default: float | None) -> float | None:
    return default if given is None else given
