"""What one provider call yields, in order, with exactly one `Finish` or `ErrorEvent` at the end.

`index` tells parallel answers apart; only `invoke` gives other values than 0.
"""

from dataclasses import dataclass
from typing import TypeAlias

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
    """A further piece of the reasoning; one with a signature ends its block."""

    delta: str
    index: int = 0
    signature: str | None = None
    signer: str | None = None
    """Whose signature it is, as `provider://model`."""
    sealed: bool = False
    """Whether this is a block of its own whose text only the signer can read."""


@dataclass(frozen=True, slots=True)
class ToolCallEvent:
    """A finished call; whether it may run is told by `call.args`."""

    call: ToolCall
    index: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaDelta:
    """A piece or a step of a picture, sound or video."""

    modality: Modality
    data: bytes
    step: int | None = None
    total_steps: int | None = None
    index: int = 0


@dataclass(frozen=True, slots=True)
class Rerouted:
    """Another server of a pool, or a new engine, is asked, before anything came from the last."""

    error: AIError
    attempt: int = 1
    index: int = 0
    instead: str | None = None
    """What is done about it, as a sentence; None where another server is asked."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The server is asked without a field that somebody set; comes before each such answer."""

    field: str
    """Its name in the request, a field inside another after a dot."""
    error: AIError
    """Why: as the server said it, where it did."""
    index: int = 0


@dataclass(frozen=True, slots=True)
class Finish:
    """The answer is complete."""

    reason: FinishReason
    usage: Usage | None = None
    timings: Timings | None = None
    index: int = 0
    raw_reason: str | None = None
    """The reason as the server sent it; None when it sent none."""
    lost_pieces: int = 0
    """How many pieces of the answer were unreadable and skipped."""


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """The answer failed; what came before it stands."""

    error: AIError
    index: int = 0
    usage: Usage | None = None


ProviderEvent: TypeAlias = (
    TextDelta
    | ThinkingDelta
    | ToolCallEvent
    | MediaDelta
    | Rerouted
    | LeftOut
    | Finish
    | ErrorEvent
)
End: TypeAlias = Finish | ErrorEvent
