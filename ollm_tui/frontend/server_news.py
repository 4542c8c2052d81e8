"""What a chat says of MCP servers by itself: that one stopped, and that one cannot be started."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from ollm_tui.decode.clean import clean_name, spelled_line
from ollm_tui.decode.counted import counted

if TYPE_CHECKING:
    from ollm_tui.mcp.server import McpServer, ServerState
    from ollm_tui.mcp.servers import McpServers


class ServerNews:
    """Starts the servers of the settings, and says each fault once."""

    def __init__(
        self,
        servers: "McpServers | None",
        say: Callable[[str, Literal["warning"]], None],
        show_tools: Callable[[], None] = lambda: None,
    ) -> None:
        self._servers = servers
        self._say = say
        self._show_tools = show_tools
        self._before: dict[str, tuple[ServerState, int]] = {}

    def start(self) -> None:
        """Start the servers in the background; the first screen has not waited for them."""
        if self._servers is not None:
            self._servers.listener = self._look
            self._servers.start()

    def _look(self) -> None:
        assert self._servers is not None
        for server in self._servers.all.values():
            state, count = self._before.get(server.name, ("starting", 0))
            if server.state != state and (words := _words(server, state, count)):
                self._say(words, "warning")
            self._before[server.name] = (server.state, len(server.listed.tools))
        self._show_tools()


def _words(server: "McpServer", before: "ServerState", tools: int) -> str:
    """Return a sentence about a change of state, if it is one that matters to the chat."""
    name, why = clean_name(server.name), spelled_line(server.problem)
    if server.state == "waiting" and before == "ready":
        off = f" {counted(tools, 'tool')} of it {'is' if tools == 1 else 'are'} off until then."
        return f"The MCP server {name}: {why} It is started again.{off if tools else ''}"
    if server.state == "failed":
        return f"The MCP server {name} is off: {why}"
    return ""
