"""Tools of MCP servers where no user reads along: in `ollm -p`, and in other programs.

There, a description that the user has not read is neither sent to a model nor run.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.protocol.ports import Approver, Tool
from ollm_tui.protocol.tools import Approval, ToolCall, all_of_server, includes
from ollm_tui.tools.prepared import preview_of

if TYPE_CHECKING:
    from ollm_tui.mcp.servers import McpServers


@dataclass(frozen=True, slots=True)
class ServedTools:
    """The tools of servers that names stand for, once the servers have started."""

    names: tuple[str, ...] = ()
    """Tools of which the user has read all that their servers say."""
    unread: tuple[tuple[str, str], ...] = ()
    """The names of other tools, each with a sentence about what to read."""
    problems: tuple[str, ...] = ()
    """Sentences about servers that did not start."""


@dataclass(frozen=True, slots=True)
class ToolServers:
    """The servers of the settings, each started when one of its tools is named."""

    servers: "McpServers | None" = None

    def named(self, names: Collection[str]) -> tuple[str, ...]:
        """Return those of the names that belong to servers."""
        groups = self.servers.groups if self.servers is not None else ()
        return tuple(name for name in names if name in groups or includes(groups, name))

    def start(self, names: Collection[str]) -> Sequence[str]:
        """Start the servers that names belong to, in the background; return which."""
        if self.servers is None:
            return ()
        wanted = [
            server.name
            for server in self.servers.all.values()
            if any(
                name == (group := all_of_server(server.prefix)) or includes([group], name)
                for name in names
            )
        ]
        if wanted:
            self.servers.start(wanted)
        return wanted

    async def offered(self, names: Collection[str]) -> ServedTools:
        """Start servers if necessary; return their tools once each was ready or has failed."""
        wanted = self.start(names)
        if self.servers is None or not wanted:
            return ServedTools()
        await self.servers.settled(wanted)
        tools = {
            tool.schema.name: tool.unread
            for tool in self.servers.tools()
            if includes(names, tool.schema.name)
        }
        servers = [self.servers.all[name] for name in wanted]
        return ServedTools(
            tuple(name for name, unread in tools.items() if not unread),
            tuple((name, unread) for name, unread in tools.items() if unread),
            tuple(
                f"The MCP server {clean_name(one.name)} is not running: {clean_line(one.problem)}"
                for one in servers
                if one.state != "ready"
            ),
        )


@dataclass(frozen=True, slots=True)
class ReadFirst:
    """Refuses calls of tools that the user has not read; a program's yes is no reading."""

    approver: Approver

    async def approve(self, call: ToolCall, tool: Tool) -> Approval:
        """Decide on one call."""
        preview = preview_of(tool)
        if preview is not None and preview.unread:
            return Approval(allowed=False, reason=preview.unread)
        return await self.approver.approve(call, tool)
