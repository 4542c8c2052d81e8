"""A sign-in by the browser: the user agrees there, and the browser brings back a code.

It comes to a listener on this machine, or the user pastes the address where the browser ended.
"""

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.stapled import MultiListener
from mcp.shared.auth import AuthorizationCodeResult
from mcp_types import LATEST_PROTOCOL_VERSION

from ollm_tui.dataclass import dataclass, field
from ollm_tui.mcp.http import Refusals, http_client
from ollm_tui.mcp.log import ServerLog
from ollm_tui.mcp.oauth import InteractiveUser, SignedIn, check_address
from ollm_tui.mcp.settings import HttpServer
from ollm_tui.mcp.tokens import ServerTokens
from ollm_tui.protocol.errors import AIError, ErrorCode

TIMEOUT_S: Final = 300.0
"""How long the user may take."""
_PATH: Final = "/callback"
_MAX_REQUEST_LENGTH: Final = 16_384
_REQUEST_S: Final = 10.0
_BAD: Final = 400
_PAGE: Final = (
    "<!doctype html><meta charset=utf-8><title>ollm</title>"
    "<p>{}</p><p>You can close this page and go back to ollm.</p>"
)


class _Denied(Exception):
    """The user or the authorization server said no."""


@dataclass(slots=True)
class Redirect:
    """What the browser brings back, by whichever way it comes first."""

    _state: str = ""
    _result: AuthorizationCodeResult | None = None
    _is_denied: bool = False
    _came: anyio.Event = field(default_factory=anyio.Event)

    def expect(self, address: str) -> None:
        """Take only what answers the sign-in at this address."""
        self._state = _first(address, "state")

    def take(self, address: str) -> bool:
        """Take an address where the browser ended; return False if it answers something else."""
        if not self._state or _first(address, "state") != self._state:
            return False
        code, error = _first(address, "code"), _first(address, "error")
        if not code and not error:
            return False
        if not self._came.is_set():
            issuer = _first(address, "iss") or None
            self._is_denied = not code
            self._result = AuthorizationCodeResult(code=code, state=self._state, iss=issuer)
            self._came.set()
        return True

    async def wait(self) -> AuthorizationCodeResult:
        """Return the code once it has come."""
        await self._came.wait()
        assert self._result is not None
        if self._is_denied:
            raise _Denied
        return self._result


def _first(address: str, name: str) -> str:
    try:
        return parse_qs(urlsplit(address.strip()).query).get(name, [""])[0]
    except ValueError:
        return ""


async def sign_in(
    server: HttpServer,
    tokens: ServerTokens,
    show: Callable[[str, Callable[[str], bool]], Coroutine[Any, Any, None]],
) -> bool:
    """Have the user sign in; return False if the server wants no sign-in.

    `show` gets the address to open, and what takes an address that the user pastes.

    Raises:
        AIError: it did not work; the sign-in before is kept.
    """
    redirect = Redirect()
    async with await _listening(server.callback_port) as listener:
        port = listener.extra(SocketAttribute.local_port)

        async def ask(address: str) -> None:
            check_address(address, server.url)
            redirect.expect(address)
            group.start_soon(show, address, redirect.take)

        user = InteractiveUser(f"http://127.0.0.1:{port}{_PATH}", ask, redirect.wait)
        provider = SignedIn(server, tokens, user)
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, _answering(redirect))
            problem = await _knock(server, provider, tokens)
            group.cancel_scope.cancel()
    if problem:
        raise AIError(ErrorCode.AUTH_FAILED, problem)
    return provider.context.current_tokens is not None


async def _listening(port: int) -> MultiListener[SocketStream]:
    try:
        return await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
    except OSError as error:
        words = f"The port {port} of `oauth.callback_port` is used by another program."
        raise AIError(ErrorCode.CONFLICT, words) from error


async def _knock(server: HttpServer, provider: SignedIn, tokens: ServerTokens) -> str:
    """Send a request that needs the sign-in; return what went wrong, as a sentence."""
    info = {"name": "ollm", "version": "1"}
    params = {"protocolVersion": LATEST_PROTOCOL_VERSION, "capabilities": {}, "clientInfo": info}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    accepts = {"accept": "application/json, text/event-stream"}
    refusals = Refusals(ServerLog())
    try:
        with anyio.fail_after(TIMEOUT_S):
            async with (
                http_client(server.url, server.headers, refusals, provider) as client,
                client.stream("POST", server.url, json=request, headers=accepts) as response,
            ):
                code = response.status_code
                session = response.headers.get("mcp-session-id")
            if session is not None:
                await _leave(server, SignedIn(server, tokens), session)
    except _Denied:
        return "The sign-in was refused."
    except TimeoutError:
        return f"Nobody signed in within {TIMEOUT_S / 60:g} minutes."
    except httpx2.TransportError:
        return "No answer from its address, or from its authorization server."
    except Exception as error:  # noqa: BLE001 -- of foreign answers; the text may hold a secret
        return provider.problem or f"The sign-in failed ({type(error).__name__})."
    if code >= _BAD:
        return f"It answered with HTTP {code} after the sign-in."
    return ""


async def _leave(server: HttpServer, provider: SignedIn, session: str) -> None:
    """End the session that the request began."""
    headers = {"mcp-session-id": session}
    async with http_client(server.url, server.headers, Refusals(ServerLog()), provider) as client:
        await client.delete(server.url, headers=headers)


def _answering(redirect: Redirect) -> Callable[[SocketStream], Awaitable[None]]:
    async def answer(stream: SocketStream) -> None:
        async with stream:
            with anyio.move_on_after(_REQUEST_S):
                request = b""
                while b"\r\n" not in request and len(request) < _MAX_REQUEST_LENGTH:
                    request += await stream.receive()
                words = request.partition(b"\r\n")[0].decode("latin-1").split(" ")
                is_ours = len(words) > 1 and words[1].startswith(f"{_PATH}?")
                is_taken = is_ours and redirect.take(words[1])
                await stream.send(_response(is_taken=is_taken))

    async def answer_any(stream: SocketStream) -> None:
        # a browser may open a connection ahead, and not use it
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await answer(stream)

    return answer_any


def _response(*, is_taken: bool) -> bytes:
    status, words = ("200 OK", "Signed in, or refused: ollm says which.")
    if not is_taken:
        status, words = ("400 Bad Request", "This is not the end of a sign-in.")
    page = _PAGE.format(words).encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n"
        f"Content-Length: {len(page)}\r\nCache-Control: no-store\r\n"
        "Referrer-Policy: no-referrer\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + page
