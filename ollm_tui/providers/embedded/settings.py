"""The settings of the built-in engine, and what fills the gaps of a request."""

import os
import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ollm_tui.config.engine_settings import EngineSettings, ModelEngineSettings
from ollm_tui.config.paths import find_program
from ollm_tui.dataclass import dataclass, field
from ollm_tui.models.known_models import SIDECAR_SUFFIX, ModelDefaults, defaults_of
from ollm_tui.models.thinking_prompts import with_instructions
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.keep_alive import checked_keep_alive, keep_alive_seconds
from ollm_tui.protocol.provider_events import LeftOut
from ollm_tui.protocol.request import Request
from ollm_tui.providers.embedded.machine_limits import Processors
from ollm_tui.providers.embedded.plan import merged

if TYPE_CHECKING:
    from ollm_tui.models.family_facts import ModelKnowledge


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedSettings:
    """How models are loaded and how long they stay."""

    context: int = 4096
    """Context window in tokens, unless a request or the model's own settings give one."""
    is_context_set: bool = False
    """Whether the user set it, so that it counts before the window of a sidecar."""
    engine: EngineSettings = field(default_factory=EngineSettings)
    """How every model is loaded."""
    models: Mapping[str, ModelEngineSettings] = field(default_factory=dict)
    """How single models are loaded, by name."""
    windows: Mapping[str, int] = field(default_factory=dict)
    """Context windows of single models, by name."""
    program: Path | None = None
    """The llama-server that loads models; None for the installed package."""
    is_found: bool = False
    """Whether the llama-server was found on PATH, and not set: the first answer says so."""
    states_dir: Path | None = None
    """Where it is kept what engines have read of saved chats; None keeps nothing."""
    max_state_bytes: int = 2 << 30
    espeak: Path | None = None
    """The program espeak-ng, which speaks and says how words are pronounced."""
    idle_unload_s: float | None = 300
    """Seconds without a stream after which a model is unloaded; None keeps it."""
    load_timeout_s: float = 300
    response_timeout_s: float = 5
    """How long an engine may take to respond before it is killed."""
    check_interval_s: float = 15
    """Between two checks that an engine in use responds."""
    most_loaded: int = 1
    """Models kept in memory at once; one that is answering is never unloaded."""
    processors: Processors = field(default_factory=Processors, compare=False)
    """What engines may use of this machine."""

    def options_of(
        self, name: str, known: ModelEngineSettings | None = None
    ) -> ModelEngineSettings:
        """Return how a model is loaded: its own settings over those of every model, over `known`.

        Answers are slower with more threads than physical cores, and where other programs take one
        of them; prompts are read the faster the more processors there are.
        """
        own = merged(self.models.get(name, ModelEngineSettings()), self.engine, known)
        threads = own.threads or self.processors.in_step
        threads_batch = own.threads_batch or own.threads or self.processors.usable
        return own.changed(threads=threads, threads_batch=threads_batch)

    def window_of(self, name: str, *, trained: int | None, sidecar: int | None) -> int:
        """Return the window that a model is loaded with; only its own may exceed the trained one.

        `sidecar` is what the settings beside its file ask for.
        """
        if (own := self.windows.get(name)) is not None:
            return own
        usual = self.context if self.is_context_set else sidecar or self.context
        return min(usual, trained) if trained else usual

    def idle_unload_after(self, keep_alive: str | float | None) -> float | None:
        """Return the idle time after an answer: the one of its request, or the usual one.

        Raises:
            AIError: BAD_REQUEST if `keep_alive` is not a duration.
        """
        if keep_alive is None:
            return self.idle_unload_s
        seconds = keep_alive_seconds(checked_keep_alive(keep_alive))
        return seconds if seconds >= 0 else None


def server_program(
    setting: Path | Literal["none"] | None, environ: Mapping[str, str] | None = None
) -> Path | None:
    """Return the llama-server that runs models: the one that is set, else the one on PATH.

    None if there is none, or the setting is `none`: then the installed package does.
    """
    if setting is not None:
        return setting if isinstance(setting, Path) else None
    name = "llama-server.exe" if sys.platform == "win32" else "llama-server"
    return find_program(name, os.environ if environ is None else environ)


def with_defaults(request: Request, defaults: ModelDefaults) -> Request:
    """Fill in the defaults for what the request leaves open."""
    options = request.options
    open_names = [one.name for one in fields(options) if getattr(options, one.name) is None]
    filled: dict[str, Any] = {name: getattr(defaults.options, name) for name in open_names}
    request = replace(request, options=replace(options, **filled))
    is_instructed = any(message.role == "system" for message in request.conversation)
    plan = request.thinking
    of_thinking = plan.instructions if plan is not None else None
    if request.system_prompt == of_thinking and not is_instructed:
        system_prompt = with_instructions(defaults.system_prompt, of_thinking)
        request = replace(request, system_prompt=system_prompt)
    return request


def ready_for(known: "ModelKnowledge", request: Request) -> Request:
    """Fill in the model's defaults, and remove the options about loading it."""
    request = with_defaults(request, defaults_of(known))
    options = replace(request.options, num_ctx=None, keep_alive=None)
    return replace(request, options=options)


def unused_settings(known: "ModelKnowledge") -> tuple[LeftOut, ...]:
    """Return what of the settings beside a model file is not used, and why."""
    return tuple(
        LeftOut(Path(problem.origin.name).name, AIError(ErrorCode.BAD_REQUEST, str(problem)))
        for problem in known.problems
        if problem.origin.name.endswith(SIDECAR_SUFFIX)
    )
