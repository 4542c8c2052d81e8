"""Errors on the way to a server: one sentence for each kind, with a next step."""

import socket
import ssl
from collections.abc import Iterator

import httpx

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.redact import redactor
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.client import EarlyReply

_OUT_OF_DATE = frozenset({9, 10})
_ANOTHER_SERVER = frozenset({62, 64})
"""OpenSSL's error numbers for certificates out of date, and for another host name."""
MODEL_HINT = "Choose another model: this server does not have it."


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of failure."""

    name: str
    """The kind for a program."""
    code: ErrorCode
    message: str
    """With `{label}`, `{address}` and `{proxy}` of the endpoint, `{server}` for its label and
    address, and further fields that an error of this kind has."""
    hint: str | None
    retryable: bool = False


CUT = Fault(
    "cut",
    ErrorCode.STREAM_INCOMPLETE,
    "The answer was cut off: the connection to {server} ended in the middle.",
    "What arrived is kept; try again for the rest.",
)
NO_FIRST_BYTE = Fault(
    "first_byte",
    ErrorCode.TIMEOUT,
    "{label} sent no answer within {seconds:g} s.",
    "The model may still be loading: try again, or raise first_byte_timeout_s.",
)
STALLED = Fault(
    "idle",
    ErrorCode.TIMEOUT,
    "The answer stalled: {label} sent nothing for {seconds:g} s.",
    "What arrived is kept; try again for the rest, or raise idle_timeout_s.",
)
SLOW = Fault(
    "slow",
    ErrorCode.TIMEOUT,
    "{server} did not reply within {seconds:g} s.",
    "The server may be busy: try again.",
    retryable=True,
)
WEB_PAGE = Fault(
    "web_page",
    ErrorCode.SERVICE_UNAVAILABLE,
    "{address} answered with a web page instead of data.",
    "Check the address: it may belong to another program, a proxy or a login page.",
)
EMPTY = Fault(
    "empty",
    ErrorCode.ENGINE_ERROR,
    "{label} ended the answer without sending anything.",
    "Try again; if it persists, check the server's log.",
    retryable=True,
)
LIMIT = Fault("limit", ErrorCode.ENGINE_ERROR, "{label} broke a limit: {limit}.", None)
"""A limit that keeps memory bounded."""
UNSENDABLE = Fault(
    "request",
    ErrorCode.BAD_REQUEST,
    "The request to {label} cannot be sent.",
    "Check its address, API key and headers for stray characters.",
)
PROXY_WANTS_PASSWORD = Fault(
    "proxy",
    ErrorCode.SERVICE_UNAVAILABLE,
    "The proxy at {proxy} requires a user name and a password.",
    "Write them into its address: http://NAME:PASSWORD@HOST:PORT.",
)
_CONNECT_TIMEOUT = Fault(
    "connect_timeout",
    ErrorCode.TIMEOUT,
    "{host} cannot be reached: it did not respond in time.",
    "Check the address and the network.",
    retryable=True,
)
_CLOSED = Fault(
    "closed",
    ErrorCode.SERVICE_UNAVAILABLE,
    "{server} closed the connection without an answer.",
    "Try again; if it persists, check the server's log.",
    retryable=True,
)
_EARLY = Fault(
    "early",
    ErrorCode.SERVICE_UNAVAILABLE,
    "{server} replied before it had the whole request.",
    "Try again: a new connection is used.",
    retryable=True,
)
_NOT_HTTP = Fault(
    "not_http",
    ErrorCode.SERVICE_UNAVAILABLE,
    "What answers at {address} does not speak HTTP.",
    "Check host and port; a server with TLS needs https:// in its address.",
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server, as error messages name it."""

    provider: str
    """Empty for a server without settings of its own: a hub, or where a file lies."""
    label: str
    address: str
    start_hint: str
    """What to do when no server listens there."""
    model_hint: str = MODEL_HINT
    """What to do when the server does not have the model."""
    proxy: str = ""
    """Host and port of the proxy on the way; empty for none."""
    has_key: bool = False
    """Whether requests carry credentials."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """What a server may echo but no message may show."""

    def redacted(self, text: str) -> str:
        """Return `text` without the secrets of this provider."""
        return redactor(self.secrets)(text)

    @property
    def label_and_address(self) -> str:
        """Label and address, or the label alone if it is the address."""
        return self.label if self.label == self.address else f"{self.label} at {self.address}"

    def fault(self, fault: Fault, **fields: object) -> AIError:
        """Make an error of a known kind."""
        names = {"label": self.label, "address": self.address, "proxy": self.proxy}
        message = fault.message.format(server=self.label_and_address, **names, **fields)
        return self.error(
            fault.code, message, fault.hint, fault=fault.name, retryable=fault.retryable
        )

    def error(
        self,
        code: ErrorCode,
        message: str,
        hint: str | None,
        *,
        fault: str | None = None,
        retryable: bool = False,
    ) -> AIError:
        """Make an error of this provider; `fault` is its kind for a program, if it has one."""
        return AIError(
            code,
            message,
            hint=hint,
            provider=self.provider or None,
            details={"fault": fault} if fault else None,
            retryable=retryable,
        )


def httpx_error(error: Exception, endpoint: Endpoint, *, answered: bool) -> AIError:
    """Translate what httpx raised; `answered` is whether the response had begun."""
    match error:
        case httpx.ConnectTimeout():
            return endpoint.fault(_CONNECT_TIMEOUT, host=endpoint.proxy or endpoint.address)
        case httpx.ProxyError():
            return _proxy_refusal(error, endpoint)
        case httpx.ConnectError():
            return _connect_error(error, endpoint)
        case httpx.LocalProtocolError() | httpx.UnsupportedProtocol() | httpx.InvalidURL():
            return endpoint.fault(UNSENDABLE)
        case httpx.RemoteProtocolError() if _is_too_large(error):
            part = "a part of its answer has oversized framing"
            return endpoint.fault(LIMIT, limit=part if answered else "its headers are too large")
        case _:
            return endpoint.fault(CUT if answered else _no_answer(error))


def _no_answer(error: Exception) -> Fault:
    match error:
        case EarlyReply():
            return _EARLY
        case httpx.RemoteProtocolError() if "disconnected" not in str(error):
            return _NOT_HTTP
        case _:
            return _CLOSED


def _proxy_refusal(error: Exception, endpoint: Endpoint) -> AIError:
    if str(error).startswith("407"):
        return endpoint.fault(PROXY_WANTS_PASSWORD)
    return _proxy_error("The proxy at {proxy} does not allow connections to {address}.", endpoint)


def _proxy_error(message: str, endpoint: Endpoint, *, retryable: bool = False) -> AIError:
    hint = "Check HTTP_PROXY, HTTPS_PROXY and NO_PROXY."
    if endpoint.provider:
        hint = (
            f"Check `proxy` below [providers.{endpoint.provider}], or HTTP_PROXY, HTTPS_PROXY and "
            'NO_PROXY; `proxy = "none"` goes without one.'
        )
    code = ErrorCode.SERVICE_UNAVAILABLE
    return endpoint.fault(Fault("proxy", code, message, hint, retryable))


def _is_too_large(error: Exception) -> bool:
    message = str(error).lower()
    return "too long" in message or "too large" in message


def _connect_error(error: Exception, endpoint: Endpoint) -> AIError:
    for cause in _causes(error):
        match cause:
            case ssl.SSLError():
                return _tls_error(cause, endpoint)
            case socket.gaierror() if endpoint.proxy:
                message = "The name of the proxy, {proxy}, cannot be found."
                return _proxy_error(message, endpoint, retryable=True)
            case socket.gaierror():
                return endpoint.error(
                    ErrorCode.SERVICE_UNAVAILABLE,
                    f"The name of the server, {endpoint.address}, cannot be found.",
                    "Check the spelling of the address and the network.",
                    fault="dns",
                    retryable=cause.errno == socket.EAI_AGAIN,
                )
    if endpoint.proxy:
        return _proxy_error("The proxy at {proxy} does not answer.", endpoint, retryable=True)
    return endpoint.error(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"{endpoint.label} does not answer."
        if endpoint.label == endpoint.address
        else f"{endpoint.label} does not answer at {endpoint.address}.",
        endpoint.start_hint,
        fault="refused",
        retryable=True,
    )


def _tls_error(error: ssl.SSLError, endpoint: Endpoint) -> AIError:
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = error.verify_message.rstrip(".")
        hint = _certificate_hint(error.verify_code, endpoint)
    else:
        reason = (error.reason or "handshake failed").replace("_", " ").lower()
        hint = "A server without TLS needs http:// in its address."
    return endpoint.error(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"No secure connection to {endpoint.address}: {reason}.",
        hint,
        fault="tls",
    )


def _certificate_hint(code: int, endpoint: Endpoint) -> str:
    if code in _OUT_OF_DATE:
        return "The server needs a new certificate; check the clock of this machine too."
    if not endpoint.provider:
        return "Check the address; SSL_CERT_FILE names a file of authorities of your own."
    if code in _ANOTHER_SERVER:
        return "Write the name that the certificate is made for into base_url."
    return "Check the address; for a server with its own authority set ca_file."


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting += [current.__context__, current.__cause__]
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions
