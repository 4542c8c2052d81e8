"""The events of one prompt for a front end, in order; the last is one `Finish` or `ErrorEvent`.

`turn` counts from 1; `block` names a part of an answer and is unique in the conversation.
"""

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.message import FinishReason, Timings, Usage
from ollm_tui.protocol.model import Modality
from ollm_tui.protocol.tools import ToolCall, ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """A further piece of the answer."""

    delta: str
    turn: int
    block: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDelta:
    """A further piece of the thinking."""

    delta: str
    turn: int
    block: str
    hidden: bool | None = None
    """True if the model's settings or the request ask that thinking is not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """These blocks are taken back: what they held follows again, divided otherwise.

    Some answers tell only later which part of them is thinking.
    """

    blocks: tuple[str, ...]
    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallStart:
    """A tool starts to run."""

    call: ToolCall
    turn: int
    block: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallOutput:
    """The end of what a tool that still runs has printed so far; a later one replaces it."""

    call: ToolCall
    output: str
    turn: int
    block: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallResult:
    """A tool ended, well or not."""

    call: ToolCall
    result: ToolResult
    turn: int
    block: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextWarning:
    """The prompt nears or exceeds the context window; counts in tokens."""

    used: int
    limit: int
    estimated: bool
    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptProgress:
    """What happens before the first words of an answer; `done` of `total` tokens if it is known."""

    phase: Literal["loading", "reading", "compacting"]
    """The model is loaded, the engine reads the prompt, or the chat is summarised to make room."""
    turn: int
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """Earlier messages are no longer sent: a summary stands for them, or they are left out.

    The chat keeps them, a saved one as another branch.
    """

    kind: Literal["summary", "left_out"]
    messages: int
    """Number of messages that are no longer sent."""
    freed: int
    """About how many tokens of the window became free."""
    position: int
    """Where the message stands that takes their place, among those of the conversation."""
    why: str | None
    """Why the messages were left out where a summary was wanted."""
    turn: int

    @property
    def message(self) -> str:
        """A sentence for the user."""
        one = self.messages == 1
        what = "1 earlier message was" if one else f"{self.messages} earlier messages were"
        done = "summarised" if self.kind == "summary" else "left out"
        why = f"{self.why} " if self.why else ""
        return f"{why}{what[:1].upper()}{what[1:]} {done} to make room."


@dataclass(frozen=True, slots=True, kw_only=True)
class PicturesLeftOut:
    """Attachments of the chat, also of earlier messages, are not sent: the model takes none."""

    count: int
    model: str
    turn: int = 1
    kinds: tuple[str, ...] = ("image",)
    """Their types: `image`, `audio`, `video`, `document`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying:
    """The request is sent again after a failure before its first byte, unchanged or changed.

    Or the answer does not match its JSON Schema (SCHEMA_MISMATCH), and the model corrects it.
    `instead` is a sentence about the change, or None if nothing changes.
    """

    attempt: int
    wait_s: float
    """0 for at once: to another server, or without streaming (UNSUPPORTED_FEATURE)."""
    error: AIError
    turn: int
    instead: str | None = None

    @property
    def why(self) -> str:
        """The error's message with a full stop, for a further sentence to follow."""
        message = self.error.message
        return message if message.endswith((".", "!", "?", "…")) else f"{message}."


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaDelta:
    """A piece or a step of an image, audio or video."""

    modality: Modality
    data: bytes
    step: int | None
    total_steps: int | None
    turn: int
    block: str


NoAnswerCause: TypeAlias = Literal["empty", "thinking", "calls"]
"""Why there is no answer: nothing, only thinking, or only calls that were not run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAnswer:
    """The model ended without an answer; the `TurnComplete` of that turn follows."""

    cause: NoAnswerCause
    turn: int = 1

    @property
    def message(self) -> str:
        """A sentence for the user, with what may help."""
        match self.cause:
            case "empty":
                return "The model gave an empty answer."
            case "thinking":
                return (
                    "The model gave only thinking and no answer. If it is a model that does not "
                    "think, switch off the reasoning parser of its server."
                )
            case "calls":
                return "The model gave no answer: it only asked for tools, and none was run."


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredAnswer:
    """The whole answer matches its JSON Schema; `block` is where its text came."""

    value: JsonValue
    turn: int
    block: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnComplete:
    """One request and its tools are done; another turn may follow."""

    turn_number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The prompt is answered, stopped (`abort`) or out of turns (`max_turns`)."""

    reason: FinishReason
    turn: int = 1
    usage: Usage | None = None
    timings: Timings | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorEvent:
    """The prompt failed; what arrived before is in the history."""

    error: AIError
    turn: int = 1


ChatEvent: TypeAlias = (
    TextDelta
    | ThinkingDelta
    | Withdrawn
    | ToolCallStart
    | ToolCallOutput
    | ToolCallResult
    | PromptProgress
    | ContextWarning
    | Compacted
    | PicturesLeftOut
    | Retrying
    | MediaDelta
    | NoAnswer
    | StructuredAnswer
    | TurnComplete
    | Finish
    | ErrorEvent
)

Emit: TypeAlias = Callable[[ChatEvent], Awaitable[None]]
"""Takes the events of a prompt as they come; waits while the reader is slow."""
