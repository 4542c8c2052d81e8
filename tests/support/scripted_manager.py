"""A model with everything that can be known of one, and a manager that has such models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ollm_tui.library.fit import Fit
from ollm_tui.library.machine import Gpu, Machine
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing
from ollm_tui.runtime.actions import MODEL_ACTIONS, ModelAction
from ollm_tui.runtime.details import ContextFacts, EffectiveValue, ModelDetails
from tests.support.scripted import ScriptedCatalog, ScriptedRuntime

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
            told=8192,
        ),
        fit=_FIT,
        until="2026-11-20T12:30:00+00:00",
        gpu_share=0.8,
    )
    return replace(made, **more)  # type: ignore[arg-type]  # a test names the fields it changes


@dataclass
class ScriptedManager:
    """Has models, and writes down what is done with them."""

    details: ModelDetails = field(default_factory=known_details)
    refusals: dict[ModelAction, str | None] = field(
        default_factory=lambda: dict.fromkeys(MODEL_ACTIONS)
    )
    refuses: AIError | None = None
    done: list[tuple[str, ...]] = field(default_factory=list)

    async def unavailable_reasons(self, ref: ModelRef) -> Mapping[ModelAction, str | None]:
        return self.refusals

    def place(self, ref: ModelRef) -> str:
        return self.details.place

    async def show(self, ref: ModelRef) -> ModelDetails:
        self.do("show", str(ref))
        return replace(self.details, ref=ref)

    async def delete(self, ref: ModelRef) -> None:
        self.do("delete", str(ref))

    async def copy(self, ref: ModelRef, name: str) -> ModelRef:
        self.do("copy", str(ref), name)
        return ModelRef(ref.provider, name)

    async def load(self, ref: ModelRef, *, keep_alive: str | None = None) -> None:
        self.do("load", str(ref), keep_alive or "")

    async def unload(self, ref: ModelRef) -> None:
        self.do("unload", str(ref))

    async def running(self) -> Sequence[tuple[ModelRef, ModelInfo]]:
        return [(self.details.ref, self.details.info)]

    def do(self, *action: str) -> None:
        if self.refuses is not None:
            raise self.refuses
        self.done.append(action)


class ManagedRuntime(ScriptedRuntime):
    """A scripted runtime whose models can be managed."""

    def __init__(self, manager: ScriptedManager | None = None) -> None:
        infos = tuple(ModelInfo(name=name) for name in ("qwen3:8b", "gemma3:4b"))
        super().__init__(
            catalog=ScriptedCatalog(Listing(provider="local", label="Ollama", models=infos))
        )
        self.manager = manager or ScriptedManager()
