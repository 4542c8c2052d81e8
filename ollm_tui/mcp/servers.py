"""All servers of the settings, and the tools that they have at the moment."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio

from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.mcp.known_tools import KnownTools
from ollm_tui.mcp.listing import prefixes_of, tool_names
from ollm_tui.mcp.server import McpServer
from ollm_tui.mcp.tool import McpTool
from ollm_tui.protocol.tools import all_of_server


class McpServers:
    """Starts the servers when it is asked to, each in a task of its own."""

    def __init__(self, settings: Mapping[str, McpServerSettings], known: KnownTools) -> None:
        prefixes = prefixes_of(settings)
        self._known = known
        self._started = anyio.Event()
        self.listener: Callable[[], None] = lambda: None
        """Called when the state of a server or its tools have changed."""
        self._tools: dict[str, tuple[McpTool, ...]] = {}
        self.all: Mapping[str, McpServer] = {
            name: McpServer(name, prefixes[name], one, partial(self._take, name))
            for name, one in settings.items()
        }

    @property
    def groups(self) -> tuple[str, ...]:
        """What stands for all tools of each server that is on."""
        return tuple(all_of_server(one.prefix) for one in self.all.values() if one.state != "off")

    def tools(self) -> Sequence[McpTool]:
        """Return the tools of all servers that are ready."""
        return [tool for tools in self._tools.values() for tool in tools]

    def start(self) -> None:
        """Start the servers in the background; a no-op in a second call."""
        self._started.set()

    async def run(self) -> None:
        """Keep the servers running once they are to start, until this is cancelled."""
        if not self.all:
            return
        await self._started.wait()
        await self._known.load()
        async with anyio.create_task_group() as group:
            for server in self.all.values():
                group.start_soon(server.run)

    def _take(self, name: str) -> None:
        server = self.all[name]
        names = tool_names(server.prefix, (one.name for one in server.listed.tools))
        self._tools[name] = tuple(
            McpTool(names[one.name], server, one, self._known) for one in server.listed.tools
        )
        self.listener()


@asynccontextmanager
async def open_servers(
    settings: Mapping[str, McpServerSettings], known_file: Path
) -> AsyncIterator[McpServers]:
    """Yield the servers of the settings; the end of the block ends them all at once."""
    servers = McpServers(settings, KnownTools(known_file))
    async with anyio.create_task_group() as group:
        group.start_soon(servers.run)
        yield servers
        group.cancel_scope.cancel()
