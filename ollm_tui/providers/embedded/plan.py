"""How one model is loaded: `EnginePlan`, and what the engine's process is told about it."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ollm_tui.config.engine_settings import EngineSettings, ModelEngineSettings
from ollm_tui.config.paths import private_folder
from ollm_tui.config.regular_file import real_path
from ollm_tui.dataclass import dataclass, field
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.ports import Companion
from ollm_tui.providers.embedded import failures
from ollm_tui.providers.embedded.machine_limits import prompt_cache_mb

LLAMA_CPP = "llama.cpp"
ALL_LAYERS = 9999
"""More than any model has; `all` is unknown to older builds of llama-server."""
_FLAGS: Mapping[str, str] = {
    "threads": "--threads",
    "threads_batch": "--threads-batch",
    "gpu_layers": "--n-gpu-layers",
    "cache_type_k": "--cache-type-k",
    "cache_type_v": "--cache-type-v",
    "flash_attention": "--flash-attn",
    "projector": "--mmproj",
    "lora": "--lora",
    "draft_model": "--model-draft",
    "draft_tokens": "--spec-draft-n-max",
}
"""The options of llama-server by the settings they come from."""
_ALWAYS = (
    *("--host", "127.0.0.1", "--parallel", "1"),
    *("--jinja", "--no-warmup", "--no-webui"),
)
SERVER_ENVIRONMENT: Mapping[str, str] = {
    "LLAMA_ARG_OFFLINE": "1",
    "LLAMA_ARG_CORS_ORIGINS": "localhost",
    "LLAMA_ARG_SPEC_TYPE": "draft-simple",
}
"""Options that older builds do not know: as variables, they ignore them."""


_PLAIN_CACHES = (None, "f32", "f16", "bf16")


class Plan(Protocol):
    """Which model an engine's process loads, and what the process reports about it.

    Plans for the same model are equal if the process of one can do the work of the other.
    """

    @property
    def name(self) -> str:
        """The name of the model."""

    @property
    def engine(self) -> str:
        """The engine: its models make room for each other, and for none of another engine."""

    @property
    def command(self) -> Sequence[str] | None:
        """The program; None for the supervisor's own."""

    def instructions(self) -> JsonObject:
        """Return what the process is told, without the key; may block."""

    def replaces(self, other: "Plan") -> AIError | None:
        """Return why a process that loaded the same model in another way is ended, to report it."""

    def check(self, report: JsonMapping, log: str) -> None:
        """Check what the process reports when it has loaded the model; `log` is its output.

        Raises:
            AIError: it has not.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePlan:
    """Which language model llama.cpp's server loads, and how."""

    name: str
    path: Path
    context: int
    options: ModelEngineSettings = field(default_factory=ModelEngineSettings)
    template: str | None = None
    """The chat template that takes the place of the one in its file."""
    program: Path | None = None
    """The llama-server that loads it; None for the installed package."""
    makes_embeddings: bool = False
    states_dir: Path | None = None
    """Where the engine may keep what it has read."""
    engine: str = LLAMA_CPP
    command: Sequence[str] | None = None

    def instructions(self) -> JsonObject:
        """Return what the engine's process is told, without the key; may block."""
        options = dict(_written(self.options))
        return {
            "model": str(real_path(self.path)),
            "name": self.name,
            "context": self.context,
            "embeddings": self.makes_embeddings,
            "prompt_cache_mb": prompt_cache_mb(),
            "states": self._states(),
            "options": options,
            "template": self.template,
            "program": None if self.program is None else str(self.program),
            "arguments": [] if self.program is None else [*self._arguments(options)],
            "variables": self._variables(),
        }

    def replaces(self, other: Plan) -> AIError | None:
        """Return that the model was loaded with another window, if it was."""
        if not isinstance(other, EnginePlan) or other.context == self.context:
            return None
        return failures.other_window(self.name, other.context, self.context)

    def check(self, report: JsonMapping, log: str) -> None:
        """Check that the server runs.

        Raises:
            AIError: it does not, with the reason of its log.
        """
        if report.get("missing"):
            raise failures.not_installed()
        if "error" in report:
            has_template = self.template is not None
            raise failures.load_refused(
                self.name, str(report["error"]), log, self.program, has_template=has_template
            )
        if "url" not in report:
            raise failures.not_understood()
        if self.options.gpu_layers and failures.NO_GPU_LOG in log:
            raise failures.no_gpu(self.name)  # a llama-server without a graphics card goes on

    def _arguments(self, options: Mapping[str, JsonValue]) -> Iterator[str]:
        yield from _ALWAYS
        yield from ("--model", str(real_path(self.path)), "--alias", self.name)
        yield from ("--ctx-size", str(self.context))
        if self.template is not None:
            yield from ("--chat-template", self.template)
        if (states := self._states()) is not None:
            yield from ("--slot-save-path", states)
        if self.makes_embeddings:
            # A text must fit into one batch.
            sizes = ("--batch-size", str(self.context), "--ubatch-size", str(self.context))
            yield from ("--embeddings", *sizes)
        for name, value in options.items():
            for one in value if isinstance(value, list) else [value]:
                switch = {True: "on", False: "off"}
                yield from (_FLAGS[name], switch[one] if isinstance(one, bool) else str(one))

    def _states(self) -> str | None:
        """Return the folder of states, made if it is missing; None if there is none."""
        if self.states_dir is None or self.makes_embeddings:
            return None
        try:
            private_folder(self.states_dir)
        except OSError:
            return None
        return f"{self.states_dir}{os.sep}"

    def _variables(self) -> JsonObject:
        if self.program is None:
            return {}
        left_out = set() if self.options.draft_model else {"LLAMA_ARG_SPEC_TYPE"}
        variables = {n: text for n, text in SERVER_ENVIRONMENT.items() if n not in left_out}
        return {**variables, "LLAMA_ARG_CACHE_RAM": str(prompt_cache_mb())}


@dataclass(slots=True)
class CachedChat:
    """The saved chat that an engine has read last, and how many tokens of it."""

    folder: Path
    """Where the engine may keep that."""
    tokens: int = 0


def merged(
    own: ModelEngineSettings, usual: EngineSettings, known: ModelEngineSettings | None = None
) -> ModelEngineSettings:
    """Return the settings of one model over those of every model, over what is known of it."""
    values: dict[str, object] = {}
    for name in ModelEngineSettings.declared():
        layers = (own, usual if name in EngineSettings.declared() else None, known)
        given = [getattr(layer, name) for layer in layers if layer is not None]
        values[name] = next((value for value in given if value not in (None, [])), given[0])
    return own.changed(**values)


def companions_of(options: ModelEngineSettings) -> Iterator[tuple[Companion, Path]]:
    """Yield the files that the engine reads besides the model's own."""
    if options.projector is not None:
        yield "projector", options.projector
    yield from (("lora", path) for path in options.lora)
    if options.draft_model is not None:
        yield "draft_model", options.draft_model


def check_options(name: str, options: ModelEngineSettings, program: Path | None) -> None:
    """Check that the settings of a model go together, and that `program` can take them.

    Raises:
        AIError: they do not, or it cannot.
    """
    split = [path for path in options.lora if "," in str(path)]
    if program is not None and split:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"{program} takes {split[0]} for several files, because of the comma in its name.",
            hint="Rename the file.",
        )
    if options.flash_attention is False and options.cache_type_v not in _PLAIN_CACHES:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"{name} cannot have `cache_type_v` {options.cache_type_v} without flash attention.",
            hint="Remove `flash_attention = false`, or use f16 for `cache_type_v`.",
        )
    if options.draft_tokens is not None and options.draft_model is None:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"{name} has `draft_tokens`, and no `draft_model` that could write them.",
            hint="Name a draft model, or remove `draft_tokens`.",
        )


def _written(options: ModelEngineSettings) -> Iterator[tuple[str, JsonValue]]:
    """Yield the options that are set, as JSON."""
    for name in _FLAGS:
        match getattr(options, name):
            case None | []:
                continue
            case "all":
                yield name, ALL_LAYERS
            case Path() as path:
                yield name, str(real_path(path))
            case list() as paths:
                yield name, [str(real_path(path)) for path in paths]
            case value:
                yield name, value
