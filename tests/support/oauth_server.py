"""An MCP server behind OAuth, with its own authorization server, in a thread of this process.

The protocol is that of the official SDK; the person who signs in says yes at once.
"""

import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl

Provider = OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]


@dataclass
class Authority:
    """The authorization server: what it has given out, and what a test makes of it."""

    says_yes: bool = True
    needs: str = ""
    """A scope without which the server refuses calls of tools."""
    takes_clients: bool = True
    clients: dict[str, OAuthClientInformationFull] = field(default_factory=dict)
    codes: dict[str, AuthorizationCode] = field(default_factory=dict)
    access: dict[str, AccessToken] = field(default_factory=dict)
    renewable: dict[str, RefreshToken] = field(default_factory=dict)
    renewed: int = 0
    given: list[str] = field(default_factory=list)
    """All that is secret: codes and tokens."""

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        if not self.says_yes:
            raise AuthorizeError("access_denied", "not today")
        code = AuthorizationCode(
            code=self._secret("code"),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, _client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._tokens(client, authorization_code.scopes)

    async def load_refresh_token(
        self, _client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.renewable.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.renewable[refresh_token.token]
        self.renewed += 1
        return self._tokens(client, scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)
        self.renewable.pop(token.token, None)

    def end_access(self) -> None:
        """End all access tokens before their time, as a server that was started anew does."""
        self.access.clear()

    def _tokens(self, client: OAuthClientInformationFull, scopes: list[str]) -> OAuthToken:
        access, refresh = self._secret("access"), self._secret("refresh")
        ends = int(time.time()) + 3600
        self.access[access] = AccessToken(
            token=access, client_id=client.client_id, scopes=scopes, expires_at=ends
        )
        self.renewable[refresh] = RefreshToken(
            token=refresh, client_id=client.client_id, scopes=scopes
        )
        return OAuthToken(
            access_token=access,
            expires_in=3600,
            refresh_token=refresh,
            scope=" ".join(scopes),
        )

    def _secret(self, kind: str) -> str:
        self.given.append(f"{kind}-{secrets.token_hex(20)}")
        return self.given[-1]


@dataclass(frozen=True)
class GuardedServer:
    """The running server."""

    url: str
    authority: Authority


def _narrow(app: Any, authority: Authority) -> Any:
    """Refuse calls of tools to those whose token lacks a scope."""

    async def narrowed(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or not authority.needs:
            await app(scope, receive, send)
            return
        message = await receive()
        token = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
        known = authority.access.get(token)
        if b"tools/call" not in message["body"] or known is None or authority.needs in known.scopes:
            waiting = [message]

            async def again() -> Any:
                return waiting.pop() if waiting else await receive()

            await app(scope, again, send)
            return
        asked = f'Bearer error="insufficient_scope", scope="{authority.needs} \x1b[2J"'
        headers = [(b"www-authenticate", asked.encode()), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 403, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    return narrowed


@contextmanager
def guarded_server(authority: Authority | None = None) -> Iterator[GuardedServer]:
    """Serve on a free port of this machine."""
    authority = authority or Authority()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        origin = f"http://127.0.0.1:{listening.getsockname()[1]}"
        options = ClientRegistrationOptions(
            enabled=authority.takes_clients, valid_scopes=["use", "add"], default_scopes=["use"]
        )
        auth = AuthSettings(
            issuer_url=AnyHttpUrl(origin),
            resource_server_url=AnyHttpUrl(f"{origin}/mcp"),
            client_registration_options=options,
            required_scopes=["use"],
            validate_token_resource=False,
        )
        server = MCPServer(
            "guarded", version="1", auth_server_provider=cast("Provider", authority), auth=auth
        )

        @server.tool()
        def add(left: int, right: int) -> int:
            """Add two numbers."""
            return left + right

        config = uvicorn.Config(
            _narrow(server.streamable_http_app(), authority),
            log_level="critical",
            timeout_graceful_shutdown=1,
        )
        running = uvicorn.Server(config)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield GuardedServer(f"{origin}/mcp", authority)
        finally:
            running.should_exit = True
            thread.join(10)
