"""What is known of how models think, and what that makes of the requests of a chat."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, TypeAlias

from anyio import to_thread

from ollm_tui.dataclass import dataclass
from ollm_tui.models.capabilities import capabilities_of
from ollm_tui.models.thinking import (
    FEATURE,
    OPENS_THINKING,
    THINKING,
    ThinkingSupport,
    begun_by_template,
    on_engine,
    own_support,
    resolve_thinking,
)
from ollm_tui.models.thinking_prompts import (
    ThinkingPrompt,
    thinking_prompt,
    with_instructions,
)
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonMapping
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.request import ShouldThink, ThinkingPlan, thinking_level, thinking_mode
from ollm_tui.providers.router import ResolvedModel

FindThinking: TypeAlias = Callable[[ModelRef, ModelInfo | None], ThinkingSupport | None]
"""Returns what families and the settings beside its file say of a model; blocks."""
Render: TypeAlias = Callable[[str, JsonMapping], Awaitable[str]]
"""Renders a template with variables."""


@dataclass(frozen=True, slots=True)
class PlannedThinking:
    """The thinking of one prompt."""

    plan: ThinkingPlan | None = None
    """None if nothing is known of the model: the provider decides."""

    def in_system_prompt(self, text: str | None) -> str | None:
        """Return a system prompt with what it says of thinking."""
        return with_instructions(text, self.plan.instructions) if self.plan else text


NOTHING_PLANNED: Final = PlannedThinking()


def is_refused(error: AIError) -> bool:
    """Whether a model or its server cannot think as wanted, so that only the wish is in the way."""
    return error.details.get(FEATURE) == THINKING


def no_effect(wish: ShouldThink | None) -> str:
    """Return the sentence on a wish that the answer goes without."""
    word = thinking_level(wish) or thinking_mode(wish)
    return f'`thinking = "{word}"` has no effect.'


class ModelThinking:
    """Looks up how models think; may be shared by all chats.

    The user's settings for a model count first, then what the user declared beside its file or in
    a family, then the list of its engine, then a family of the program.
    """

    def __init__(self, find: FindThinking | None = None, render: Render | None = None) -> None:
        self._find = find
        self._render = render
        self._declared: dict[str, ThinkingSupport | None] = {}

    async def of(self, resolved: ResolvedModel) -> ThinkingSupport | None:
        """Return how a model thinks, None if nothing is known of it.

        It is looked up each time, because families and settings beside a model file may change.
        """
        if self._find is not None:
            self._declared[str(resolved.ref)] = await to_thread.run_sync(
                self._find, resolved.ref, resolved.info, abandon_on_cancel=True
            )
        return self.known(resolved)

    def known(self, resolved: ResolvedModel) -> ThinkingSupport | None:
        """Return the same from what was looked up before."""
        fact = capabilities_of(resolved.info).thinking if resolved.info else None
        is_said = fact is not None and fact.source != "assumed"
        is_set = fact is not None and fact.source == "set"
        support = on_engine(
            self._declared.get(str(resolved.ref)),
            thinks=fact.value if fact is not None and is_said else None,
            is_set=is_set,
        )
        details = resolved.info.details if resolved.info is not None else {}
        if details.get(OPENS_THINKING) is not True or (is_set and fact and not fact.value):
            return support
        return begun_by_template(support)

    async def plan(self, wish: ShouldThink | None, resolved: ResolvedModel) -> PlannedThinking:
        """Return what a wish means on this model.

        Raises:
            AIError: UNSUPPORTED_FEATURE for a mode that the model does not have; BAD_REQUEST for
                unusable tags, or instructions that cannot be rendered.
        """
        model = await self.of(resolved) or own_support(wish)
        if model is None:
            return NOTHING_PLANNED
        plan = resolve_thinking(wish, model)
        prompt = thinking_prompt(wish, plan, model)
        if prompt is not None:
            plan = replace(plan, instructions=await self._filled(prompt))
        return PlannedThinking(plan)

    def plan_known(self, wish: ShouldThink | None, resolved: ResolvedModel) -> PlannedThinking:
        """Return nearly the same for counting: templates are not rendered, nothing is refused."""
        model = self.known(resolved) or own_support(wish)
        if model is None:
            return NOTHING_PLANNED
        try:
            plan = resolve_thinking(wish, model)
        except AIError:  # reported when it is sent, without the wish if that came from settings
            return self.plan_known(None, resolved) if wish is not None else NOTHING_PLANNED
        prompt = thinking_prompt(wish, plan, model)
        if prompt is not None:
            plan = replace(plan, instructions=prompt.filled(prompt.text))
        return PlannedThinking(plan)

    async def _filled(self, prompt: ThinkingPrompt) -> str:
        if prompt.format is None or self._render is None:
            return prompt.filled(prompt.text)
        return await self._render(prompt.text, dict(prompt.variables))
