"""The sign-in of a server that wants OAuth: its tokens, kept where `ollm keys` keeps the keys."""

import json
import shlex
from typing import Final

import anyio.to_thread

from ollm_tui.config.keys.stored_keys import SIGN_IN, KeyringProblem, StoredKeys
from ollm_tui.config.urls import url_origin
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.json_fields import as_object
from ollm_tui.mcp.settings import HttpServer, ServerAddress
from ollm_tui.protocol.json_types import JsonObject

NOT_TAKEN: Final = "It refuses the token of `headers.Authorization` in the settings."


def tokens_of(
    keys: StoredKeys, server: str, address: ServerAddress | None
) -> "ServerTokens | None":
    """Return where the sign-in of a server is kept; None for one that takes none."""
    if not isinstance(address, HttpServer) or address.has_token:
        return None
    return ServerTokens(keys, server, address.url)


class ServerTokens:
    """Reads and keeps the sign-in of one server; no other origin gets its tokens."""

    def __init__(self, keys: StoredKeys, server: str, url: str) -> None:
        self._keys = keys
        self._name = f"{SIGN_IN}{server}"
        self._origin = url_origin(url)
        self.server = server

    @property
    def advice(self) -> str:
        """Why the server cannot be used without one, and what to do."""
        command = f"ollm mcp login {shlex.quote(clean_name(self.server))}"
        return f"It needs you to sign in: `{command}` in a shell."

    async def load(self) -> JsonObject:
        """Return what is kept; nothing if there is no sign-in, or it cannot be read.

        Raises:
            AIError: the file cannot be read.
        """
        return await anyio.to_thread.run_sync(self._load)

    def _load(self) -> JsonObject:
        kept = next((one for one in self._keys.listed() if one.name == self._name), None)
        if kept is None or kept.server != self._origin:
            return {}
        try:
            return as_object(json.loads(self._keys.value(kept) or "{}"))
        except (KeyringProblem, ValueError, RecursionError):
            return {}

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
