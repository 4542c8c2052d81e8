"""A tool of a server, as the chat offers, shows and runs it."""

import json
import shlex
from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.mcp.known_tools import KnownTools, difference
from ollm_tui.mcp.listing import ToolDefinition
from ollm_tui.mcp.server import McpServer
from ollm_tui.mcp.settings import HttpServer
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.tools import CallPreview, ToolEffect, ToolOutput, ToolSchema
from ollm_tui.tools.define import ToolFailure
from ollm_tui.tools.prepared import CallScope

_LONGER_S: Final = 5.0
"""A call's own limit is over first: the server is then told that the call has ended."""
_UNPREPARED: Final = "Not run: a call of a server's tool is prepared first."


class McpTool:
    """What is offered is what the user has read; until then, what the server says."""

    def __init__(
        self, name: str, server: McpServer, definition: ToolDefinition, known: KnownTools
    ) -> None:
        self._server = server
        self._name = definition.name
        self._known = known
        shown = known.of(server.name, server.identity, definition.name) or definition
        self.schema = ToolSchema(
            name=name, description=shown.description, parameters=shown.parameters
        )
        # No annotation of a server counts. Not `run`: that is for commands, allowed word by word.
        self.effect: ToolEffect = "network"
        self.timeout_s = server.timing.call_s + _LONGER_S + server.rights.questions_s

    @property
    def unread(self) -> str:
        """What nobody has read of it, and how to, as a sentence; empty if all was read."""
        definition = self._server.definition(self._name)
        if definition is None:
            return ""
        return _unread_words(self._server, definition, self._unread_of(definition))

    def _unread_of(self, definition: ToolDefinition) -> ToolDefinition | None:
        """Return what was read before, if that was something else, or the tool itself."""
        read = self._known.of(self._server.name, self._server.identity, self._name)
        is_read = read is not None and read.fingerprint == definition.fingerprint
        return None if is_read else (read or definition)

    async def prepare(self, args: JsonObject, scope: CallScope) -> "McpCall":
        """Bind a call to the server's present description of the tool.

        Raises:
            ToolFailure: the server is not running, or has the tool no longer.
        """
        definition = self._server.required(self._name)
        unread = self._unread_of(definition)
        return McpCall(self, self._server, definition, self._known, args, unread, scope)

    async def run(self, args: JsonObject) -> ToolOutput:
        """Refuse: nobody has seen what the server says of the tool."""
        raise ToolFailure(_UNPREPARED)


@dataclass(frozen=True, slots=True)
class McpCall:
    """One call, bound to the description that the user sees before it."""

    tool: McpTool
    server: McpServer
    definition: ToolDefinition
    known: KnownTools
    args: JsonObject
    unread: ToolDefinition | None
    """What was read before, if that was something else, or the tool itself if it was not read."""
    scope: CallScope

    @property
    def schema(self) -> ToolSchema:
        """The schema that was offered."""
        return self.tool.schema

    @property
    def effect(self) -> ToolEffect:
        """What the tool may do."""
        return self.tool.effect

    @property
    def timeout_s(self) -> float:
        """Time limit of the call, in seconds."""
        return self.tool.timeout_s

    @property
    def preview(self) -> CallPreview:
        """The exact arguments, and all that the user has not read of the tool."""
        server = clean_name(self.server.name)
        parts = [(name, _written(value)) for name, value in self.args.items()]
        if not parts:
            parts = [("Called without arguments.", "")]
        if self.unread is self.definition:
            parts.append((f"new: what the MCP server {server} says of it", self.definition.text))
        elif self.unread is not None:
            changes = difference(self.unread, self.definition)
            parts.append((f"changed: what the MCP server {server} says of it", changes))
        is_far = isinstance(self.server.address, HttpServer)
        where = "over the network" if is_far else "as a program with your rights"
        return CallPreview(
            f"The MCP server {server} runs {clean_name(self.definition.name)}, {where}.",
            tuple(parts),
            may_last=self.unread is None,
            unread=_unread_words(self.server, self.definition, self.unread),
        )

    async def run(self, args: JsonObject) -> ToolOutput:
        """Run what was shown, and keep that its description was read."""
        if self.unread is not None:
            await self.known.keep(self.server.name, self.server.identity, self.definition)
        return await self.server.call(self.definition, self.args, self._show_progress)

    async def _show_progress(
        self, progress: float, total: float | None, message: str | None
    ) -> None:
        share = f"{progress:g} of {total:g}" if total else f"{progress:g}"
        self.scope.show(f"{share} {message or ''}".rstrip()[:200])


def _unread_words(
    server: McpServer, definition: ToolDefinition, unread: ToolDefinition | None
) -> str:
    if unread is None:
        return ""
    name = clean_name(server.name)
    state = "has not been read by you" if unread is definition else "has changed"
    return (
        f"What the MCP server {name} says of its tool {clean_name(definition.name)} {state}; "
        f"`ollm mcp review {shlex.quote(name)}` shows it."
    )


def _written(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
