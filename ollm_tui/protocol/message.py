"""One message of a conversation, and the usage and timings of an answer."""

from collections.abc import Mapping
from typing import Final, TypeAlias

from ollm_tui.dataclass import dataclass, field
from ollm_tui.protocol.blocks import Block, Content, content_to_text, normalize_content
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.tools import ToolCall

Role: TypeAlias = str
"""`system`, `user`, `assistant`, `tool`, or any other string a provider understands."""

FinishReason: TypeAlias = str
"""`stop`, `length`, `content_filter`, `tool_calls`, `abort`, `error`, or as the server sent it."""

JINJA: Final = ("hf", "jinja2")
"""The names of the template language that messages may be written in, and that llama.cpp and vLLM
render chat templates in."""

ACCEPTED: Final[Mapping[str, bool]] = {"accepted": True}
"""Marks a field that adapters send or leave out on purpose; the others are refused when set."""

CHECKED: Final = "schema"
"""The metadata key of an answer that was checked against a JSON Schema: `valid` or `invalid`."""

COMMAND: Final = "command"
"""The metadata key of a message with the output of a command that the user ran."""
COMPACTION: Final = "compaction"
"""The metadata key of a message that stands for all messages before it: how it was made."""
SUMMARY: Final = "summary"
LEFT_OUT: Final = "left_out"
"""The messages before it were left out, and it says so."""

TEMPLATE_VALUES: Final = "template_values"
"""The metadata key for the variables of a message that is a template."""


@dataclass(frozen=True, slots=True, init=False)
class Message:
    """One turn of a conversation.

    Raises:
        AIError: BAD_REQUEST if the role is empty, or there is neither a block nor a call.
    """

    role: Role = field(metadata=ACCEPTED)
    content: tuple[Block, ...] = field(metadata=ACCEPTED)
    name: str | None = field(metadata=ACCEPTED)
    """Name of the tool whose result this is, or a display name."""
    tool_calls: tuple[ToolCall, ...] = field(metadata=ACCEPTED)
    tool_call_id: str | None = field(metadata=ACCEPTED)
    template_format: str | None
    """`hf` or `jinja2` if the text is a template in Jinja, whose variables are in `metadata` below
    `template_values`. It is rendered before the request is sent, and the history keeps what was
    sent. None, the default, is plain text, which is never rendered."""
    metadata: Mapping[str, JsonValue] = field(metadata=ACCEPTED)
    """Keys of the application; they are never sent. A template uses those of `template_values`."""

    def __init__(  # noqa: PLR0913 -- the vocabulary fixes these fields
        self,
        role: Role,
        content: Content = "",
        *,
        name: str | None = None,
        tool_calls: tuple[ToolCall, ...] | list[ToolCall] = (),
        tool_call_id: str | None = None,
        template_format: str | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
    ) -> None:
        blocks = normalize_content(content)
        if not role:
            raise AIError(ErrorCode.BAD_REQUEST, "A message needs a role.")
        if not blocks and not tool_calls and role != "tool":
            raise AIError(ErrorCode.BAD_REQUEST, f"The {role} message is empty.")
        put = object.__setattr__
        put(self, "role", role)
        put(self, "content", blocks)
        put(self, "name", name)
        put(self, "tool_calls", tuple(tool_calls))
        put(self, "tool_call_id", tool_call_id)
        put(self, "template_format", template_format)
        put(self, "metadata", dict(metadata or {}))

    @property
    def text(self) -> str:
        """The message's text without its thinking."""
        return content_to_text([b for b in self.content if b.type == "text"])


def is_compaction(message: Message) -> bool:
    """Whether a message stands for all messages before it, which are no longer sent."""
    return message.role == "user" and message.metadata.get(COMPACTION) in (SUMMARY, LEFT_OUT)


def has_template_marks(text: str) -> bool:
    """Whether Jinja would change a text, or Go's language would."""
    return any(mark in text for mark in ("{{", "{%", "{#"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts as the server reported them; None is unknown, not zero."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    extra: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """How long the parts of an answer took, in seconds; None is unknown."""

    first_token_s: float | None = None
    """From sending the request to the first text or thinking, as measured by the client."""
    total_s: float | None = None
    load_s: float | None = None
    prompt_s: float | None = None
    generation_s: float | None = None
    tokens_per_s: float | None = None


def is_template(message: Message) -> bool:
    """Whether its text is written in the language of templates."""
    return message.template_format is not None
