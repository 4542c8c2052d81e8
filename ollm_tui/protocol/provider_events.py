"""The events of one provider call, in order; the last is exactly one `Finish` or `ErrorEvent`.

`index` tells parallel answers apart; only `invoke` gives other values than 0.
"""

from typing import TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import FinishReason, Timings, Usage
from ollm_tui.protocol.model import Modality
from ollm_tui.protocol.tools import ToolCall


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A further piece of the answer."""

    delta: str
    index: int = 0


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A further piece of the thinking; one with a signature ends its block."""

    delta: str
    index: int = 0
    signature: str | None = None
    signer: str | None = None
    """Who signed it, as `provider://model`."""
    sealed: bool = False
    """Whether this is a block of its own that only the signer can read."""


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """All text and thinking so far is taken back: it follows again, divided otherwise.

    Some answers tell only later which part of them is thinking.
    """

    index: int = 0


@dataclass(frozen=True, slots=True)
class ToolCallEvent:
    """A finished call; it may run unless `call.args` is None."""

    call: ToolCall
    index: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaDelta:
    """A piece or a step of an image, audio or video."""

    modality: Modality
    data: bytes
    step: int | None = None
    total_steps: int | None = None
    index: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawingProgress:
    """How far pictures are that take a while; None is unknown."""

    step: int | None = None
    total_steps: int | None = None
    preview: bytes = b""
    """The picture as it is so far, if the server shows it."""
    queue_position: int | None = None
    """The place in the server's queue, from 1; None once the work has begun."""
    job: str | None = None
    """The id under which the server keeps the work, if it can be picked up by it."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a transcription, with its times in the sound."""

    start_s: float
    end_s: float
    text: str
    total_s: float | None = None
    """How long the sound is."""


@dataclass(frozen=True, slots=True)
class Rerouted:
    """Another server of a pool, or a new engine, takes over before the first byte."""

    error: AIError
    attempt: int = 1
    index: int = 0
    instead: str | None = None
    """A sentence on what is done about it, or None if another server takes over."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The request is sent without a field that was set; comes before each such answer."""

    field: str
    """Its name in the request; nested fields are joined by dots."""
    error: AIError
    """Why, in the server's words if it gave any."""
    index: int = 0


@dataclass(frozen=True, slots=True)
class PromptProgress:
    """The engine has read so many tokens of the prompt; comes before the answer."""

    done: int
    total: int
    index: int = 0


@dataclass(frozen=True, slots=True)
class Finish:
    """The answer is complete."""

    reason: FinishReason
    usage: Usage | None = None
    timings: Timings | None = None
    index: int = 0
    raw_reason: str | None = None
    """The reason as the server sent it, or None if it sent none."""
    lost_pieces: int = 0
    """Number of unreadable pieces of the answer, which were skipped."""


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """The answer failed; what arrived before remains valid."""

    error: AIError
    index: int = 0
    usage: Usage | None = None


ProviderEvent: TypeAlias = (
    TextDelta
    | ThinkingDelta
    | Withdrawn
    | ToolCallEvent
    | MediaDelta
    | Rerouted
    | LeftOut
    | PromptProgress
    | Finish
    | ErrorEvent
)
End: TypeAlias = Finish | ErrorEvent
