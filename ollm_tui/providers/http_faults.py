"""Sentences for what goes wrong on the way to a server: one for each kind, with a next step.

Everything httpx raises is translated here, once. The exceptions of httpx hide the cause, so the
chain of causes is searched for what the operating system or the TLS library said.
"""

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx

from ollm_tui.decode.redact import redactor
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.client import EarlyReply


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server as error messages name it."""

    provider: str
    """Empty for a server that no setting names: a hub, or where a file lies."""
    label: str
    address: str
    start_hint: str
    """What to do when nothing listens there."""
    model_hint: str = "Choose another model: this server does not have it."
    """What to do when the server does not have the model."""
    proxy: str = ""
    """Host and port of the proxy on the way; empty for none."""
    has_key: bool = False
    """Whether requests carry something that tells who asks."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """What a server may echo and no message may show."""

    def redacted(self, text: str) -> str:
        """Give `text` without the secrets of this provider."""
        return redactor(self.secrets)(text)

    @property
    def whereabouts(self) -> str:
        """Its label and where it is; one that is called by its address is told once."""
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


def fault(error: Exception, place: Endpoint, *, answered: bool) -> AIError:
    """Translate what httpx raised; `answered` once the server's head has come."""
    match error:
        case httpx.ConnectTimeout():
            return _slow_connect(place)
        case httpx.ProxyError():
            return _proxy_fault(error, place)
        case httpx.ConnectError():
            return _connect_fault(error, place)
        case httpx.LocalProtocolError() | httpx.UnsupportedProtocol() | httpx.InvalidURL():
            return _unsendable(place)
        case httpx.RemoteProtocolError() if answered and _is_too_large(error):
            return too_long(place, "a part of its answer has oversized framing")
        case _:
            return cut(place) if answered else _no_answer(error, place)


def cut(place: Endpoint) -> AIError:
    """The connection ended inside the answer."""
    return place.error(
        ErrorCode.STREAM_INCOMPLETE,
        f"The answer was cut off: the connection to {place.whereabouts} ended in the middle.",
        "What arrived is kept; try again for the rest.",
        fault="cut",
    )


def no_first_byte(place: Endpoint, seconds: float) -> AIError:
    """Nothing of an answer came in time."""
    return place.error(
        ErrorCode.TIMEOUT,
        f"{place.label} sent no answer within {seconds:g} s.",
        "The model may still be loading: try again, or raise first_byte_timeout_s.",
        fault="first_byte",
    )


def idle(place: Endpoint, seconds: float) -> AIError:
    """The answer stood still for too long."""
    return place.error(
        ErrorCode.TIMEOUT,
        f"The answer stalled: {place.label} sent nothing for {seconds:g} s.",
        "What arrived is kept; try again for the rest, or raise idle_timeout_s.",
        fault="idle",
    )


def slow_reply(place: Endpoint, seconds: float) -> AIError:
    """A small request was not answered in time."""
    return place.error(
        ErrorCode.TIMEOUT,
        f"{place.whereabouts} did not reply within {seconds:g} s.",
        "The server may be busy: try again.",
        fault="slow",
        retryable=True,
    )


def web_page(place: Endpoint) -> AIError:
    """HTML came where data was due."""
    return place.error(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"{place.address} answered with a web page instead of data.",
        "Check the address: it may belong to another program, a proxy or a login page.",
        fault="web_page",
    )


def nothing_sent(place: Endpoint) -> AIError:
    """The server said all is well and sent nothing."""
    return place.error(
        ErrorCode.ENGINE_ERROR,
        f"{place.label} ended the answer without sending anything.",
        "Try again; if it persists, check the server's log.",
        fault="empty",
        retryable=True,
    )


def too_long(place: Endpoint, limit: str) -> AIError:
    """A limit that keeps memory bounded was passed."""
    return place.error(
        ErrorCode.ENGINE_ERROR, f"{place.label} broke a limit: {limit}.", None, fault="limit"
    )


def _slow_connect(place: Endpoint) -> AIError:
    return place.error(
        ErrorCode.TIMEOUT,
        f"{place.proxy or place.address} cannot be reached: it did not respond in time.",
        "Check the address and the network.",
        fault="connect_timeout",
        retryable=True,
    )


def proxy_refusal(place: Endpoint) -> AIError:
    """The proxy on the way wants to know who asks."""
    return place.error(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"The proxy at {place.proxy} requires a user name and a password.",
        "Write them into its address: http://NAME:PASSWORD@HOST:PORT.",
        fault="proxy",
    )


def _proxy_fault(error: Exception, place: Endpoint) -> AIError:
    if str(error).startswith("407"):
        return proxy_refusal(place)
    return place.error(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"The proxy at {place.proxy} does not allow connections to {place.address}.",
        _other_way(place),
        fault="proxy",
    )


def _lost_proxy(cause: BaseException | None, place: Endpoint) -> AIError:
    what = f"The proxy at {place.proxy} does not answer."
    if isinstance(cause, socket.gaierror):
        what = f"The name of the proxy, {place.proxy}, cannot be found."
    return place.error(
        ErrorCode.SERVICE_UNAVAILABLE, what, _other_way(place), fault="proxy", retryable=True
    )


def _other_way(place: Endpoint) -> str:
    if not place.provider:
        return "Check HTTP_PROXY, HTTPS_PROXY and NO_PROXY."
    return (
        f"Check `proxy` below [providers.{place.provider}], or HTTP_PROXY, HTTPS_PROXY and "
        'NO_PROXY; `proxy = "none"` goes without one.'
    )


def _unsendable(place: Endpoint) -> AIError:
    return place.error(
        ErrorCode.BAD_REQUEST,
        f"The request to {place.label} cannot be sent.",
        "Check its address, API key and headers for stray characters.",
        fault="request",
    )


def _no_answer(error: Exception, place: Endpoint) -> AIError:
    if isinstance(error, EarlyReply):
        return _early_reply(place)
    if isinstance(error, httpx.RemoteProtocolError) and "disconnected" not in str(error):
        return _not_http(error, place)
    return place.error(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"{place.whereabouts} closed the connection without an answer.",
        "Try again; if it persists, check the server's log.",
        fault="closed",
        retryable=True,
    )


def _early_reply(place: Endpoint) -> AIError:
    return place.error(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"{place.whereabouts} replied before it had the whole request.",
        "Try again: a new connection is used.",
        fault="early",
        retryable=True,
    )


def _not_http(error: Exception, place: Endpoint) -> AIError:
    if _is_too_large(error):
        return too_long(place, "its headers are too large")
    return place.error(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"What answers at {place.address} does not speak HTTP.",
        "Check host and port; a server with TLS needs https:// in its address.",
        fault="not_http",
    )


def _is_too_large(error: Exception) -> bool:
    said = str(error).lower()
    return "too long" in said or "too large" in said


def _connect_fault(error: Exception, place: Endpoint) -> AIError:
    for cause in _causes(error):
        match cause:
            case ssl.SSLError():
                return _tls_fault(cause, place)
            case socket.gaierror() if place.proxy:
                return _lost_proxy(cause, place)
            case socket.gaierror():
                return place.error(
                    ErrorCode.SERVICE_UNAVAILABLE,
                    f"The name of the server, {place.address}, cannot be found.",
                    "Check the spelling of the address and the network.",
                    fault="dns",
                    retryable=cause.errno == socket.EAI_AGAIN,
                )
    if place.proxy:
        return _lost_proxy(None, place)
    return place.error(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"{place.label} does not answer."
        if place.label == place.address
        else f"{place.label} does not answer at {place.address}.",
        place.start_hint,
        fault="refused",
        retryable=True,
    )


_OUT_OF_DATE = frozenset({9, 10})
_ANOTHER_SERVER = frozenset({62, 64})
"""Numbers of OpenSSL for certificates that are not yet or no longer valid, or of another name."""


def _tls_fault(error: ssl.SSLError, place: Endpoint) -> AIError:
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = error.verify_message.rstrip(".")
        hint = _certificate_hint(error.verify_code, place)
    else:
        reason = (error.reason or "handshake failed").replace("_", " ").lower()
        hint = "A server without TLS needs http:// in its address."
    return place.error(
        ErrorCode.SERVICE_UNAVAILABLE,
        f"No secure connection to {place.address}: {reason}.",
        hint,
        fault="tls",
    )


def _certificate_hint(code: int, place: Endpoint) -> str:
    if code in _OUT_OF_DATE:
        return "The server needs a new certificate; check the clock of this machine too."
    if not place.provider:
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
