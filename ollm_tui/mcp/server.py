"""One server and its life, in a task that alone opens and closes it.

States: off -> starting -> ready -> waiting (it ended, and is started again after a pause) ->
starting ... -> failed (it ended too often, or cannot be started at all).
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import anyio

from ollm_tui.config.foreign import run_in_daemon_thread
from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.lazy import import_name
from ollm_tui.mcp.catalogue import Catalogue
from ollm_tui.mcp.listing import ToolDefinition, ToolList
from ollm_tui.mcp.log import ServerLog
from ollm_tui.mcp.requests import ClientSide, ServerRights
from ollm_tui.mcp.settings import (
    ServerAddress,
    address_of,
    identity_of,
    shown_address,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.tools import ToolOutput
from ollm_tui.tools.define import ToolFailure

if TYPE_CHECKING:
    from mcp.shared.dispatcher import ProgressFnT

    from ollm_tui.attachments.attachment import Attachment
    from ollm_tui.mcp.connection import Connection
    from ollm_tui.mcp.offers import Part, ServerOffers
    from ollm_tui.mcp.tokens import ServerTokens

ServerState: TypeAlias = Literal["off", "starting", "ready", "waiting", "failed"]
PAUSES_S: Final = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Before each further start; after the last one it stays as it is."""
STEADY_S: Final = 60.0
"""A server that was ready for so long starts anew without a longer pause."""
_SETTLED_S: Final = 0.2
"""Several changes of a list at once are read once."""
_COMPLETES_S: Final = 2.0
MISSING_PACKAGE: Final = (
    "The package mcp is not installed. Install it in ollm's environment: pip install mcp."
)
WRONG_SETTINGS: Final = (
    "It needs either `command` or `url` in the settings; a `url` begins with http:// or https://."
)

logger = logging.getLogger(__name__)


class _Unusable(Exception):
    """No further start can help; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How long things may take, in seconds."""

    start_s: float = 10.0
    call_s: float = 60.0
    pauses_s: tuple[float, ...] = PAUSES_S


class McpServer:
    """A server of the settings."""

    def __init__(
        self,
        name: str,
        prefix: str,
        settings: McpServerSettings,
        changed: Callable[[], None] = lambda: None,
        *,
        pauses_s: tuple[float, ...] = PAUSES_S,
        client: ClientSide | None = None,
    ) -> None:
        self.name = name
        self.prefix = prefix
        """What the names of its tools begin with."""
        self.address: ServerAddress | None = address_of(settings)
        self.timing = Timing(settings.start_timeout_s, settings.call_timeout_s, pauses_s)
        self.state: ServerState = "starting" if settings.enabled else "off"
        self.problem = ""
        """Why it is not ready, as a sentence; may hold foreign text."""
        self.about = ""
        """Its own name and version; foreign text."""
        self.needs_sign_in = False
        """Whether it is off since it does not know the user."""
        self.listed = ToolList()
        self.catalogue = Catalogue()
        """Its prompts and resources, once they are known."""
        self.log = ServerLog()
        self.rights = ServerRights(name, settings, client or ClientSide(), self.log)
        """What it may ask of the user and of the chat."""
        self._changed = changed
        self._is_on = settings.enabled
        self._failures = 0
        self._connection: Connection | None = None
        self._wake = anyio.Event()
        self._life: anyio.CancelScope | None = None
        self.tokens: ServerTokens | None = None
        """Where its sign-in is kept, if it takes one."""

    @property
    def identity(self) -> str:
        """A hash of what it is."""
        return identity_of(self.address) if self.address is not None else ""

    @property
    def place(self) -> str:
        """Its whole command, or its address without a password."""
        return shown_address(self.address) if self.address is not None else ""

    def definition(self, tool: str) -> ToolDefinition | None:
        """Return what it says of a tool now."""
        return next((one for one in self.listed.tools if one.name == tool), None)

    def required(self, tool: str) -> ToolDefinition:
        """Return what it says of a tool now.

        Raises:
            ToolFailure: it is not running, or has the tool no longer.
        """
        if self._connection is None:
            raise ToolFailure(f"Not run: the MCP server {self.name} is not running. {self.problem}")
        definition = self.definition(tool)
        if definition is None:
            raise ToolFailure(f"Not run: the MCP server {self.name} has no such tool any more.")
        return definition

    def switch(self, *, is_on: bool) -> None:
        """Start it anew, or stop it."""
        self._is_on, self._failures = is_on, 0
        self.rights.forgive()
        self._wake.set()
        if self._life is not None:
            self._life.cancel()

    async def run(self) -> None:
        """Keep it running until this is cancelled."""
        while True:
            self._wake = anyio.Event()
            if self._is_on:
                with anyio.CancelScope() as self._life:
                    await self._live()
                if self._life.cancel_called:
                    continue
                await self._pause()
            else:
                self._show("off")
                await self._wake.wait()

    async def _pause(self) -> None:
        if self._failures > len(self.timing.pauses_s):
            self._show("failed")
            await self._wake.wait()
            return
        self._show("waiting")
        with anyio.move_on_after(self.timing.pauses_s[self._failures - 1]):
            await self._wake.wait()

    async def _live(self) -> None:
        """Start it and serve until it ends; an exception becomes its problem."""
        self._show("starting")
        try:
            await self._open()
        except _Unusable as error:
            self.problem, self._failures = str(error), len(self.timing.pauses_s) + 1
        except Exception as error:  # noqa: BLE001 -- a server must not end the app, whatever it does
            logger.info("The MCP server %s ended: %r", self.name, error)
            self.problem = _sentence(error)
            cause = _inner(error)
            code = cause.code if isinstance(cause, AIError) else None
            self.needs_sign_in = code == ErrorCode.AUTH_FAILED and self.tokens is not None
            is_wrong = code in {ErrorCode.BAD_REQUEST, ErrorCode.AUTH_FAILED}
            self._failures += len(self.timing.pauses_s) + 1 if is_wrong else 1
        finally:
            self._connection, self.listed, self.catalogue = None, ToolList(), Catalogue()
        if self.log.tail(1) != [self.problem]:
            self.log.add(self.problem)

    async def _open(self) -> None:
        if self.address is None:
            raise _Unusable(WRONG_SETTINGS)
        try:
            open_connection = await run_in_daemon_thread(
                lambda: import_name("ollm_tui.mcp.connection:open_connection")
            )
        except ImportError as error:
            raise _Unusable(MISSING_PACKAGE) from error
        opened = open_connection(self.address, self.log, self.rights, self.tokens)
        async with opened as connection:
            await self._greet(connection)
            began = anyio.current_time()
            self._connection = connection
            self._show("ready")
            try:
                await self._follow(connection)
            finally:
                if anyio.current_time() - began > STEADY_S:
                    self._failures = 0
            how = connection.last_words
            if connection.is_unknown:
                raise AIError(ErrorCode.AUTH_FAILED, how)
            raise ToolFailure(f"It stopped{f' ({how})' if how else ''}.")

    async def _greet(self, connection: "Connection") -> None:
        limit = self.timing.start_s
        with anyio.move_on_after(limit) as scope:
            self.about = await connection.greet()
            self.listed = await connection.tools()
        if scope.cancelled_caught:
            self.problem = (
                f"It did not start within {limit:g} s. `start_timeout_s` in the settings gives it "
                "more time."
            )
            self._show("waiting")  # nobody waits for its end as well
            raise ToolFailure(self.problem)

    async def _follow(self, connection: "Connection") -> None:
        """Wait for the end, and read the list of tools whenever it changes."""
        async with anyio.create_task_group() as group:

            async def reread() -> None:
                while True:
                    await connection.changed.wait()
                    await anyio.sleep(_SETTLED_S)
                    with anyio.fail_after(self.timing.start_s):
                        self.listed = await connection.tools()
                    self._show("ready")

            group.start_soon(reread)
            group.start_soon(self._follow_offers, connection)
            await connection.ended.wait()
            self._connection = None  # no further call is sent to what has ended
            if connection.process is not None:
                with anyio.move_on_after(_SETTLED_S):
                    await connection.process.ended()
            group.cancel_scope.cancel()

    async def _follow_offers(self, connection: "Connection") -> None:
        """Read the prompts and resources now and whenever they change; without them it goes on."""
        while True:
            connection.offers_changed = anyio.Event()
            try:
                with anyio.fail_after(self.timing.start_s):
                    catalogue = await connection.offers.catalogue()
            except (AIError, TimeoutError) as error:
                self.log.add(str(error) or "It did not list its prompts and resources in time.")
            else:
                if catalogue != self.catalogue:
                    self.catalogue = catalogue
                    self._changed()
            await connection.offers_changed.wait()
            await anyio.sleep(_SETTLED_S)

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> "Sequence[Part]":
        """Return the words and attachments of a prompt.

        Raises:
            AIError: it cannot be read.
        """
        return await self._offers.prompt(name, arguments, self.timing.call_s)

    async def resource(self, uri: str) -> "Sequence[Attachment]":
        """Read a resource.

        Raises:
            AIError: it cannot be read, or attached.
        """
        return await self._offers.resource(uri, self.timing.call_s)

    async def prompt_values(
        self, prompt: str, argument: str, given: Mapping[str, str]
    ) -> Sequence[str]:
        """Return how an argument of a prompt may go on; none if that is not known in time."""
        with suppress(AIError):
            return await self._offers.prompt_values(prompt, argument, given, _COMPLETES_S)
        return ()

    async def template_values(self, uri: str, variable: str, begun: str) -> Sequence[str]:
        """Return how a variable of a template may go on; none if that is not known in time."""
        with suppress(AIError):
            return await self._offers.template_values(uri, variable, begun, _COMPLETES_S)
        return ()

    @property
    def _offers(self) -> "ServerOffers":
        if self._connection is None:
            words = f"The MCP server {clean_name(self.name)} is not running."
            raise AIError(ErrorCode.SERVICE_UNAVAILABLE, words)
        return self._connection.offers

    async def call(
        self, tool: ToolDefinition, args: JsonObject, on_progress: "ProgressFnT | None" = None
    ) -> ToolOutput:
        """Call a tool as it was described when it was offered and allowed.

        Raises:
            ToolFailure: it cannot be called, or the call failed.
        """
        if self.required(tool.name).fingerprint != tool.fingerprint:
            raise ToolFailure(
                f"Not run: the MCP server {self.name} has changed this tool meanwhile."
            )
        connection = self._connection
        assert connection is not None
        return await connection.call(tool.name, args, self.timing.call_s, on_progress)

    def _show(self, state: ServerState) -> None:
        self.state = state
        if state in {"ready", "off"}:
            self.problem, self.needs_sign_in = "", False
        self._changed()


def _inner(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _sentence(error: BaseException) -> str:
    error = _inner(error)
    if isinstance(error, AIError | ToolFailure):
        return str(error)
    if type(error).__name__ in {"ConnectError", "ConnectTimeout"}:  # of a library not loaded here
        return "No answer from its address."
    if isinstance(error, TimeoutError):
        return "It did not list its tools in time."
    return f"It failed ({type(error).__name__})."
