"""All servers of the settings, and the tools that they have at the moment."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio

from ollm_tui.config.keys.stored_keys import StoredKeys
from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.mcp.known_tools import KnownTools
from ollm_tui.mcp.listing import prefixes_of, tool_names
from ollm_tui.mcp.requests import ClientSide
from ollm_tui.mcp.server import McpServer
from ollm_tui.mcp.tokens import tokens_of
from ollm_tui.mcp.tool import McpTool
from ollm_tui.protocol.tools import all_of_server


class McpServers:
    """Starts the servers when it is asked to, each in a task of its own."""

    def __init__(
        self,
        settings: Mapping[str, McpServerSettings],
        known: KnownTools,
        client: ClientSide | None = None,
        keys: StoredKeys | None = None,
    ) -> None:
        prefixes = prefixes_of(settings)
        self.known = known
        """What the user has read of their tools."""
        self.client = client or ClientSide()
        """What they meet here, if they ask for something."""
        self._wanted: dict[str, None] = {}
        self._tried: set[str] = set()
        self._asked, self._news = anyio.Event(), anyio.Event()
        self.listener: Callable[[], None] = lambda: None
        """Called when the state of a server or its tools have changed."""
        self._tools: dict[str, tuple[McpTool, ...]] = {}
        self.all: Mapping[str, McpServer] = {
            name: McpServer(
                name, prefixes[name], one, partial(self._take, name), client=self.client
            )
            for name, one in settings.items()
        }
        if keys is not None:
            for name, server in self.all.items():
                server.tokens = tokens_of(keys, name, server.address)

    @property
    def groups(self) -> tuple[str, ...]:
        """What stands for all tools of each server that is on."""
        return tuple(all_of_server(one.prefix) for one in self.all.values() if one.state != "off")

    def tools(self) -> Sequence[McpTool]:
        """Return the tools of all servers that are ready."""
        return [tool for tools in self._tools.values() for tool in tools]

    def start(self, names: Collection[str] | None = None) -> None:
        """Start servers in the background, all by default; those that were started go on."""
        self._wanted |= dict.fromkeys(self.all if names is None else names)
        self._asked.set()

    async def settled(self, names: Collection[str]) -> None:
        """Wait until each of these servers was ready or has failed once."""
        while not self._tried.issuperset(names):
            await self._news.wait()

    async def run(self) -> None:
        """Keep the servers running once they are to start, until this is cancelled."""
        if not self.all:
            return
        running: set[str] = set()
        async with anyio.create_task_group() as group:
            while True:
                await self._asked.wait()
                self._asked = anyio.Event()
                await self.known.load()
                for name in [one for one in self._wanted if one not in running]:
                    running.add(name)
                    group.start_soon(self.all[name].run)

    def _take(self, name: str) -> None:
        server = self.all[name]
        names = tool_names(server.prefix, (one.name for one in server.listed.tools))
        self._tools[name] = tuple(
            McpTool(names[one.name], server, one, self.known) for one in server.listed.tools
        )
        if server.state != "starting":
            self._tried.add(name)
            self._news.set()
            self._news = anyio.Event()
        self.listener()


@asynccontextmanager
async def open_servers(
    settings: Mapping[str, McpServerSettings],
    known_file: Path,
    client: ClientSide | None = None,
    keys: StoredKeys | None = None,
) -> AsyncIterator[McpServers]:
    """Yield the servers of the settings; the end of the block ends them all at once."""
    servers = McpServers(settings, KnownTools(known_file), client, keys)
    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(servers.run)
        try:
            yield servers
        except Exception as error:  # noqa: BLE001 -- raised below, outside the group that wraps it
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
