"""The request to a provider with its options, and the whole answer if it is not streamed."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from ollm_tui.dataclass import dataclass, field
from ollm_tui.protocol.blocks import (
    Block,
    Content,
    ImageContent,
    content_to_text,
    normalize_content,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.keep_alive import checked_keep_alive
from ollm_tui.protocol.message import FinishReason, Message, Usage, is_template
from ollm_tui.protocol.sent_messages import selected
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.tools import ToolCall, ToolChoice, ToolSchema

ThinkingMode: TypeAlias = Literal["off", "last", "first", "deep"]
"""`last`: answer, then reasons; `first`: reasons, then answer; `deep`: long thinking first."""
ThinkingEffort: TypeAlias = Literal["low", "medium", "high"]
RESERVED_BODY_KEYS = frozenset({"model", "messages", "stream"})


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

    A request chooses the mode; tags and prompts belong to the model, and a request's count only
    where the model has none.
    """

    mode: ThinkingMode | None = None
    """None is the mode in which the model thinks by default."""
    effort: ThinkingEffort | None = None
    visible: bool | None = None
    """False folds thinking away in the chat, and leaves it out of the output of commands."""
    depth: int | None = None
    """How many levels deep to think, at most; said to the model."""
    steps: int | None = None
    """How many steps to think in, at most; said to the model."""
    think_tag: TagSpec | None = None
    answer_tag: TagSpec | None = None
    starts_open: bool = False
    """Whether the prompt opened the block already, so that the stream starts inside it."""
    skip_default_prompt: bool = False
    """Whether a model that does not think by itself gets no instructions but those of `prompts`."""
    prompts: Mapping[str, str] | None = None
    """Instructions by mode (`first`, `last`, `deep`), and `role`, which stands before them."""


ShouldThink: TypeAlias = bool | ThinkingMode | ThinkingConfig
ThinkingLevel: TypeAlias = Literal["off", "on", "first", "last", "deep", "low", "medium", "high"]
THINKING_LEVELS: Final[Mapping[str, ShouldThink]] = {
    "off": False,
    "on": True,
    "first": "first",
    "last": "last",
    "deep": "deep",
    "low": ThinkingConfig(effort="low"),
    "medium": ThinkingConfig(effort="medium"),
    "high": ThinkingConfig(effort="high"),
}
"""What the user chooses, as `/think` and the settings take it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingChannels:
    """The tags of a model that writes messages, each in a channel."""

    start: str
    """Before the role of a message."""
    channel: str
    """Before the name of its channel."""
    text: str
    """Before its text."""
    ends: tuple[str, ...]
    thinking: tuple[str, ...]
    """The channels of thinking; all others are parts of the answer."""
    calls_to: str = ""
    """What the recipients of tool calls begin with; empty if there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingSwitch:
    """How the thinking of a model is switched in its prompt; empty if there is no such way."""

    variable: str | None = None
    """A variable of the chat template that is true or false: `enable_thinking`."""
    effort_variable: str | None = None
    """A variable of the chat template that takes an effort: `reasoning_effort`."""
    on_text: str | None = None
    off_text: str | None = None
    """Words in the prompt: `/think`, `/no_think`."""
    text_in: Literal["system", "user"] = "user"
    """Which message has them: the system prompt, or the newest of the user."""
    blank: str | None = None
    """What begins an answer that has no thinking: an empty block."""

    @property
    def is_empty(self) -> bool:
        """Whether no way is known."""
        return self == ThinkingSwitch(text_in=self.text_in)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingPlan:
    """The thinking of one request on its model: what is sent, and how the answer is divided.

    Made of the request's `should_think` and of what is known of the model.
    """

    mode: ThinkingMode | None = None
    """How the model will think, by wish or by default; None if that is not known."""
    is_on: bool | None = None
    """What the server is told; None tells it nothing: no choice was made, or only instructions in
    the prompt make the model think."""
    is_default: bool = False
    """Whether the model does so by itself and unasked."""
    effort: ThinkingEffort | None = None
    """The effort that the server is told."""
    lost_effort: ThinkingEffort | None = None
    """The effort that was wanted, if the model has none."""
    think_tag: TagSpec | None = None
    answer_tag: TagSpec | None = None
    starts_open: bool = False
    """Whether the chat template opens the block, so that an answer that the server does not divide
    begins inside it."""
    channels: ThinkingChannels | None = None
    """How a server that divides nothing passes the answer on, if the model writes in channels."""
    switch: ThinkingSwitch | None = None
    """None if nothing is known of the model's prompt."""
    is_known_to_engine: bool = True
    """Whether the engine knows that the model thinks, so that its own switch may be used."""
    is_visible: bool = True
    instructions: str | None = None
    """What the system prompt of the request says of thinking, at its end."""


def thinking_level(wanted: ShouldThink | None) -> str | None:
    """Return the word for a choice of thinking; None if there is none for it."""
    for level, known in THINKING_LEVELS.items():
        if wanted == known and type(wanted) is type(known):
            return level
    return None


def thinking_mode(value: ShouldThink | None) -> ThinkingMode | None:
    """Return the mode of any value; None stays None, an unnamed one is `last`."""
    match value:
        case None:
            return None
        case True:
            return "last"
        case False:
            return "off"
        case ThinkingConfig():
            return value.mode or "last"
        case _:
            return value


@dataclass(frozen=True, slots=True)
class OptionForm:
    """How the user writes the value of an option."""

    form: str
    """Completes the sentence "It takes ..."."""
    example: str
    low: float = -(2**63)
    high: float = 2**63 - 1


def _option(form: str, example: str, *limits: float) -> Any:
    return field(default=None, metadata={"form": OptionForm(form, example, *limits)})


def _sampling(form: str, example: str, *limits: float) -> Any:
    """Return the field of an option that changes the choice of tokens."""
    metadata = {"form": OptionForm(form, example, *limits), "is_sampling": True}
    return field(default=None, metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationOptions:
    """Sampling and length; None is the server's default and is not sent.

    Raises:
        AIError: BAD_REQUEST if `extra_body` would replace the model, messages or streaming, or if
            `keep_alive` is not a duration.
    """

    temperature: float | None = _sampling("a number from 0 to 10, usually up to 2", "0.2", 0, 10)
    max_tokens: int | None = _option("a whole number from 1", "1024", 1)
    top_p: float | None = _sampling("a number from 0 to 1", "0.9", 0, 1)
    top_k: int | None = _sampling("a whole number from 0", "40", 0)
    min_p: float | None = _sampling("a number from 0 to 1", "0.05", 0, 1)
    repeat_penalty: float | None = _sampling("a number from 0 to 10", "1.1", 0, 10)
    presence_penalty: float | None = _sampling("a number from -2 to 2", "1.5", -2, 2)
    frequency_penalty: float | None = _sampling("a number from -2 to 2", "0.5", -2, 2)
    seed: int | None = _sampling("a whole number", "42")
    stop: tuple[str, ...] | None = _option(
        "one or more texts, quoted where they hold spaces", '"END"'
    )
    response_format: Literal["json"] | JsonObject | None = _option("the word json", "json")
    """`json`, or a JSON Schema for the answer."""
    num_ctx: int | None = _option("a whole number from 1", "8192", 1)
    """Context window to load the model with, in tokens, if the engine lets a request choose."""
    keep_alive: str | float | None = _option("seconds, a time like 5m, or forever", "5m")
    """How long the engine keeps the model loaded after the answer; see `parse_keep_alive`."""
    extra_body: JsonMapping | None = None
    """Further keys for the request body, passed through unchanged."""

    def __post_init__(self) -> None:
        taken = RESERVED_BODY_KEYS.intersection(self.extra_body or {})
        if taken:
            raise AIError(
                ErrorCode.BAD_REQUEST,
                f"extra_body may not set {', '.join(sorted(taken))}.",
                hint="Use the request's own fields for these.",
            )
        if self.keep_alive is not None:
            object.__setattr__(self, "keep_alive", checked_keep_alive(self.keep_alive))


SAMPLING_OPTIONS: Final = tuple(
    option.name for option in fields(GenerationOptions) if option.metadata.get("is_sampling")
)
"""The options that change the choice of tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of one model: a conversation (`messages`) or a single input, never both."""

    model: str
    messages: Sequence[Message] | None = None
    input: Content | None = None
    output: str | None = None
    """What is made of an input: `embedding`, another modality, or `music`. None is what its model
    makes."""
    suffix: str | None = None
    """The text after a gap: the input is the text before it, and the answer fills the gap."""
    mask: ImageContent | None = None
    """Which part of the input's picture is drawn anew; the server says how it is marked."""
    system_prompt: str | None = None
    tools: Sequence[ToolSchema] = ()
    tool_choice: ToolChoice | None = None
    should_think: ShouldThink | None = None
    thinking: ThinkingPlan | None = None
    """What the chat made of `should_think` for this model; None if nothing is known of it."""
    options: GenerationOptions = field(default_factory=GenerationOptions)
    stream: bool = True
    template_format: str | None = None
    """The language in which `system_prompt` is a template, `hf` or `jinja2`; None is plain text.
    Messages name their own: no other text becomes a template because a request names a language."""
    template_values: JsonMapping | None = None
    """Values for the variables of all templates; those in the `metadata` of a message, below the
    same name, override them."""
    state_folder: Path | None = None
    """Where an engine of this machine may keep what it has read of the chat; None keeps nothing."""
    signal: AbortSignal | None = None

    def __post_init__(self) -> None:
        if not self.model:
            raise AIError(ErrorCode.BAD_REQUEST, "The request names no model.")
        if (self.messages is None) == (self.input is None):
            raise AIError(
                ErrorCode.BAD_REQUEST, "A request takes either messages or an input, not both."
            )
        if self.messages is not None and not self.messages and not self.system_prompt:
            raise AIError(ErrorCode.BAD_REQUEST, "The conversation is empty.")

    @property
    def offered_tools(self) -> tuple[ToolSchema, ...]:
        """The tools to send: none with a single input, none if the choice is `none`."""
        if self.input is not None or self.tool_choice == "none":
            return ()
        return tuple(self.tools)

    @property
    def names_templates(self) -> bool:
        """Whether a text may have to be rendered before the request is sent."""
        if self.template_format is not None or self.template_values is not None:
            return True
        return bool(selected(self.messages or (), is_template))

    @property
    def conversation(self) -> tuple[Message, ...]:
        """The messages; a single input counts as one user message."""
        if self.messages is not None:
            return self.messages if isinstance(self.messages, tuple) else tuple(self.messages)
        return (Message("user", normalize_content(self.input or "")),)


def plan_of(request: Request) -> ThinkingPlan:
    """Return the plan of a request; without one from the chat, `should_think` alone counts.

    Nothing is known of the model then: every mode but `off` switches its own thinking on.
    """
    if request.thinking is not None:
        return request.thinking
    wish = request.should_think
    config = wish if isinstance(wish, ThinkingConfig) else ThinkingConfig()
    mode = thinking_mode(wish)
    is_named = isinstance(wish, str) or mode == "off" or config.mode is not None
    return ThinkingPlan(
        mode=mode if is_named else None,
        is_on=None if mode is None else mode != "off",
        effort=None if mode == "off" else config.effort,
        think_tag=config.think_tag,
        answer_tag=config.answer_tag,
        starts_open=config.starts_open,
        is_visible=config.visible is not False,
    )


@dataclass(frozen=True, slots=True)
class PromptToken:
    """One token of a prompt."""

    id: int
    text: str
    """As the server writes it: some write the space before a word as a sign of its own."""


@dataclass(frozen=True, slots=True)
class PromptText:
    """What an engine makes of a request: the text that its model gets."""

    text: str
    tokens: tuple[PromptToken, ...] | None = None
    """None if the engine does not report them."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """What the engine gives its template beside the chat, such as `bos_token`, if it says so."""
    system_prompt: str | None = None
    """The system prompt in it, where the provider has one for requests without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A whole answer."""

    content: tuple[Block, ...]
    finish_reason: FinishReason | None = None
    usage: Usage | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    value: JsonValue = None
    """What the answer is as JSON, if it had to match a JSON Schema."""
    others: tuple["Response", ...] = ()
    """The further answers, if the request asked for several."""

    @property
    def text(self) -> str:
        """The answer's text without its thinking."""
        return content_to_text([b for b in self.content if b.type == "text"])
