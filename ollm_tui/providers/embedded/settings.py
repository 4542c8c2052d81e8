"""The settings of the built-in engine, and the defaults of single models."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.keep_alive import checked_keep_alive, keep_alive_seconds
from ollm_tui.protocol.provider_events import LeftOut
from ollm_tui.protocol.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedSettings:
    """How models are loaded and how long they stay."""

    context: int = 4096
    """Context window in tokens, unless a request sets one."""
    threads: int | None = None
    """None uses half of the logical cores."""
    idle_unload_s: float | None = 300
    """Seconds without a stream after which a model is unloaded; None keeps it."""
    load_timeout_s: float = 300
    response_timeout_s: float = 5
    """How long an engine may take to respond before it is killed."""
    check_interval_s: float = 15
    """Between two checks that an engine in use responds."""
    most_loaded: int = 1
    """Models kept in memory at once; one that is answering is never unloaded."""

    @property
    def thread_count(self) -> int:
        """Threads for one engine; more than half of shared cores makes it slower."""
        return self.threads or max(1, (os.cpu_count() or 2) // 2)

    def idle_unload_after(self, keep_alive: str | float | None) -> float | None:
        """Return the idle time after an answer: the one of its request, or the usual one.

        Raises:
            AIError: BAD_REQUEST if `keep_alive` is not a duration.
        """
        if keep_alive is None:
            return self.idle_unload_s
        seconds = keep_alive_seconds(checked_keep_alive(keep_alive))
        return seconds if seconds >= 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDefaults:
    """Recommended values; a request's own values win."""

    system_prompt: str | None = None
    temperature: float | None = None
    repeat_penalty: float | None = None


MODEL_DEFAULTS: Mapping[str, ModelDefaults] = {
    # Found with eight prompts: without the system prompt it names the capital of France in
    # broken French, and without the penalty three of seven answers repeat themselves until the
    # window is full.
    "SmolLM2-135M-Instruct.Q4_1": ModelDefaults(
        system_prompt="You are a helpful assistant.", temperature=0.0, repeat_penalty=1.1
    )
}


def with_defaults(request: Request, defaults: ModelDefaults | None) -> Request:
    """Fill in the defaults for what the request leaves open."""
    if defaults is None:
        return request
    options = request.options
    names = ("temperature", "repeat_penalty")
    filled = {name: getattr(defaults, name) for name in names if getattr(options, name) is None}
    request = replace(request, options=replace(options, **filled))
    is_instructed = any(message.role == "system" for message in request.conversation)
    if request.system_prompt is None and not is_instructed:
        request = replace(request, system_prompt=defaults.system_prompt)
    return request


def unread_settings(model_file: Path) -> str | None:
    """Return the name of the settings file beside a model file, which is not supported yet."""
    beside = model_file.with_name(f"{model_file.stem}.config.yaml")
    return beside.name if beside.exists() else None


def left_unread(name: str) -> LeftOut:
    """Make the event for settings beside the model file that were ignored."""
    why = AIError(
        ErrorCode.UNSUPPORTED_FEATURE,
        "Settings beside a model file are not read yet.",
        hint="Put them into config.toml, or change them with /set.",
    )
    return LeftOut(name, why)
