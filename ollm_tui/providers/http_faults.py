"""Errors on the way to a server: one sentence for each kind, with a next step.

Everything httpx raises is translated here. Its exceptions hide the cause, so the chain of causes is
searched for the error of the operating system or the TLS library.
"""

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx

from ollm_tui.decode.redact import redactor
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.client import EarlyReply

_OUT_OF_DATE = frozenset({9, 10})
_ANOTHER_SERVER = frozenset({62, 64})
"""OpenSSL's error numbers for certificates out of date, and for another host name."""
MODEL_HINT = "Choose another model: this server does not have it."


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

    def error(
        self,
        code: ErrorCode,
        message: str,
        hint: str | None,
        *,
        fault: str,
        retryable: bool = False,
    ) -> AIError:
        """Make an error of this provider; `fault` is its kind for a program."""
        return AIError(
            code,
            message,
            hint=hint,
            provider=self.provider or None,
            details={"fault": fault},
            retryable=retryable,
        )


def httpx_error(error: Exception, endpoint: Endpoint, *, answered: bool) -> AIError:
    """Translate what httpx raised; `answered` is whether the response had begun."""
    match error:
        case httpx.ConnectTimeout():
            return _connect_timeout(endpoint)
        case httpx.ProxyError():
            return _proxy_error(error, endpoint)
        case httpx.ConnectError():
            return _connect_error(error, endpoint)
        case httpx.LocalProtocolError() | httpx.UnsupportedProtocol() | httpx.InvalidURL():
            return unsendable_request(endpoint)
        case httpx.RemoteProtocolError() if answered and _is_too_large(error):
            return limit_exceeded(endpoint, "a part of its answer has oversized framing")
        case _:
            return connection_lost(endpoint) if answered else _no_answer(error, endpoint)


def connection_lost(endpoint: Endpoint) -> AIError:
    """The connection ended in the middle of the answer."""
    return endpoint.error(
        ErrorCode.STREAM_INCOMPLETE,
        f"The answer was cut off: the connection to {endpoint.label_and_address} ended in the"
        " middle.",
        "What arrived is kept; try again for the rest.",
        fault="cut",
    )


def no_first_byte(endpoint: Endpoint, seconds: float) -> AIError:
    """The answer did not begin in time."""
    return endpoint.error(
        ErrorCode.TIMEOUT,
        f"{endpoint.label} sent no answer within {seconds:g} s.",
        "The model may still be loading: try again, or raise first_byte_timeout_s.",
        fault="first_byte",
    )


def stalled(endpoint: Endpoint, seconds: float) -> AIError:
    """The answer stalled for too long."""
    return endpoint.error(
        ErrorCode.TIMEOUT,
        f"The answer stalled: {endpoint.label} sent nothing for {seconds:g} s.",
        "What arrived is kept; try again for the rest, or raise idle_timeout_s.",
        fault="idle",
    )


def slow_reply(endpoint: Endpoint, seconds: float) -> AIError:
    """A small request was not answered in time."""
    return endpoint.error(
        ErrorCode.TIMEOUT,
        f"{endpoint.label_and_address} did not reply within {seconds:g} s.",
        "The server may be busy: try again.",
        fault="slow",
        retryable=True,
    )


def web_page(endpoint: Endpoint) -> AIError:
    """HTML arrived where data was expected."""
    return endpoint.error(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"{endpoint.address} answered with a web page instead of data.",
        "Check the address: it may belong to another program, a proxy or a login page.",
        fault="web_page",
    )


def empty_answer(endpoint: Endpoint) -> AIError:
    """The server reported success and sent nothing."""
    return endpoint.error(
        ErrorCode.ENGINE_ERROR,
        f"{endpoint.label} ended the answer without sending anything.",
        "Try again; if it persists, check the server's log.",
        fault="empty",
        retryable=True,
    )


def limit_exceeded(endpoint: Endpoint, limit: str) -> AIError:
    """The server exceeded a limit that keeps memory bounded."""
    return endpoint.error(
        ErrorCode.ENGINE_ERROR, f"{endpoint.label} broke a limit: {limit}.", None, fault="limit"
    )


def _connect_timeout(endpoint: Endpoint) -> AIError:
    return endpoint.error(
        ErrorCode.TIMEOUT,
        f"{endpoint.proxy or endpoint.address} cannot be reached: it did not respond in time.",
        "Check the address and the network.",
        fault="connect_timeout",
        retryable=True,
    )


def proxy_refusal(endpoint: Endpoint) -> AIError:
    """The proxy requires credentials."""
    return endpoint.error(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"The proxy at {endpoint.proxy} requires a user name and a password.",
        "Write them into its address: http://NAME:PASSWORD@HOST:PORT.",
        fault="proxy",
    )


def _proxy_error(error: Exception, endpoint: Endpoint) -> AIError:
    if str(error).startswith("407"):
        return proxy_refusal(endpoint)
    return endpoint.error(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"The proxy at {endpoint.proxy} does not allow connections to {endpoint.address}.",
        _proxy_hint(endpoint),
        fault="proxy",
    )


def _unreachable_proxy(cause: BaseException | None, endpoint: Endpoint) -> AIError:
    what = f"The proxy at {endpoint.proxy} does not answer."
    if isinstance(cause, socket.gaierror):
        what = f"The name of the proxy, {endpoint.proxy}, cannot be found."
    return endpoint.error(
        ErrorCode.SERVICE_UNAVAILABLE, what, _proxy_hint(endpoint), fault="proxy", retryable=True
    )


def _proxy_hint(endpoint: Endpoint) -> str:
    if not endpoint.provider:
        return "Check HTTP_PROXY, HTTPS_PROXY and NO_PROXY."
    return (
        f"Check `proxy` below [providers.{endpoint.provider}], or HTTP_PROXY, HTTPS_PROXY and "
        'NO_PROXY; `proxy = "none"` goes without one.'
    )


def unsendable_request(endpoint: Endpoint) -> AIError:
    """The request cannot be made, for example because of a stray character in its URL."""
    return endpoint.error(
        ErrorCode.BAD_REQUEST,
        f"The request to {endpoint.label} cannot be sent.",
        "Check its address, API key and headers for stray characters.",
        fault="request",
    )


def _no_answer(error: Exception, endpoint: Endpoint) -> AIError:
    if isinstance(error, EarlyReply):
        return _early_reply(endpoint)
    if isinstance(error, httpx.RemoteProtocolError) and "disconnected" not in str(error):
        return _not_http(error, endpoint)
    return endpoint.error(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"{endpoint.label_and_address} closed the connection without an answer.",
        "Try again; if it persists, check the server's log.",
        fault="closed",
        retryable=True,
    )


def _early_reply(endpoint: Endpoint) -> AIError:
    return endpoint.error(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"{endpoint.label_and_address} replied before it had the whole request.",
        "Try again: a new connection is used.",
        fault="early",
        retryable=True,
    )


def _not_http(error: Exception, endpoint: Endpoint) -> AIError:
    if _is_too_large(error):
        return limit_exceeded(endpoint, "its headers are too large")
    return endpoint.error(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"What answers at {endpoint.address} does not speak HTTP.",
        "Check host and port; a server with TLS needs https:// in its address.",
        fault="not_http",
    )


def _is_too_large(error: Exception) -> bool:
    message = str(error).lower()
    return "too long" in message or "too large" in message


def _connect_error(error: Exception, endpoint: Endpoint) -> AIError:
    for cause in _causes(error):
        match cause:
            case ssl.SSLError():
                return _tls_error(cause, endpoint)
            case socket.gaierror() if endpoint.proxy:
                return _unreachable_proxy(cause, endpoint)
            case socket.gaierror():
                return endpoint.error(
                    ErrorCode.SERVICE_UNAVAILABLE,
                    f"The name of the server, {endpoint.address}, cannot be found.",
                    "Check the spelling of the address and the network.",
                    fault="dns",
                    retryable=cause.errno == socket.EAI_AGAIN,
                )
    if endpoint.proxy:
        return _unreachable_proxy(None, endpoint)
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
