"""The settings of the built-in engine, and what fills the gaps of a request."""

import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ollm_tui.models.known_models import SIDECAR_SUFFIX, ModelDefaults, not_applied
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.keep_alive import checked_keep_alive, keep_alive_seconds
from ollm_tui.protocol.provider_events import LeftOut
from ollm_tui.protocol.request import Request

if TYPE_CHECKING:
    from ollm_tui.models.family_facts import ModelKnowledge


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


def with_defaults(request: Request, defaults: ModelDefaults) -> Request:
    """Fill in the defaults for what the request leaves open."""
    options = request.options
    open_names = [one.name for one in fields(options) if getattr(options, one.name) is None]
    filled: dict[str, Any] = {name: getattr(defaults.options, name) for name in open_names}
    request = replace(request, options=replace(options, **filled))
    is_instructed = any(message.role == "system" for message in request.conversation)
    if request.system_prompt is None and not is_instructed:
        request = replace(request, system_prompt=defaults.system_prompt)
    return request


def unused_settings(known: "ModelKnowledge") -> tuple[LeftOut, ...]:
    """Return what of the settings beside a model file is not used, and why."""
    beside = known.sidecar.name if known.sidecar else ""
    unused = [
        LeftOut(Path(problem.origin.name).name, AIError(ErrorCode.BAD_REQUEST, str(problem)))
        for problem in known.problems
        if problem.origin.name.endswith(SIDECAR_SUFFIX)
    ]
    if keys := not_applied(known):
        why = AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            f"{', '.join(keys)} of {beside} {'is' if len(keys) == 1 else 'are'} not used yet.",
            hint="Its parameters and its systemPrompt are used.",
        )
        unused.append(LeftOut(beside, why))
    return tuple(unused)
