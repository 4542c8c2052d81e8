"""How one server is reached, read from its settings."""

import shlex
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias

from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.config.urls import shown_url
from ollm_tui.dataclass import dataclass, field
from ollm_tui.shell.environment import PASSED_ON

_ALWAYS: Final[Mapping[str, str]] = {"TERM": "dumb", "NO_COLOR": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerProgram:
    """A program as the settings name it."""

    command: str
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: Path | None = None

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return all that it sees of the environment: a fixed list, and what the settings name."""
        passed = {
            name: value
            for name, value in environ.items()
            if name in PASSED_ON or name.startswith("LC_")
        }
        return {**passed, **_ALWAYS, **self.env}


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthClient:
    """The client that the user registered with an authorization server."""

    id: str
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpServer:
    """A server at an address."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    client: OAuthClient | None = None
    """None introduces ollm as a new client, where there is a sign-in."""
    callback_port: int = 0
    """Where the browser comes back to; 0 is a free port."""

    @property
    def has_token(self) -> bool:
        """Whether the settings say how it knows the user, so that no sign-in does."""
        return any(name.casefold() == "authorization" for name in self.headers)


ServerAddress: TypeAlias = ServerProgram | HttpServer


def address_of(settings: McpServerSettings) -> ServerAddress | None:
    """Return how the server is reached; None if the settings name neither or both ways."""
    if not settings.is_complete:
        return None
    if settings.url is not None:
        headers = {name: value.get_secret_value() for name, value in settings.headers.items()}
        oauth = settings.oauth
        secret = oauth.client_secret.get_secret_value() if oauth.client_secret else None
        return HttpServer(
            url=settings.url,
            headers=headers,
            client=OAuthClient(id=oauth.client_id, secret=secret) if oauth.client_id else None,
            callback_port=oauth.callback_port or 0,
        )
    assert settings.command is not None
    return ServerProgram(
        command=settings.command,
        args=settings.args,
        env={name: value.get_secret_value() for name, value in settings.env.items()},
        folder=settings.cwd,
    )


def identity_of(address: ServerAddress) -> str:
    """Return a hash of what the server is: another program or address is another server."""
    if isinstance(address, HttpServer):
        parts = ["http", address.url]
    else:
        env = [f"{name}={value}" for name, value in sorted(address.env.items())]
        parts = ["stdio", address.command, *address.args, *env, str(address.folder or "")]
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def shown_address(address: ServerAddress) -> str:
    """Return the whole command, or the address without a password in it."""
    if isinstance(address, HttpServer):
        return shown_url(address.url)
    return shlex.join((address.command, *address.args))
