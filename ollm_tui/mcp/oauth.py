"""OAuth by the official SDK, with tokens that outlive the program.

The SDK forgets when a token ends and where it is renewed, so both are kept with it. Nobody is asked
outside a sign-in: a request that needs one is refused by the server, as it would be without.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, Final, TypeVar

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.exceptions import OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.client.auth.utils import (
    extract_field_from_www_auth,
    extract_scope_from_www_auth,
    union_scopes,
)
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import AnyUrl, BaseModel, PrivateAttr, ValidationError

from ollm_tui.config.urls import split_web_url
from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re
from ollm_tui.mcp.settings import HttpServer
from ollm_tui.mcp.tokens import ServerTokens
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject

_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_ENDED: Final = 1.0
"""A time at which a token has ended."""
_WITHOUT_BROWSER: Final = "http://127.0.0.1/callback"
_SCOPE: Final = lazy_re(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
_MAX_SCOPES: Final = 50
NO_REGISTRATION: Final = (
    "Its authorization server does not take ollm as a new client. Set `oauth.client_id` to one "
    "that you registered there, or a token as `headers.Authorization`."
)
_BASIC: Final = "client_secret_basic"
_POST: Final = "client_secret_post"
_OF_SERVER: Final = {
    "issuer",
    "authorization_endpoint",
    "token_endpoint",
    "token_endpoint_auth_methods_supported",
}
_Model = TypeVar("_Model", bound=BaseModel)
UNSAFE: Final = "It names an address for the sign-in that is not safe to use."


@dataclass(frozen=True, slots=True)
class InteractiveUser:
    """What a sign-in needs of the user."""

    redirect: str
    """Where the browser ends."""
    show: Callable[[str], Awaitable[None]]
    """Shows the address at which the user signs in."""
    code: Callable[[], Awaitable[AuthorizationCodeResult]]
    """Waits for what the browser brings back."""


class _Metadata(OAuthClientMetadata):
    """Asks for further scopes besides those that the SDK chooses."""

    _further: str = PrivateAttr("")

    def ask_also(self, scopes: str) -> None:
        """Ask for these, too, whenever scopes are chosen."""
        self._further = scopes

    def __setattr__(self, name: str, value: Any) -> None:
        chosen = union_scopes(value, self._further) if name == "scope" and self._further else value
        super().__setattr__(name, chosen)


class SignedIn(OAuthClientProvider):
    """Signs requests with the kept tokens, and renews them; asks only where the user is given."""

    def __init__(
        self, server: HttpServer, tokens: ServerTokens, user: InteractiveUser | None = None
    ) -> None:
        self._metadata = _Metadata(
            redirect_uris=[AnyUrl(user.redirect if user else _WITHOUT_BROWSER)],
            client_name="ollm",
            token_endpoint_auth_method="none",
        )
        show, code = (user.show, user.code) if user else (None, None)
        super().__init__(server.url, self._metadata, self, show, code)
        self._tokens = tokens
        self._client = server.client
        self._user = user
        self._kept: JsonObject = {}
        self._refused = ""
        self.refused: Callable[[], None] = lambda: None
        """Called when the server wants a sign-in, and nobody can be asked."""
        self.problem = ""
        """Why a sign-in failed, as a sentence."""

    # The storage of the SDK

    async def get_tokens(self) -> OAuthToken | None:
        """Read all that is kept; a sign-in begins anew."""
        kept = await self._tokens.load()
        if self._user is None:
            self._kept = kept
            return _read(OAuthToken, kept.get("tokens"))
        if isinstance(lacking := kept.get("lacks"), str):
            granted = _read(OAuthToken, kept.get("tokens"))
            before = granted.scope if granted is not None else None
            self._metadata.ask_also(union_scopes(before, lacking) or "")
        return None

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the client that the authorization server knows, and note what the SDK forgets."""
        self.context.oauth_metadata = _read(OAuthMetadata, self._kept.get("server"))
        ends = self._kept.get("ends")
        self.context.token_expiry_time = ends if isinstance(ends, int | float) else None
        now = self.context.current_tokens
        if now is not None and now.access_token == self._refused:
            self.context.token_expiry_time = _ENDED
        if self._client is None:
            return _read(OAuthClientInformationFull, self._kept.get("client"))
        return OAuthClientInformationFull(
            client_id=self._client.id,
            client_secret=self._client.secret or await self._tokens.client_secret(),
            token_endpoint_auth_method="none",
        )

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """A no-op: it is kept with the tokens."""

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep all that a later run needs."""
        context = self.context
        server = context.oauth_metadata
        values: JsonObject = {"tokens": _written(tokens), "ends": context.token_expiry_time}
        if context.client_info is not None and self._client is None:
            values["client"] = _written(context.client_info)
        if server is not None:
            values["server"] = server.model_dump(mode="json", include=_OF_SERVER)
        if self._user is None and "lacks" in self._kept:
            values["lacks"] = self._kept["lacks"]
        await self._tokens.keep(values)

    # A client that the user registered

    async def _exchange_token_authorization_code(
        self, auth_code: str, code_verifier: str
    ) -> httpx2.Request:
        self._choose_proof()
        return await super()._exchange_token_authorization_code(auth_code, code_verifier)

    async def _refresh_token(self) -> httpx2.Request:
        self._choose_proof()
        return await super()._refresh_token()

    def _choose_proof(self) -> None:
        """Send the secret of that client as its authorization server wants it."""
        client, server = self.context.client_info, self.context.oauth_metadata
        if self._client is None or client is None or client.client_secret is None:
            return
        known = server.token_endpoint_auth_methods_supported if server is not None else None
        is_posted = known is not None and _BASIC not in known and _POST in known
        client.token_endpoint_auth_method = _POST if is_posted else _BASIC

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
                    if self._user is None:
                        await self._note(response)
                        return
                step = await flow.asend(response)
        except StopAsyncIteration:
            return
        except (OAuthFlowError, ValidationError) as error:
            self.problem = self.problem or _sentence(error)
            raise
        finally:
            await flow.aclose()

    async def _note(self, refusal: httpx2.Response) -> None:
        """Say that a sign-in is needed, or keep what the next one asks for."""
        if refusal.status_code == _UNAUTHORIZED:
            self.refused()
        elif (scopes := lacking_scopes(refusal)) is not None:
            with suppress(AIError):  # then the next one asks for what is usual
                await self._tokens.add_missing_scopes(scopes)
                self._kept["lacks"] = (await self._tokens.load()).get("lacks", scopes)

    def _can_renew(self, response: httpx2.Response) -> bool:
        """Return whether the token may have ended before its time; it is then renewed."""
        tokens = self.context.current_tokens
        if response.status_code != _UNAUTHORIZED or self._user is not None or tokens is None:
            return False
        self._refused, self._initialized = tokens.access_token, False
        return self.context.can_refresh_token()


def lacking_scopes(response: httpx2.Response) -> str | None:
    """Return the scopes that a refusal asks for, maybe none by name; None for another refusal."""
    if response.status_code != _FORBIDDEN:
        return None
    if extract_field_from_www_auth(response, "error") != "insufficient_scope":
        return None
    named = (extract_scope_from_www_auth(response) or "").split()
    return " ".join(filter(_SCOPE.fullmatch, named[:_MAX_SCOPES]))


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
