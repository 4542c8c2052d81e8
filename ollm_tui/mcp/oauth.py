"""OAuth by the official SDK, with tokens that outlive the program.

The SDK forgets when a token ends and where it is renewed, so both are kept with it. Nobody is asked
outside a sign-in: a request that needs one is refused by the server, as it would be without.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final, TypeVar

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.exceptions import OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from ollm_tui.config.urls import split_web_url
from ollm_tui.mcp.tokens import ServerTokens
from ollm_tui.protocol.json_types import JsonObject

_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_ENDED: Final = 1.0
"""A time at which a token has ended."""
_WITHOUT_BROWSER: Final = "http://127.0.0.1/callback"
NO_REGISTRATION: Final = (
    "Its authorization server does not take ollm as a new client. Set a token as "
    "`headers.Authorization` instead."
)
_Model = TypeVar("_Model", bound=BaseModel)
UNSAFE: Final = "It names an address for the sign-in that is not safe to use."


@dataclass(frozen=True, slots=True)
class Person:
    """What a sign-in needs of the person."""

    redirect: str
    """Where the browser ends."""
    show: Callable[[str], Awaitable[None]]
    """Shows the address at which the person signs in."""
    code: Callable[[], Awaitable[AuthorizationCodeResult]]
    """Waits for what the browser brings back."""


class SignedIn(OAuthClientProvider):
    """Signs requests with the kept tokens, and renews them; asks only where a person is given."""

    def __init__(self, url: str, tokens: ServerTokens, person: Person | None = None) -> None:
        metadata = OAuthClientMetadata(
            redirect_uris=[AnyUrl(person.redirect if person else _WITHOUT_BROWSER)],
            client_name="ollm",
            token_endpoint_auth_method="none",
        )
        show, code = (person.show, person.code) if person else (None, None)
        super().__init__(url, metadata, self, show, code)
        self._tokens = tokens
        self._person = person
        self._kept: JsonObject = {}
        self._refused = ""
        self.refused: Callable[[], None] = lambda: None
        """Called when the server wants a sign-in, and nobody can be asked."""
        self.problem = ""
        """Why a sign-in failed, as a sentence."""

    # The storage of the SDK

    async def get_tokens(self) -> OAuthToken | None:
        """Read all that is kept; a sign-in begins anew."""
        self._kept = {} if self._person else await self._tokens.load()
        return _read(OAuthToken, self._kept.get("tokens"))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the client that the authorization server knows, and note what the SDK forgets."""
        self.context.oauth_metadata = _read(OAuthMetadata, self._kept.get("server"))
        ends = self._kept.get("ends")
        self.context.token_expiry_time = ends if isinstance(ends, int | float) else None
        now = self.context.current_tokens
        if now is not None and now.access_token == self._refused:
            self.context.token_expiry_time = _ENDED
        return _read(OAuthClientInformationFull, self._kept.get("client"))

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """A no-op: it is kept with the tokens."""

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep all that a later run needs."""
        context = self.context
        server = context.oauth_metadata
        values: JsonObject = {"tokens": _written(tokens), "ends": context.token_expiry_time}
        if context.client_info is not None:
            values["client"] = _written(context.client_info)
        if server is not None:
            fields = {"issuer", "authorization_endpoint", "token_endpoint"}
            values["server"] = server.model_dump(mode="json", include=fields)
        await self._tokens.keep(values)

    # Requests

    async def _auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if not self.context.is_token_valid():
            self._initialized = False  # another program may have renewed it
        flow, is_again = super()._auth_flow(request), False
        try:
            step = await anext(flow)
            while True:
                if step is not request:
                    check_address(str(step.url), self.context.server_url)
                response = yield step
                if step is request and response.status_code in {_UNAUTHORIZED, _FORBIDDEN}:
                    if self._can_renew(response) and not is_again:
                        await flow.aclose()
                        flow, is_again = super()._auth_flow(request), True
                        step = await anext(flow)
                        continue
                    if self._person is None:
                        if response.status_code == _UNAUTHORIZED:
                            self.refused()
                        return
                step = await flow.asend(response)
        except StopAsyncIteration:
            return
        except (OAuthFlowError, ValidationError) as error:
            self.problem = self.problem or _sentence(error)
            raise
        finally:
            await flow.aclose()

    def _can_renew(self, response: httpx2.Response) -> bool:
        """Return whether the token may have ended before its time; it is then renewed."""
        tokens = self.context.current_tokens
        if response.status_code != _UNAUTHORIZED or self._person is not None or tokens is None:
            return False
        self._refused, self._initialized = tokens.access_token, False
        return self.context.can_refresh_token()


def check_address(address: str, server: str) -> None:
    """Refuse what a server could name to reach other things: files, inner networks.

    Raises:
        OAuthFlowError: the address is not one for a sign-in.
    """
    parts, own = split_web_url(address), split_web_url(server)
    if parts is None or own is None or parts.username is not None:
        raise OAuthFlowError(UNSAFE)
    if (parts.scheme, parts.netloc) == (own.scheme, own.netloc):
        return
    if _is_inner(own.hostname or ""):
        return
    if parts.scheme != "https" or _is_inner(parts.hostname or ""):
        raise OAuthFlowError(UNSAFE)


def _is_inner(host: str) -> bool:
    """Return whether a host is this machine or in an inner network, as far as its name tells."""
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
        return True
    try:
        return not ip_address(host).is_global
    except ValueError:
        return host.rpartition(".")[2].isdigit() or host.startswith("0x")


def _sentence(error: Exception) -> str:
    """Return what went wrong without what the server wrote, which may hold a secret."""
    match error:
        case OAuthRegistrationError():
            return NO_REGISTRATION
        case OAuthTokenError():
            return "Its authorization server refused the sign-in."
        case OAuthFlowError() if str(error) == UNSAFE:
            return UNSAFE
        case OAuthFlowError():
            return "Its authorization server does not follow the protocol."
        case _:
            return "Its authorization server gave a malformed answer."


def _read(kind: type[_Model], value: object) -> _Model | None:
    try:
        return kind.model_validate(value) if value is not None else None
    except ValidationError:
        return None


def _written(value: BaseModel) -> JsonObject:
    written: JsonObject = value.model_dump(mode="json", exclude_none=True)
    return written
