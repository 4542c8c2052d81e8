"""Tools from the model's side: schemas, calls, results and the choice between them."""

from collections.abc import Collection, Mapping
from typing import Final, Literal, TypeAlias

from ollm_tui.dataclass import dataclass, field
from ollm_tui.protocol.blocks import Block
from ollm_tui.protocol.json_types import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSchema:
    """A tool on offer; adapters turn it into their protocol's form."""

    name: str
    description: str | None = None
    parameters: JsonObject | None = None
    """JSON Schema of the arguments object, or None if there are no arguments."""
    strict: bool | None = None
    """Whether the server has to enforce the schema; None leaves it to the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool by a model."""

    id: str
    name: str
    args: JsonObject | None
    """None if the model did not write a JSON object: such a call is never run."""
    raw_args: str = ""
    """The arguments as the model wrote them, before parsing."""
    extra: Mapping[str, JsonValue] = field(default_factory=dict)
    """A provider's own keys (signatures); they are sent back unchanged."""


STOPPED: Final = "Stopped by the user."
"""The content of the result of a stopped call."""
INTERRUPTED: Final = "Stopped before it ended."
"""The content of the result of a call that something else stopped, such as a time limit."""
CANCELLED: Final = "Cancelled by the user. Other calls were not affected."
"""The content of the result of a call that was cancelled alone."""

ToolOutcome: TypeAlias = Literal["done", "failed", "denied", "stopped"]
"""How a call ended; only `done` and `failed` have a result of the tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of one call."""

    call_id: str
    name: str
    content: str
    """What the model reads."""
    is_error: bool = False
    display: str | None = None
    """What the user sees; None means the same as the model."""
    media: tuple[Block, ...] = ()
    """Pictures and sounds beside the text."""
    interruption: Literal["denied", "stopped"] | None = None
    """Why the tool gave no result; `content` does not tell, as a tool may return any text."""

    @property
    def outcome(self) -> ToolOutcome:
        """How the call ended."""
        return self.interruption or ("failed" if self.is_error else "done")


@dataclass(frozen=True, slots=True)
class ToolName:
    """A tool choice that forces the model to call this tool."""

    name: str


ToolChoice: TypeAlias = Literal["auto", "none", "required"] | ToolName

ToolEffect: TypeAlias = Literal["read", "write", "run", "network"]
"""What a tool may do beyond returning a result; `read` changes nothing."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool returns."""

    content: str
    """What the model reads."""
    display: str | None = None
    """What the user sees; None means the same as the model."""
    is_error: bool = False
    media: tuple[Block, ...] = ()
    """Pictures and sounds beside the text."""


SERVER_SEPARATOR: Final = "__"
"""Between the server and the tool in the name of an MCP server's tool."""
_ALL_OF_SERVER: Final = f"{SERVER_SEPARATOR}*"


def all_of_server(prefix: str) -> str:
    """Return what stands for all tools of an MCP server, also those that it lists later."""
    return f"{prefix}{_ALL_OF_SERVER}"


def group_of(tool: str) -> str | None:
    """Return what stands for all tools of a tool's server; None for a tool without one."""
    prefix, separator, _ = tool.partition(SERVER_SEPARATOR)
    return all_of_server(prefix) if separator else None


def includes(names: Collection[str], tool: str) -> bool:
    """Whether names include a tool, by itself or with all of its server."""
    if tool in names:
        return True
    return group_of(tool) in names


@dataclass(frozen=True, slots=True)
class Approval:
    """A decision on one call, by the user or a rule."""

    allowed: bool
    reason: str | None = None
    """Why not, for the model to read."""


@dataclass(frozen=True, slots=True)
class CallPreview:
    """What exactly a call will do, for the question before it."""

    summary: str
    """A sentence."""
    parts: tuple[tuple[str, str], ...]
    """Headings, each with a text that is shown in full."""
    is_diff: bool = False
    """Whether the texts are unified diffs."""
    follows_up: bool = False
    """Whether it is only about what was allowed before, so that no question is needed."""
    may_last: bool = True
    """Whether permissions may cover the call; otherwise it is asked about in any case."""
    is_command: bool = False
    """Whether it is a command for a shell, which permissions cover by its words alone."""
    argv: tuple[str, ...] | None = None
    """The words of a single plain command; None is any other one."""
    containment: str = ""
    """What contains a command, such as `namespaces`: a permission holds for this alone."""
    unread: str = ""
    """What nobody has read of the tool, and how to, as a sentence; empty if all was read."""
    language: str = ""
    """The language of the first text, which is coloured; empty is none."""
    host: str | None = None
    """The host that it sends something to: permissions cover the tool for this host alone."""
    has_untrusted_input: bool = False
    """Whether text from outside came into this turn, so that no permission covers the call."""
