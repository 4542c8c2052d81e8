"""What is known of a model from its family and the settings beside its file."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from ollm_tui.config.origin import ConfigProblem
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.leaked_forms import ToolTag
from ollm_tui.models.thinking import ThinkingSupport
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.model import ModelCapability

if TYPE_CHECKING:
    from ollm_tui.models.family_schema import Ability, SlidingWindow
    from ollm_tui.models.family_thinking import Switch, Thinking

Layer: TypeAlias = Literal["sidecar", "family"]
ToolUse: TypeAlias = Literal["native", "react", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownValue:
    """One value with its origin, and the values that it overrides."""

    name: str
    """As the file has it: `temperature`, `thinkTag`, `context`."""
    value: JsonValue
    origin: str
    """`the family Qwen, variant qwen3 (qwen.yaml:31)`."""
    layer: Layer
    beneath: tuple["KnownValue", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingFacts:
    """How a model thinks, and how that is switched; what parsers and requests go by.

    `support` is what `resolve_thinking` takes. A model with modes but without `off` always thinks.
    """

    support: ThinkingSupport
    config: "Thinking"
    """As it is written, with efforts, visibility, limits and prompts."""
    blank: str | None = None
    """What begins the answer to suppress thinking: `prompt.blankThink`."""

    @property
    def thinks(self) -> bool:
        """Whether there is a mode other than `off`."""
        return bool(self.support.allowed - {"off"})

    @property
    def is_always_on(self) -> bool:
        """Whether thinking cannot be switched off."""
        return self.thinks and "off" not in self.support.allowed

    @property
    def switch(self) -> "Switch":
        """How it is switched; empty if there is no way but the engine's own."""
        # Loaded with the configuration.
        from ollm_tui.models.family_thinking import Switch

        return self.config.switch or Switch()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One of the six steps that lead from a name to values."""

    name: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelKnowledge:
    """All that families and sidecar say about one model; every field may be unknown."""

    name: str
    family: str | None = None
    variant: str | None = None
    """None is the default variant."""
    chain: tuple[str, ...] = ()
    """The family and those that it extends."""
    steps: tuple[Step, ...] = ()
    facts: tuple[KnownValue, ...] = ()
    """Everything but the parameters, with origins."""
    parameters: tuple[KnownValue, ...] = ()
    """Sampling options, by the names of `GenerationOptions`."""
    engine: tuple[KnownValue, ...] = ()
    """How the built-in engine loads the model, by the names of the settings."""
    abilities: "frozenset[Ability]" = frozenset()
    capability: ModelCapability | None = None
    thinking: ThinkingFacts | None = None
    tool_tags: tuple[ToolTag, ...] = ()
    """How it writes calls into its text, beside the usual forms."""
    context: int | None = None
    sliding_window: "SlidingWindow | None" = None
    system_prompt: str | None = None
    prompt: Mapping[str, str] = field(default_factory=dict)
    template: str | None = None
    template_format: str | None = None
    sources: tuple[str, ...] = ()
    sidecar: Path | None = None
    problems: tuple[ConfigProblem, ...] = ()
    """What is wrong with the files that concern it."""

    @property
    def parameters_in_use(self) -> tuple[KnownValue, ...]:
        """What fills the gaps of a request: the parameters, and the system prompt."""
        prompts = [
            replace(
                value,
                name="system_prompt",
                beneath=tuple(replace(one, name="system_prompt") for one in value.beneath),
            )
            for value in self.facts
            if value.name == "systemPrompt"
        ]
        return (*prompts, *self.parameters)

    @property
    def tool_mode(self) -> ToolUse | None:
        """How a model of this family takes tools; None without a family."""
        if self.capability is None:
            return None
        if "text" not in self.capability.output:
            return "none"
        return "native" if "tool_use" in self.capability.features else "react"
