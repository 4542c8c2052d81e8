"""The sign-in of a server that wants OAuth: its tokens, kept where `ollm keys` keeps the keys."""

import json
import shlex
from typing import Final

import anyio.to_thread

from ollm_tui.config.keys.stored_keys import (
    CLIENT_SECRET,
    SIGN_IN,
    KeyringProblem,
    StoredKeys,
)
from ollm_tui.config.urls import url_origin
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.json_fields import as_object
from ollm_tui.mcp.settings import HttpServer, ServerAddress
from ollm_tui.protocol.json_types import JsonObject

NOT_TAKEN: Final = "It refuses the token of `headers.Authorization` in the settings."
TOO_NARROW: Final = (
    "The token of `headers.Authorization` in the settings does not cover that: it needs one with "
    "wider access."
)


def tokens_of(
    keys: StoredKeys, server: str, address: ServerAddress | None
) -> "ServerTokens | None":
    """Return where the sign-in of a server is kept; None for one that takes none."""
    if not isinstance(address, HttpServer) or address.has_token:
        return None
    return ServerTokens(keys, server, address.url)


def why_no_sign_in(server: str, address: ServerAddress | None) -> str:
    """Return why a server takes no sign-in, as a sentence; empty if it may."""
    shown = clean_name(server)
    if not isinstance(address, HttpServer):
        return f"{shown} is a program: only addresses take a sign-in."
    if address.has_token:
        return f"{shown} has a token in `headers.Authorization`, which is used instead."
    return ""


class ServerTokens:
    """Reads and keeps the sign-in of one server; no other origin gets its tokens."""

    def __init__(self, keys: StoredKeys, server: str, url: str) -> None:
        self._keys = keys
        self._name = f"{SIGN_IN}{server}"
        self._secret_name = f"{CLIENT_SECRET}{server}"
        self._origin = url_origin(url)
        self.server = server

    @property
    def advice(self) -> str:
        """Why the server cannot be used without one, and what to do."""
        return (
            f"It needs you to sign in: `{self._command}` in a shell, or /mcp login {self._shown} "
            "in the app."
        )

    def wider_advice(self, scopes: str) -> str:
        """Why it refuses what the sign-in does not cover, and what to do."""
        named = f" ({scopes})" if scopes else ""
        return (
            f"Your sign-in does not cover that{named}: `{self._command}` in a shell, or /mcp login "
            f"{self._shown} in the app, asks for the wider access."
        )

    @property
    def _shown(self) -> str:
        return clean_name(self.server)

    @property
    def _command(self) -> str:
        return f"ollm mcp login {shlex.quote(self._shown)}"

    async def load(self) -> JsonObject:
        """Return what is kept; nothing if there is no sign-in, or it cannot be read.

        Raises:
            AIError: the file cannot be read.
        """
        return await anyio.to_thread.run_sync(self._load)

    def _load(self) -> JsonObject:
        try:
            return as_object(json.loads(self._value(self._name) or "{}"))
        except (ValueError, RecursionError):
            return {}

    def _value(self, name: str) -> str:
        kept = next((one for one in self._keys.listed() if one.name == name), None)
        if kept is None or kept.server != self._origin:
            return ""
        try:
            return self._keys.value(kept) or ""
        except KeyringProblem:
            return ""

    async def client_secret(self) -> str | None:
        """Return the secret of the client that the user registered, if one is kept.

        Raises:
            AIError: the file cannot be read.
        """
        return await anyio.to_thread.run_sync(self._value, self._secret_name) or None

    async def keep_client_secret(self, secret: str) -> None:
        """Keep the secret of that client.

        Raises:
            AIError: it cannot be written.
        """
        await anyio.to_thread.run_sync(self._keys.set, self._secret_name, self._origin, secret)

    async def add_missing_scopes(self, scopes: str) -> None:
        """Note scopes that the sign-in does not cover; the next one asks for them.

        Raises:
            AIError: it cannot be written.
        """
        kept = await self.load()
        if kept:
            before = kept.get("lacks")
            wanted = f"{before} {scopes}" if isinstance(before, str) else scopes
            lacking: JsonObject = {"lacks": " ".join(dict.fromkeys(wanted.split()))}
            await self.keep({**kept, **lacking})

    async def keep(self, values: JsonObject) -> None:
        """Keep a sign-in in place of the one before.

        Raises:
            AIError: it cannot be written.
        """
        text = json.dumps(values)
        await anyio.to_thread.run_sync(self._keys.set, self._name, self._origin, text)

    async def remove(self) -> bool:
        """Forget the sign-in; return False if there is none.

        Raises:
            AIError: the keyring or the file cannot be changed.
        """
        return await anyio.to_thread.run_sync(self._keys.remove, self._name)
