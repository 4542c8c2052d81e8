"""One session with a server through the official SDK, with the limits that the SDK does not set."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import anyio.to_thread
from mcp.client.session import ClientSession, IncomingMessage
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    LoggingMessageNotificationParams,
    ToolListChangedNotification,
)
from pydantic import ValidationError

from ollm_tui.mcp.content import output_of
from ollm_tui.mcp.http import Refusals, http_transport
from ollm_tui.mcp.listing import ToolList, read_tools
from ollm_tui.mcp.log import ServerLog
from ollm_tui.mcp.process import ServerProcess
from ollm_tui.mcp.settings import HttpServer, ServerAddress
from ollm_tui.mcp.stdio import stdio_transport
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.tools import ToolOutput
from ollm_tui.tools.define import ToolFailure

MOST_PAGES: Final = 50
_CLIENT: Final = Implementation(name="ollm", version="1")
_VERSION_HEADER: Final = "mcp-protocol-version"
_LONGEST_REASON: Final = 500
_ENDED_WITHIN_S: Final = 0.5


class Connection:
    """An open session. Its calls may come from any task; it belongs to the one that opened it."""

    def __init__(self, session: ClientSession, dispatcher: JSONRPCDispatcher[Any]) -> None:
        self._session = session
        self._dispatcher = dispatcher
        self.ended = anyio.Event()
        """Set when the server is gone."""
        self.changed = anyio.Event()
        """Set when the list of tools has changed; replaced by each reading of it."""
        self.process: ServerProcess | None = None
        self.refusals: Refusals | None = None

    @property
    def last_words(self) -> str:
        """Why it ended or answered no message, as far as that is known."""
        if self.process is not None and self.process.exit:
            return self.process.exit
        return self.refusals.words if self.refusals is not None else ""

    async def greet(self) -> str:
        """Do the handshake; return the server's own name and version.

        Raises:
            AIError: it does not speak the protocol.
        """
        try:
            result = await self._session.initialize()
        except (MCPError, ValidationError, RuntimeError) as error:
            raise await self._problem("It did not start a session", error) from error
        info = result.server_info
        return f"{info.title or info.name} {info.version}".strip()

    async def tools(self) -> ToolList:
        """Read the whole list of tools, one page after another.

        Raises:
            AIError: it cannot be read.
        """
        self.changed = anyio.Event()
        capabilities = self._session.server_capabilities
        if capabilities is None or capabilities.tools is None:
            return ToolList()
        listed: list[JsonValue] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await self._page(cursor)
            tools = page.get("tools")
            listed += tools if isinstance(tools, list) else []
            following = page.get("nextCursor")
            if not isinstance(following, str) or following == cursor:
                break
            cursor = following
        return await anyio.to_thread.run_sync(read_tools, listed)

    async def _page(self, cursor: str | None) -> JsonObject:
        # Not by the SDK's own method, which refuses the whole list for one bad tool.
        params = {"cursor": cursor} if cursor is not None else None
        version = self._session.protocol_version or ""
        try:
            return await self._dispatcher.send_raw_request(
                "tools/list", params, {"headers": {_VERSION_HEADER: version}}
            )
        except MCPError as error:
            raise await self._problem("It did not list its tools", error) from error

    async def call(
        self, name: str, args: JsonObject, timeout_s: float, on_progress: ProgressFnT | None = None
    ) -> ToolOutput:
        """Call a tool. A cancellation is passed on to the server.

        Raises:
            ToolFailure: the call failed, in a sentence for the model.
        """
        request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=args))
        try:
            result = await self._session.send_request(
                request, CallToolResult, timeout_s, progress_callback=on_progress
            )
        except MCPError as error:
            raise ToolFailure(await self._reason(error, timeout_s)) from error
        except (ValidationError, RuntimeError) as error:
            raise ToolFailure("The answer of the MCP server is malformed.") from error
        return output_of(result)

    async def _reason(self, error: MCPError, timeout_s: float) -> str:
        if error.code == CONNECTION_CLOSED:
            return f"The MCP server ended during the call{await self._how()}."
        if error.code == REQUEST_TIMEOUT:
            return f"Stopped: the MCP server took longer than {timeout_s:g} s."
        if self.refusals is not None and error.message == "Session terminated":
            self.ended.set()
        return f"The MCP server refused the call: {error.message[:_LONGEST_REASON]}"

    async def _problem(self, what: str, error: Exception) -> AIError:
        if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
            return AIError(
                ErrorCode.SERVICE_UNAVAILABLE, f"It ended before that{await self._how()}."
            )
        if self.refusals is not None and self.refusals.words:
            return AIError(ErrorCode.SERVICE_UNAVAILABLE, self.refusals.words)
        words = "its answer is malformed" if isinstance(error, ValidationError) else str(error)
        return AIError(ErrorCode.SERVICE_UNAVAILABLE, f"{what}: {words[:_LONGEST_REASON]}.")

    async def _how(self) -> str:
        """Return how it ended, in brackets; empty if that is not known in time."""
        if self.process is not None:
            with anyio.move_on_after(_ENDED_WITHIN_S):
                await self.process.ended()
        return f" ({self.last_words})" if self.last_words else ""


@asynccontextmanager
async def open_connection(address: ServerAddress, log: ServerLog) -> AsyncIterator[Connection]:
    """Start a program or connect to an address; the end of the block ends it whole.

    Raises:
        AIError: it cannot be started.
    """
    if isinstance(address, HttpServer):
        refusals = Refusals(log)
        async with (
            http_transport(address.url, address.headers, refusals) as streams,
            _session(*streams, log) as connection,
        ):
            connection.refusals = refusals
            yield connection
        return
    process = await anyio.to_thread.run_sync(ServerProcess.start, address, dict(os.environ))
    try:
        ended = anyio.Event()
        async with (
            stdio_transport(process, log, ended) as streams,
            _session(*streams, log) as connection,
        ):
            connection.process, connection.ended = process, ended
            yield connection
    finally:
        await process.close()


@asynccontextmanager
async def _session(received: Any, outgoing: Any, log: ServerLog) -> AsyncIterator[Connection]:
    connections: list[Connection] = []

    async def on_log(params: LoggingMessageNotificationParams) -> None:
        log.add(f"{params.level}: {params.data}")

    async def on_message(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification) and connections:
            connections[0].changed.set()

    dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(received, outgoing)
    session = ClientSession(
        dispatcher=dispatcher,
        logging_callback=on_log,
        message_handler=on_message,
        client_info=_CLIENT,
    )
    async with session:
        connections.append(Connection(session, dispatcher))
        yield connections[0]
