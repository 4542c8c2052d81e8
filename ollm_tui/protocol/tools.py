"""Tools as a model sees them: schemas, calls, results and the choice between them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from ollm_tui.protocol.json_types import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSchema:
    """A tool on offer; how it is spelled on the wire is the adapter's business."""

    name: str
    description: str | None = None
    parameters: JsonObject | None = None
    """JSON Schema of the arguments object; None means that there are none."""
    strict: bool | None = None
    """Ask the server to hold the model to the schema; None leaves it to the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's wish to run a tool."""

    id: str
    name: str
    args: JsonObject | None
    """None when what the model wrote is no JSON object: such a call is never run."""
    raw_args: str = ""
    """What the model wrote, before parsing."""
    extra: Mapping[str, JsonValue] = field(default_factory=dict)
    """A provider's own keys (signatures); they go back unchanged."""


STOPPED: Final = "Stopped by the user."
"""The content of the result of a stopped call."""

ToolOutcome: TypeAlias = Literal["done", "failed", "denied", "stopped"]
"""How a call ended; the tool gave the result of those that are done or failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What came of one call."""

    call_id: str
    name: str
    content: str
    """What the model reads."""
    is_error: bool = False
    display: str | None = None
    """What a person sees; None means the same as the model."""
    interruption: Literal["denied", "stopped"] | None = None
    """Why the tool gave no result; `content` cannot tell, as a tool may give any text."""

    @property
    def outcome(self) -> ToolOutcome:
        """How the call ended."""
        return self.interruption or ("failed" if self.is_error else "done")


@dataclass(frozen=True, slots=True)
class ToolName:
    """Force the model to call this tool."""

    name: str


ToolChoice: TypeAlias = Literal["auto", "none", "required"] | ToolName

ToolEffect: TypeAlias = Literal["read", "write", "run", "network"]
"""What a tool may do beyond giving an answer; only `read` leaves everything as it was."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool gives back."""

    content: str
    """What the model reads."""
    display: str | None = None
    """What a person sees; None means the same as the model."""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's word, or a rule's, on one call."""

    allowed: bool
    reason: str | None = None
    """Why not, for the model to read."""
