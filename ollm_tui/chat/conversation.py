"""A conversation: its messages, its model and its settings."""

from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Final

from ollm_tui.chat.prompt import is_question, turn_starts
from ollm_tui.chat.sent_history import SentHistory
from ollm_tui.dataclass import dataclass, field
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonMapping
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import GenerationOptions, ShouldThink
from ollm_tui.protocol.sent_messages import selected
from ollm_tui.tokens.count import TokenCount

_CALLS: Final = attrgetter("tool_calls")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedPrompt:
    """The token count of a request, and its estimate at that moment."""

    model: str
    count: TokenCount
    estimate: int


@dataclass(frozen=True, slots=True)
class SystemTemplate:
    """A system prompt that is rendered for each prompt."""

    text: str
    format: str
    """`hf` or `jinja2`."""


@dataclass(slots=True, kw_only=True)
class Conversation:
    """The state that a chat client reads and extends."""

    own_title: str | None = None
    """The title that the user gave; None takes it from the first prompt."""
    made_title: str | None = None
    """The title that a model made; the one that the user gave counts more."""
    profile: str | None = None
    """Name of the profile that was chosen last; single settings may have changed since."""
    model: str | None = None
    """`provider://model` or a bare name; None until one is chosen."""
    system_prompt: str | None = None
    system_template: SystemTemplate | None = None
    """The system prompt if it is a template; any other text in `system_prompt` is plain."""
    rendered_system: tuple[SystemTemplate, str] | None = None
    """What a template was rendered to last, for figures before it is rendered again."""
    options: GenerationOptions = field(default_factory=GenerationOptions)
    should_think: ShouldThink | None = None
    tools: tuple[str, ...] = ()
    """Names of the tools on offer; none by default."""
    schema_file: str | None = field(default=None, compare=False)
    """Absolute path of the file of `schema`, if it is known."""
    turns_left_out: int = 0
    """Number of the oldest turns that are not sent, to make room; they stay in the history."""
    drops_attachments: bool = False
    """Whether pictures and sound are not sent, to make room."""
    messages: list[Message] = field(default_factory=list)
    blocks_used: int = 0
    """Number of block ids in use; the next one has the number after it."""
    dropped_call_ids: set[str] = field(default_factory=set)
    """Ids of calls in messages that were dropped; the id of a call that was run is never reused."""

    counted: CountedPrompt | None = field(default=None, compare=False)
    """The newest token count of a request."""
    sent_history: SentHistory = field(default_factory=SentHistory, compare=False, repr=False)
    """What is sent of the messages."""
    fields_left_out: set[tuple[str, str]] = field(default_factory=set)
    """Model and request field, for fields whose omission was already reported."""

    @property
    def system_prompt_format(self) -> str | None:
        """The language in which the system prompt is a template; None is plain text."""
        template = self.system_template
        return template.format if template and template.text == self.system_prompt else None

    @property
    def title(self) -> str | None:
        """The user's own, else a model's, else the first line of the first question."""
        texts = (message.text.strip() for message in self.messages if is_question(message))
        made = self.own_title or self.made_title
        return made or next((text.splitlines()[0] for text in texts if text), None)

    @property
    def schema(self) -> JsonMapping | None:
        """The JSON Schema that answers must match."""
        wanted = self.options.response_format
        return wanted if isinstance(wanted, Mapping) else None

    @schema.setter
    def schema(self, schema: JsonMapping | None) -> None:
        self.use_schema(schema)

    def use_schema(self, schema: JsonMapping | None, file: str | None = None) -> None:
        """Have answers match a JSON Schema, from the file of that path if it is from one."""
        wanted = None if schema is None else dict(schema)
        self.options = replace(self.options, response_format=wanted)
        self.schema_file = file

    def last_answer(self) -> str | None:
        """The text of the newest answer, stopped or not."""
        texts = (m.text for m in reversed(self.messages) if m.role == "assistant")
        return next((text for text in texts if text), None)

    def rewind_to_prompt(self) -> bool:
        """Drop everything after the newest question; False if there is none.

        Corrections sent to the model belong to the answer.
        """
        for position, message in reversed([*enumerate(self.messages, 1)]):
            if is_question(message):
                self.rewind(position)
                return True
        return False

    def rewind(self, kept: int) -> None:
        """Drop all but the first `kept` messages."""
        self.dropped_call_ids = self.call_ids()
        del self.messages[kept:]
        # Else newer turns would be left out in place of those that were dropped.
        self.turns_left_out = min(self.turns_left_out, len(turn_starts(self.messages)))

    def call_ids(self) -> set[str]:
        """Return the ids of all tool calls so far, of dropped ones too."""
        calling = selected(self.sent_history.whole(self.messages), _CALLS)
        kept = {call.id for message in calling for call in message.tool_calls}
        return kept | self.dropped_call_ids

    def next_block(self) -> str:
        """Return a block id that this conversation has not used."""
        self.blocks_used += 1
        return f"b{self.blocks_used}"


def template_of(system_prompt: str | None, language: str | None) -> SystemTemplate | None:
    """Return a system prompt as a template, if it is one."""
    return SystemTemplate(system_prompt, language) if system_prompt and language else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """What a conversation starts with by the settings, or gets from one of their profiles."""

    profile: str | None = None
    model: str | None = None
    """The model that the profile itself names."""
    system_prompt: str | None = None
    system_prompt_format: str | None = None
    schema: JsonMapping | None = None
    """The JSON Schema that answers must match; None keeps the one of the conversation."""
    schema_file: str | None = None
    schema_problem: AIError | None = None
    """Why the schema that the profile names cannot be used."""
    options: GenerationOptions = field(default_factory=GenerationOptions)
    should_think: ShouldThink | None = None
    tools: tuple[str, ...] = ()
    missing_tools: tuple[str, ...] = ()
    """Tools that the settings name and that do not exist."""

    def apply_to(self, conversation: Conversation) -> None:
        """Use it from the next prompt on; the model stays, since it must be found first."""
        conversation.profile = self.profile
        conversation.system_prompt = self.system_prompt
        conversation.system_template = template_of(self.system_prompt, self.system_prompt_format)
        wanted, file = conversation.schema, conversation.schema_file
        if self.schema is not None:
            wanted, file = self.schema, self.schema_file
        conversation.options = self.options
        if wanted is not None:
            conversation.use_schema(wanted, file)
        conversation.should_think = self.should_think
        conversation.tools = self.tools
