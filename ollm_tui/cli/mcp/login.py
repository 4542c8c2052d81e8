"""`ollm mcp login` and `logout`: a sign-in by the browser of this machine or another one."""

import os
import sys
from collections.abc import Callable
from getpass import getpass

import anyio

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_actions import confirm
from ollm_tui.cli.output import ERROR, OK, Output, UsageError
from ollm_tui.cli.stop import stopping
from ollm_tui.config.foreign import run_in_daemon_thread
from ollm_tui.config.keys.stored_keys import MAX_KEY_LENGTH, StoredKeys
from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.paths import AppPaths
from ollm_tui.decode.clean import clean_name
from ollm_tui.frontend.link_target import LinkTarget, read_link
from ollm_tui.frontend.opener import SystemOpener
from ollm_tui.lazy import import_name
from ollm_tui.mcp.server import MISSING_PACKAGE
from ollm_tui.mcp.settings import HttpServer, address_of
from ollm_tui.mcp.tokens import ServerTokens, why_no_sign_in
from ollm_tui.protocol.errors import AIError

_MAX_LENGTH = 16_384


def tokens_of(name: str, loaded: LoadedConfig, paths: AppPaths) -> tuple[HttpServer, ServerTokens]:
    """Return the address of a server, and where its sign-in is kept.

    Raises:
        UsageError: it takes none.
    """
    address = address_of(loaded.config.mcp_servers[name])
    if why := why_no_sign_in(name, address):
        raise UsageError(why)
    assert isinstance(address, HttpServer)
    return address, ServerTokens(StoredKeys(paths.data_dir), name, address.url)


async def login(
    name: str, arguments: Arguments, loaded: LoadedConfig, paths: AppPaths, output: Output
) -> int:
    """Have the user sign in, and keep what the server gives."""
    address, tokens = tokens_of(name, loaded, paths)
    shown = clean_name(name)
    if arguments.mcp.client_secret:
        await tokens.keep_client_secret(_typed_secret(name, address))
        output.note(f"Kept the secret of the client, which `ollm mcp rm {shown}` removes.")
    try:
        sign_in = await run_in_daemon_thread(lambda: import_name("ollm_tui.mcp.signing_in:sign_in"))
    except ImportError:
        output.error(MISSING_PACKAGE)
        return ERROR
    with stopping() as stop:
        try:
            is_signed_in = await sign_in(address, tokens, _Browser(name, output).show)
        except AIError as error:
            output.error(f"{shown}: {error.message}", error.hint)
            return ERROR
        done = f"Signed in to {shown}." if is_signed_in else f"{shown} does not need a sign-in."
        output.note(done)
        return OK
    return stop.exit_code


def _typed_secret(name: str, address: HttpServer) -> str:
    """Return the secret of a client from a hidden prompt; an argument would show it to others."""
    if address.client is None:
        raise UsageError(f"The settings of {clean_name(name)} name no `oauth.client_id`.")
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            "--client-secret asks for it, and there is no terminal.",
            'Set `oauth.client_secret` to "${NAME}", a variable of the environment.',
        )
    secret = getpass(f"Secret of the client {clean_name(address.client.id)} (not shown): ").strip()
    if (
        not secret
        or len(secret) > MAX_KEY_LENGTH
        or not (secret.isascii() and secret.isprintable())
    ):
        raise UsageError("This is no secret: it is one line of letters, digits and signs.")
    return secret


async def logout(
    name: str, _arguments: Arguments, loaded: LoadedConfig, paths: AppPaths, output: Output
) -> int:
    """Forget a sign-in."""
    _, tokens = tokens_of(name, loaded, paths)
    if not await tokens.remove():
        output.error(f"You are not signed in to {clean_name(name)}.")
        return ERROR
    output.note(f"Signed out of {clean_name(name)}: its tokens are removed from this machine.")
    return OK


class _Browser:
    """Shows where to sign in, and takes the address where a browser elsewhere ended."""

    def __init__(self, name: str, output: Output) -> None:
        self._name = clean_name(name)
        self._output = output
        self.opener = SystemOpener()

    async def show(self, address: str, take: Callable[[str], bool]) -> None:
        """Offer to open the address in the browser; read pasted ones until one is taken."""
        target = read_link(address)
        if not isinstance(target, LinkTarget):
            self._output.error(target.reason)
            return
        self._output.note(f"To sign in to {self._name}, open this address in a browser:")
        self._output.line(target.address)
        is_watched = self._output.is_watched and sys.stdin is not None and sys.stdin.isatty()
        if is_watched and confirm(f"Open {target.hosts[0].ascii} in the browser?", self._output):
            problem = await self.opener.open(target.address)
            self._output.note(problem or "Waiting for the browser.")
        self._output.note(
            "If the browser runs on another machine: paste the address here where it ends, which "
            "begins with http://127.0.0.1, and press Enter."
        )
        await self._read_pasted(take)

    async def _read_pasted(self, take: Callable[[str], bool]) -> None:
        pasted = b""
        while sys.stdin is not None:
            try:
                await anyio.wait_readable(sys.stdin.fileno())
                data = os.read(sys.stdin.fileno(), _MAX_LENGTH)
            except (OSError, ValueError):
                return  # a file, or nothing: the browser alone can answer
            pasted = (pasted + data)[-_MAX_LENGTH:]
            *lines, pasted = pasted.split(b"\n") if data else (pasted, b"")
            for line in lines:
                text = line.decode("utf-8", "replace").strip()
                if text and take(text):
                    return
                if text:
                    self._output.note("This is not the address where the sign-in ended.")
            if not data:
                return
