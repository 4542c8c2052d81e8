"""A scripted runtime that also manages models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from ollm_tui.library.machine import Machine
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.runtime.actions import MODEL_ACTIONS, ModelAction
from ollm_tui.runtime.details import ModelDetails
from tests.support.scripted import ScriptedRuntime

PLACES = {"embedded": "On this machine", "vllm": "vLLM at http://big-box:8000"}


@dataclass
class ScriptedManager:
    """Does what it is told, and keeps what was asked; `held` waits until the test lets go."""

    refused: dict[str, dict[ModelAction, str]] = field(default_factory=dict)
    """Providers with what their models do not take, and why."""
    done: list[tuple[object, ...]] = field(default_factory=list)
    in_memory: list[tuple[ModelRef, ModelInfo]] = field(default_factory=list)
    fails: AIError | None = None
    held: anyio.Event | None = None
    details: dict[ModelRef, ModelDetails] = field(default_factory=dict)

    async def unavailable_reasons(self, ref: ModelRef) -> Mapping[ModelAction, str | None]:
        refused = self.refused.get(ref.provider, {})
        return {action: refused.get(action) for action in MODEL_ACTIONS}

    def place(self, ref: ModelRef) -> str:
        return PLACES.get(ref.provider, "Ollama at http://localhost:11434")

    async def show(self, ref: ModelRef) -> ModelDetails:
        await self._do("show", ref)
        return self.details.get(ref) or ModelDetails(
            ref=ref, info=ModelInfo(name=ref.model), place=self.place(ref)
        )

    async def delete(self, ref: ModelRef) -> None:
        await self._do("delete", ref)

    async def copy(self, ref: ModelRef, name: str) -> ModelRef:
        await self._do("copy", ref, name)
        return ModelRef(ref.provider, name)

    async def load(self, ref: ModelRef, *, keep_alive: str | None = None) -> None:
        await self._do("load", ref, keep_alive)

    async def unload(self, ref: ModelRef) -> None:
        await self._do("unload", ref)

    async def running(self) -> Sequence[tuple[ModelRef, ModelInfo]]:
        return tuple(self.in_memory)

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


@dataclass
class ManagingRuntime(ScriptedRuntime):
    """A runtime whose models can be managed."""

    manager: ScriptedManager = field(default_factory=ScriptedManager)
    has: Machine = field(default_factory=Machine)

    async def machine(self) -> Machine:
        return self.has
