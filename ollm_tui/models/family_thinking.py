"""What a family file may say of thinking, with what this makes of a request.

Specification: 05, "Thinking Configuration". Keys of our own are below `switch`, and `efforts`,
`startsOpen` and `channels`.
"""

from typing import Annotated, ClassVar, Literal, TypeAlias

from ollm_tui.config.values import Text
from ollm_tui.config.yaml_file import PatternText
from ollm_tui.dataclass import dataclass
from ollm_tui.models.name_pattern import NamePattern
from ollm_tui.models.thinking import ThinkingSupport
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.request import (
    TagPattern,
    TagSpec,
    ThinkingChannels,
    ThinkingEffort,
    ThinkingMode,
    ThinkingSwitch,
)
from ollm_tui.sections.marks import Bounds, Check, Length
from ollm_tui.sections.section import Section, setting


class FamilySection(Section):
    """A table of a family file."""

    __slots__ = ()
    in_camel_case: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch(FamilySection):
    """How thinking is switched in the prompt."""

    variable: Text | None = None
    """A variable of the chat template that is true or false: `enable_thinking`."""
    effort_variable: Text | None = None
    """A variable of the chat template that takes an effort: `reasoning_effort`."""
    on_text: Text | None = None
    off_text: Text | None = None
    """Words in the prompt: `/think`, `/no_think`."""
    text_in: Literal["system", "user"] | None = None
    """Which message has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Channels(FamilySection):
    """The tags of a model that writes messages, each in a channel."""

    start: Text
    channel: Text
    text: Text
    ends: Annotated[list[Text], Length(1)]
    thinking: Annotated[list[Text], Length(1)]
    """The channels of thinking."""
    calls_to: Text | None = None
    """What the recipients of tool calls begin with."""

    def tags(self) -> ThinkingChannels:
        """Return them as parsers take them."""
        return ThinkingChannels(
            start=self.start,
            channel=self.channel,
            text=self.text,
            ends=tuple(self.ends),
            thinking=tuple(self.thinking),
            calls_to=self.calls_to or "",
        )


Tag: TypeAlias = Text | PatternText | list[Text] | list[PatternText]


def tag_of(tag: Tag | None) -> TagSpec | None:
    """Return a tag as parsers take it.

    Raises:
        ValueError: it cannot be searched for in a stream.
    """
    spec: TagSpec | None
    match tag:
        case None | str():
            spec = tag
        case PatternText():
            spec = TagPattern(_expression(tag), "")
        case [PatternText() as start, PatternText() as end]:
            spec = TagPattern(_expression(start), _expression(end))
        case [str() as one]:
            spec = one
        case [str() as start, str() as end]:
            spec = (start, end)
        case _:
            raise ValueError("must be one tag, or a list of a start and an end")
    try:
        ThinkingSupport(think_tag=spec)
    except AIError as error:
        raise ValueError(f"cannot be used: {error.message.rstrip('.')}") from None
    return spec


def _expression(tag: PatternText) -> str:
    return NamePattern(tag, is_built_in=False).text


def _check_tag(tag: Tag) -> None:
    tag_of(tag)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkPrompts(FamilySection):
    """Instructions that make a model think which does not do so by itself."""

    first_think_prompt: Text | None = None
    last_think_prompt: Text | None = None
    deep_think_prompt: Text | None = None
    role_prompt: Text | None = None
    """What stands before them."""

    def by_mode(self) -> dict[str, str]:
        """Return them by mode, that of the role as `role`."""
        prompts = {
            "first": self.first_think_prompt,
            "last": self.last_think_prompt,
            "deep": self.deep_think_prompt,
            "role": self.role_prompt,
        }
        return {name: text for name, text in prompts.items() if text is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultThinkPrompt(FamilySection):
    """The instructions, with the format of their templates."""

    prompt: ThinkPrompts
    template_format: Literal["hf", "jinja2"] | None = None
    """None for texts with `{depth}`, `{steps}`, `{start}` and `{end}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking(FamilySection):
    """How models of a family think, as spec 05 has it with `shouldThink`."""

    mode: ThinkingMode | None = None
    """The default."""
    effort: ThinkingEffort | None = None
    efforts: list[ThinkingEffort] = setting([])
    visible: bool | None = None
    depth: Annotated[int, Bounds(ge=1)] | None = None
    steps: Annotated[int, Bounds(ge=1)] | None = None
    think_tag: Annotated[Tag, Check(_check_tag)] | None = None
    answer_tag: Annotated[Tag, Check(_check_tag)] | None = None
    starts_open: bool = False
    """Whether the chat template ends inside the thinking."""
    channels: Channels | None = None
    skip_default_prompt: bool = False
    default_think_prompt: DefaultThinkPrompt | None = None
    switch: Switch | None = None

    def on_model_of(self, family: "Thinking") -> "Thinking":
        """Return this with what it leaves open of how a family's models were made.

        That is their switch, their tags and their efforts; the rest is for these settings alone.
        """
        made: dict[str, object] = {}
        if self.switch is None:
            made["switch"] = family.switch
        tags = (self.think_tag, self.answer_tag, self.channels)
        if not self.starts_open and all(tag is None for tag in tags):
            names = ("think_tag", "answer_tag", "starts_open", "channels")
            made |= {name: getattr(family, name) for name in names}
        if not self.efforts and self.effort in (None, *family.efforts):
            made["efforts"] = family.efforts
        return self.changed(**made)

    def support(
        self,
        modes: frozenset[ThinkingMode],
        blank: str | None = None,
        *,
        is_declared_by_user: bool = False,
    ) -> ThinkingSupport:
        """Return what drives parser and request.

        `modes` are those of `supports`, `blank` is `prompt.blankThink`. What the user declares
        tells by a switch, or by a template that opens the thinking, that a model was made to think.
        """
        switch, prompts = self._switch(blank), self.default_think_prompt
        return ThinkingSupport(
            modes=modes,
            default=self.mode,
            effort=self.effort,
            efforts=tuple(self.efforts) or ((self.effort,) if self.effort else ()),
            think_tag=tag_of(self.think_tag),
            answer_tag=tag_of(self.answer_tag),
            starts_open=self.starts_open,
            channels=self.channels.tags() if self.channels else None,
            switch=switch,
            visible=self.visible,
            depth=self.depth,
            steps=self.steps,
            skip_default_prompt=self.skip_default_prompt,
            prompts=prompts.prompt.by_mode() if prompts else None,
            prompt_format=prompts.template_format if prompts else None,
            thinks_by_itself=not is_declared_by_user or self.starts_open or not switch.is_empty,
            is_declared_by_user=is_declared_by_user,
        )

    def _switch(self, blank: str | None) -> ThinkingSwitch:
        switch = self.switch or Switch()
        return ThinkingSwitch(
            variable=switch.variable,
            effort_variable=switch.effort_variable,
            on_text=switch.on_text,
            off_text=switch.off_text,
            text_in=switch.text_in or "user",
            blank=blank,
        )
