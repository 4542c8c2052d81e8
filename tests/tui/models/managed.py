"""A model with everything that can be known of one, and a manager that has such models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import anyio

from ollm_tui.library.fit import Fit
from ollm_tui.library.machine import Gpu, Machine
from ollm_tui.models.actions import MODEL_ACTIONS, ModelAction
from ollm_tui.models.known_models import KnownModels
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef
from ollm_tui.runtime.details import ContextFacts, EffectiveValue, ModelDetails
from ollm_tui.runtime.manager import ModelManager
from tests.tui.scripted import ScriptedRuntime

REF = ModelRef("local", "qwen3:8b")
TEMPLATE = (
    "{{- if .System }}<|im_start|>system\n{{ .System }}<|im_end|>\n{{ end }}\n"
    "{{- range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n{{ end }}"
)
LICENCE = "Apache License\nVersion 2.0, January 2004\n\n" + "\n\n".join(
    f"{number}. A paragraph of the licence that is long enough to be wrapped once or twice, as "
    "paragraphs of licences usually are, and says what one may do and what not."
    for number in range(1, 13)
)
_TEXT = frozenset({"text"})
_FIT = Fit(
    verdict="partly",
    weights=5_200_000_000,
    cache=1_200_000_000,
    overhead=400_000_000,
    context=8192,
    kv_type="f16",
    machine=Machine(
        ram_total=32_000_000_000,
        ram_free=20_000_000_000,
        gpus=(Gpu(name="NVIDIA GeForce RTX 3050", total=6_000_000_000, free=5_500_000_000),),
    ),
    gpu_share=0.8,
)


def setting(name: str, value: str, source: str, *below: EffectiveValue) -> EffectiveValue:
    return EffectiveValue(name=name, value=value, source=source, beneath=below)


def known_details(**more: object) -> ModelDetails:
    """Describe a model of which everything is known."""
    file = "~/.config/ollm/config.toml:7, options.temperature"
    made = ModelDetails(
        ref=REF,
        info=ModelInfo(
            name="qwen3:8b",
            size_bytes=5_225_388_164,
            modified_at="2026-10-03T08:15:00Z",
            capability=ModelCapability(
                _TEXT, _TEXT, frozenset({"tool_use", "thinking", "stream", "multi_turn"})
            ),
            context=8192,
            loaded=True,
            details={
                "family": "qwen3",
                "quantization": "Q4_K_M",
                "parameter_size": "8.2B",
                "tokenizer": "gpt2",
                "format": "gguf",
                "memory_bytes": 6_600_000_000,
            },
        ),
        place="Ollama at http://127.0.0.1:11434",
        licence=LICENCE,
        template=TEMPLATE,
        parameters=(("stop", "<|im_start|>"), ("stop", "<|im_end|>"), ("temperature", "0.6")),
        settings=(
            setting("temperature", "0.2", file, setting("temperature", "0.6", "the model file")),
            setting("top_p", "", "the default of Ollama"),
            setting("stop", '["<|im_start|>", "<|im_end|>"]', "the model file"),
            setting("num_ctx", "8192", "/set in this chat"),
        ),
        context=ContextFacts(
            tokens=8192,
            source="/set in this chat",
            trained=40_960,
            configured=8192,
            configured_by="/set in this chat",
            loaded=8192,
            reported=8192,
        ),
        fit=_FIT,
        until="2026-11-20T12:30:00+00:00",
        gpu_share=0.8,
    )
    return replace(made, **more)  # type: ignore[arg-type]  # a test names the fields it changes


PLACES = {"embedded": "On this machine", "vllm": "vLLM at http://big-box:8000"}


@dataclass(eq=False)
class ScriptedManager(ModelManager):
    """Does what it is told, and keeps what was asked; `held` waits until the test lets go."""

    refused: dict[str, dict[ModelAction, str]] = field(default_factory=dict)
    """Providers with what their models do not take, and why."""
    done: list[tuple[object, ...]] = field(default_factory=list)
    loaded: list[tuple[ModelRef, ModelInfo]] = field(default_factory=list)
    fails: AIError | None = None
    held: anyio.Event | None = None
    details: dict[ModelRef, ModelDetails] = field(default_factory=dict)
    known_models: KnownModels = field(default_factory=KnownModels)

    async def unavailable_reasons(self, ref: ModelRef) -> Mapping[ModelAction, str | None]:
        refused = self.refused.get(ref.provider, {})
        return {deed: refused.get(deed) for deed in MODEL_ACTIONS}

    async def one_in_memory(self, ref: ModelRef) -> ModelInfo | None:
        return next((info for at, info in self.loaded if at == ref), None)

    def place(self, ref: ModelRef) -> str:
        return PLACES.get(ref.provider, "Ollama at http://localhost:11434")

    async def show(self, ref: ModelRef) -> ModelDetails:
        await self._do("show", ref)
        return self.details.get(ref) or ModelDetails(
            ref=ref, info=ModelInfo(name=ref.model), place=self.place(ref)
        )

    async def run(self, action: ModelAction, ref: ModelRef, value: str | None = None) -> ModelRef:
        await self._do(action, ref, *([value] if action in {"load", "copy"} else []))
        return ModelRef(ref.provider, value or "") if action == "copy" else ref

    async def running(self) -> Sequence[tuple[ModelRef, ModelInfo]]:
        return tuple(self.loaded)

    async def _do(self, *asked: object) -> None:
        self.done.append(asked)
        if self.held is not None:
            await self.held.wait()
        if self.fails is not None:
            raise self.fails


REFUSAL = AIError(
    ErrorCode.SERVICE_UNAVAILABLE,
    "Ollama does not answer at localhost:11434.",
    hint="Start it with `ollama serve`.",
)


@dataclass(eq=False)
class ManagedRuntime(ScriptedRuntime):
    manager: ScriptedManager = field(default_factory=ScriptedManager)
