"""How much a model thinks before it answers, and how its thinking is marked."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

ThinkingMode: TypeAlias = Literal["off", "last", "first", "deep"]
"""`last`: answer, then reasons; `first`: reasons, then answer; `deep`: long thinking first."""
ThinkingEffort: TypeAlias = Literal["low", "medium", "high"]


@dataclass(frozen=True, slots=True)
class TagPattern:
    """A tag given as a pattern: where it starts and where it ends, as two expressions."""

    start: str
    end: str


TagSpec: TypeAlias = str | tuple[str, str] | TagPattern
"""A single delimiter, a pair of tags, or a pattern."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingConfig:
    """Thinking, as set for a model or a request.

    A request chooses the mode; tags and prompts belong to the model.
    """

    mode: ThinkingMode
    effort: ThinkingEffort | None = None
    visible: bool | None = None
    depth: int | None = None
    steps: int | None = None
    think_tag: TagSpec | None = None
    answer_tag: TagSpec | None = None
    starts_open: bool = False
    """Whether the prompt opened the block already, so that the stream starts inside it."""
    skip_default_prompt: bool = False
    prompts: dict[str, str] | None = None


ShouldThink: TypeAlias = bool | ThinkingMode | ThinkingConfig


def thinking_mode(value: ShouldThink | None) -> ThinkingMode | None:
    """Return the mode of any value; None stays None, `True` is `last`."""
    match value:
        case None:
            return None
        case True:
            return "last"
        case False:
            return "off"
        case ThinkingConfig():
            return value.mode
        case _:
            return value
