"""Sign-ins to MCP servers from the open chat, one at a time for a server."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal, Protocol

import anyio

from ollm_tui.config.foreign import run_in_daemon_thread
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.lazy import import_name
from ollm_tui.protocol.errors import AIError

if TYPE_CHECKING:
    from ollm_tui.mcp.server import McpServer


class _Say(Protocol):
    def __call__(self, text: str, kind: Literal["info", "error"] = "info") -> object:
        """Show a note."""


@dataclass(eq=False, slots=True)
class _SignIn:
    """A sign-in that goes on."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    take: Callable[[str], bool] | None = None
    """Takes the address where the browser ended, once there is one to open."""


@dataclass(slots=True)
class SignIns:
    """Runs them, and hands over what the user pastes."""

    _going: dict[str, _SignIn] = field(default_factory=dict, init=False)

    def is_going(self, server: str) -> bool:
        """Whether the user is signing in to this server."""
        return server in self._going

    def take(self, server: str, address: str) -> bool:
        """Take the address where the browser ended; False if it answers no sign-in."""
        going = self._going.get(server)
        return going is not None and going.take is not None and going.take(address)

    def cancel(self, server: str) -> bool:
        """Give a sign-in up; False if there is none."""
        going = self._going.get(server)
        if going is not None:
            going.scope.cancel()
        return going is not None

    async def run(
        self,
        server: "McpServer",
        show: Callable[[str, Callable[[str], bool]], Awaitable[None]],
        say: _Say,
    ) -> None:
        """Sign in, and start the server anew; `show` gets the address and what takes a paste."""
        if server.name in self._going:
            return
        going = self._going[server.name] = _SignIn()
        try:
            with going.scope:
                await self._sign_in(server, going, show, say)
        finally:
            del self._going[server.name]
        if going.scope.cancelled_caught:
            say(f"The sign-in to {clean_name(server.name)} is cancelled.")

    async def _sign_in(
        self,
        server: "McpServer",
        going: _SignIn,
        show: Callable[[str, Callable[[str], bool]], Awaitable[None]],
        say: _Say,
    ) -> None:
        name = clean_name(server.name)

        async def shown(address: str, take: Callable[[str], bool]) -> None:
            going.take = take
            await show(address, take)

        try:
            sign_in = await run_in_daemon_thread(
                lambda: import_name("ollm_tui.mcp.signing_in:sign_in")
            )
            is_in = await sign_in(server.address, server.tokens, shown)
        except ImportError:
            # Loaded only for a mistake.
            from ollm_tui.mcp.server import MISSING_PACKAGE

            say(MISSING_PACKAGE, "error")
        except AIError as error:
            say(f"{name}: {clean_line(error.message)}", "error")
        else:
            if is_in:
                server.switch(is_on=True)
            say(
                f"Signed in to {name}: it restarts."
                if is_in
                else f"{name} does not need a sign-in."
            )
