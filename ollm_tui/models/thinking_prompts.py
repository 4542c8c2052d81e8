"""The instructions that make a model think which does not do so by itself; pure.

They go to the end of the system prompt. A model's own text for a mode replaces the one here; with
`skip_default_prompt` there is none but its own. Limits on depth and steps are said to every model
that thinks, unless its own text names them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.models.thinking import ThinkingSupport
from ollm_tui.models.thinking_tags import tags_of
from ollm_tui.protocol.request import ShouldThink, ThinkingConfig, ThinkingMode, ThinkingPlan

_DEFAULTS: Final[Mapping[ThinkingMode, str]] = {
    "first": "Think before you answer. {marked}",
    "deep": (
        "Think long and carefully before you answer: consider more than one way, check each step,"
        " and correct what is wrong. {marked}"
    ),
    "last": "Write your answer first. After it, explain how you came to it. {marked}",
}
_BETWEEN: Final = "Write your thinking between {start} and {end}, then write the answer."
_AFTER: Final = "Write the explanation between {start} and {end}."
_UP_TO: Final = "Begin with your thinking, then write {answer}, then the answer."
_STEPS: Final = "Think in at most {steps} steps."
_UNSET: Final = {"steps": "", "depth": "", "start": "", "end": ""}
"""What a template gets for those that are not set; any other variable must have a value."""
_DEPTH: Final = "Go at most {depth} levels deep in your thinking."


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingPrompt:
    """Instructions, and what their variables stand for."""

    text: str
    format: str | None
    """None replaces `{steps}` and the like; `hf` and `jinja2` are templates to be rendered."""
    variables: Mapping[str, str | int]

    def filled(self, text: str) -> str:
        """Return a text with the variables in braces replaced."""
        for name, value in self.variables.items():
            text = text.replace(f"{{{name}}}", str(value))
        return text


def thinking_prompt(
    wish: ShouldThink | None, plan: ThinkingPlan, model: ThinkingSupport
) -> ThinkingPrompt | None:
    """Return the instructions for one request, or None if it needs none."""
    if plan.mode is None or plan.mode == "off":
        return None
    own = wish if isinstance(wish, ThinkingConfig) else ThinkingConfig()
    limits = {"depth": own.depth or model.depth, "steps": own.steps or model.steps}
    set_limits = {name: value for name, value in limits.items() if value}
    prompts = model.prompts or own.prompts or {}
    is_default = not (model.skip_default_prompt or own.skip_default_prompt)
    is_default = is_default and model.is_instructed(plan.mode)
    text = prompts.get(plan.mode) or (_default(plan, plan.mode) if is_default else "")
    if text and (role := prompts.get("role")):
        text = f"{role}\n\n{text}"
    whole = "\n".join(part for part in (text, *_limits(set_limits, text)) if part)
    if not whole:
        return None
    language = model.prompt_format if prompts else None
    words: dict[str, str | int] = {}
    if language is not None:
        words = {**_UNSET, **(model.prompt_words or {})}
    variables = {**words, **_tags(plan), **set_limits, "mode": plan.mode}
    return ThinkingPrompt(text=whole, format=language, variables=variables)


def with_instructions(system_prompt: str | None, instructions: str | None) -> str | None:
    """Return a system prompt with the instructions after it."""
    texts = (system_prompt, instructions)
    return "\n\n".join(text for text in texts if text and text.strip()) or None


def _default(plan: ThinkingPlan, mode: ThinkingMode) -> str:
    between, up_to = (_AFTER, "") if mode == "last" else (_BETWEEN, _UP_TO)
    marked = between if "start" in _tags(plan) else up_to
    return _DEFAULTS[mode].replace("{marked}", marked).strip()


def _tags(plan: ThinkingPlan) -> dict[str, str]:
    """Return the spellings of the tags that a model is told to write."""
    tags = tags_of(plan)
    if not tags.pairs:
        return {"answer": tags.answer_starts[0].strip()}
    first = tags.pairs[0]
    return {"start": first.start.strip(), "end": first.end.strip()}


def _limits(limits: Mapping[str, int], text: str) -> Iterator[str]:
    """Yield what the limits say, as far as the text does not name them."""
    for name, sentence in (("depth", _DEPTH), ("steps", _STEPS)):
        if name in limits and not re.search(rf"\{{[{{%]?[^{{}}]*\b{name}\b", text):
            yield sentence.replace(f"{{{name}}}", str(limits[name]))
