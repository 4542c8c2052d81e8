"""One session with a server through the official SDK, with the limits that the SDK does not set."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
from mcp.client.session import ClientSession, IncomingMessage
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import (
    CONNECTION_CLOSED,
    METHOD_NOT_FOUND,
    REQUEST_TIMEOUT,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ClientRequest,
    Implementation,
    LoggingMessageNotificationParams,
    PromptListChangedNotification,
    ResourceListChangedNotification,
    ServerCapabilities,
    ToolListChangedNotification,
)
from pydantic import BaseModel, ValidationError

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.mcp.callbacks import callbacks_of
from ollm_tui.mcp.content import output_of
from ollm_tui.mcp.http import Refusals, http_transport
from ollm_tui.mcp.listing import ToolList, read_tools
from ollm_tui.mcp.log import ServerLog
from ollm_tui.mcp.oauth import SignedIn
from ollm_tui.mcp.offers import ServerOffers
from ollm_tui.mcp.process import ServerProcess
from ollm_tui.mcp.requests import ServerRights
from ollm_tui.mcp.settings import HttpServer, ServerAddress
from ollm_tui.mcp.stdio import stdio_transport
from ollm_tui.mcp.tokens import ServerTokens
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.tools import ToolOutput
from ollm_tui.tools.define import ToolFailure

MAX_PAGES: Final = 50
_CLIENT: Final = Implementation(name="ollm", version="1")
_VERSION_HEADER: Final = "mcp-protocol-version"
_WITHOUT_WORDS: Final = "Server returned an error response"
"""What the SDK says of an answer that is an error of HTTP."""
_MAX_REASON_LENGTH: Final = 500
_ENDED_WITHIN_S: Final = 0.5
Result = TypeVar("Result", bound=BaseModel)


class Connection:
    """An open session. Its calls may come from any task; it belongs to the one that opened it."""

    def __init__(
        self, session: ClientSession, dispatcher: JSONRPCDispatcher[Any], rights: ServerRights
    ) -> None:
        self._session = session
        self._clock = rights.clock
        self._who = f"MCP server {clean_name(rights.name)}"
        self._dispatcher = dispatcher
        self.ended = anyio.Event()
        """Set when the server is gone."""
        self.changed = anyio.Event()
        """Set when the list of tools has changed; replaced by each reading of it."""
        self.offers_changed = anyio.Event()
        """The same for the lists of prompts and resources."""
        self.process: ServerProcess | None = None
        self.refusals: Refusals | None = None

    @property
    def is_unknown(self) -> bool:
        """Whether the server does not know the user, or no longer."""
        return self.refusals is not None and self.refusals.is_unknown

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
        return await anyio.to_thread.run_sync(read_tools, await self.pages("tools/list", "tools"))

    @property
    def offers(self) -> ServerOffers:
        """What the user may take from the server."""
        return ServerOffers(self, self._session.server_capabilities or ServerCapabilities())

    async def pages(self, method: str, key: str, *, is_vital: bool = True) -> list[JsonValue]:
        """Read a whole list, one page after another; one that is not vital may be refused.

        Raises:
            AIError: it cannot be read.
        """
        listed: list[JsonValue] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            try:
                page = await self._page(method, cursor)
            except MCPError as error:
                if not is_vital and error.code == METHOD_NOT_FOUND:
                    break
                raise await self._problem(f"It did not list its {key}", error) from error
            items = page.get(key)
            listed += items if isinstance(items, list) else []
            following = page.get("nextCursor")
            if not isinstance(following, str) or following == cursor:
                break
            cursor = following
        return listed

    async def _page(self, method: str, cursor: str | None) -> JsonObject:
        # Not by the SDK's own method, which refuses the whole list for one bad item.
        params = {"cursor": cursor} if cursor is not None else None
        version = self._session.protocol_version or ""
        return await self._dispatcher.send_raw_request(
            method, params, {"headers": {_VERSION_HEADER: version}}
        )

    async def ask(
        self, request: ClientRequest, result_type: type[Result], timeout_s: float
    ) -> Result:
        """Send a request that is no call of a tool.

        Raises:
            AIError: it failed, with a sentence.
        """
        try:
            return await self._session.send_request(request, result_type, timeout_s)
        except MCPError as error:
            raise AIError(
                ErrorCode.SERVICE_UNAVAILABLE, clean_line(await self._reason(error, timeout_s))
            ) from error
        except (ValidationError, RuntimeError) as error:
            raise AIError(
                ErrorCode.SERVICE_UNAVAILABLE, f"The answer of the {self._who} is malformed."
            ) from error

    async def call(
        self, name: str, args: JsonObject, timeout_s: float, on_progress: ProgressFnT | None = None
    ) -> ToolOutput:
        """Call a tool. A cancellation is passed on to the server.

        Raises:
            ToolFailure: the call failed, in a sentence for the model.
        """
        result: CallToolResult | None = None
        request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=args))
        try:
            with self._clock.limit(timeout_s):
                result = await self._session.send_request(
                    request, CallToolResult, progress_callback=on_progress
                )
        except MCPError as error:
            raise ToolFailure(await self._reason(error, timeout_s)) from error
        except (ValidationError, RuntimeError) as error:
            raise ToolFailure(f"The answer of the {self._who} is malformed.") from error
        if result is None:
            raise ToolFailure(f"Stopped: the {self._who} took longer than {timeout_s:g} s.")
        return output_of(result)

    async def _reason(self, error: MCPError, timeout_s: float) -> str:
        if error.code == CONNECTION_CLOSED:
            return f"The {self._who} ended during the call{await self._how()}."
        if error.code == REQUEST_TIMEOUT:
            return f"Stopped: the {self._who} took longer than {timeout_s:g} s."
        if self.refusals is not None and error.message == "Session terminated":
            self.ended.set()
        refusals = self.refusals
        if refusals is not None and (refusals.is_too_narrow or error.message == _WITHOUT_WORDS):
            return f"The {self._who} refused the call. {refusals.words}".strip()
        return f"The {self._who} refused the call: {error.message[:_MAX_REASON_LENGTH]}"

    async def _problem(self, what: str, error: Exception) -> AIError:
        if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
            return AIError(
                ErrorCode.SERVICE_UNAVAILABLE, f"It ended before it answered{await self._how()}."
            )
        if self.refusals is not None and self.refusals.words:
            needs_sign_in = self.is_unknown or self.refusals.is_too_narrow
            code = ErrorCode.AUTH_FAILED if needs_sign_in else ErrorCode.SERVICE_UNAVAILABLE
            return AIError(code, self.refusals.words)
        words = "its answer is malformed" if isinstance(error, ValidationError) else str(error)
        return AIError(ErrorCode.SERVICE_UNAVAILABLE, f"{what}: {words[:_MAX_REASON_LENGTH]}.")

    async def _how(self) -> str:
        """Return how it ended, in brackets; empty if that is not known in time."""
        if self.process is not None:
            with anyio.move_on_after(_ENDED_WITHIN_S):
                await self.process.ended()
        return f" ({self.last_words})" if self.last_words else ""


@asynccontextmanager
async def open_connection(
    address: ServerAddress,
    log: ServerLog,
    rights: ServerRights,
    tokens: ServerTokens | None = None,
) -> AsyncIterator[Connection]:
    """Start a program or connect to an address; the end of the block ends it whole.

    Raises:
        AIError: it cannot be started.
    """
    if isinstance(address, HttpServer):
        refusals = Refusals(log, tokens)
        auth = await _signed_in(address, tokens, refusals)
        async with (
            http_transport(address.url, address.headers, refusals, auth) as streams,
            _session(*streams, log, rights) as connection,
        ):
            connection.refusals, connection.ended = refusals, refusals.ended
            yield connection
        return
    process = await anyio.to_thread.run_sync(ServerProcess.start, address, dict(os.environ))
    try:
        ended = anyio.Event()
        async with (
            stdio_transport(process, log, ended) as streams,
            _session(*streams, log, rights) as connection,
        ):
            connection.process, connection.ended = process, ended
            yield connection
    finally:
        await process.close()


async def _signed_in(
    address: HttpServer, tokens: ServerTokens | None, refusals: Refusals
) -> SignedIn | None:
    """Return what signs requests; None if the user has not signed in."""
    if tokens is None or not (await tokens.load()).get("tokens"):
        return None
    auth = SignedIn(address, tokens)
    auth.refused = refusals.forget
    return auth


@asynccontextmanager
async def _session(
    received: Any, outgoing: Any, log: ServerLog, rights: ServerRights
) -> AsyncIterator[Connection]:
    connections: list[Connection] = []

    async def on_log(params: LoggingMessageNotificationParams) -> None:
        log.add(f"{params.level}: {params.data}")

    async def on_message(message: IncomingMessage) -> None:
        if not connections:
            return
        if isinstance(message, ToolListChangedNotification):
            connections[0].changed.set()
        elif isinstance(message, PromptListChangedNotification | ResourceListChangedNotification):
            connections[0].offers_changed.set()

    dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(received, outgoing)
    session = ClientSession(
        dispatcher=dispatcher,
        logging_callback=on_log,
        message_handler=on_message,
        client_info=_CLIENT,
        **callbacks_of(rights),
    )
    async with session:
        connections.append(Connection(session, dispatcher, rights))
        yield connections[0]
