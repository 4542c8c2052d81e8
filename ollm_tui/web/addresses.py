"""Addresses that models name: read strictly, and reached only where that is allowed.

What is read is spelled in ASCII, as it is sent. A name is looked up once, and every address that it
stands for is checked; the connection then goes to one of these.
"""

import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias
from urllib.parse import quote, urljoin, urlsplit

import anyio.to_thread
import idna

from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re

IPAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Networks: TypeAlias = Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]
Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a host, as numbers."""

USUAL_PORTS: Final = {"http": 80, "https": 443}
MAX_LENGTH: Final = 4_000
_UNFIT: Final = lazy_re(r"[\s\x00-\x20\x7f-\x9f\ud800-\udfff\\<>\"^`{|}]")
_HOST: Final = lazy_re(r"[a-z0-9]([a-z0-9._-]{0,251}[a-z0-9_])?")
_KEPT: Final = "%/:?@!$&'()*+,;=~-._[]"
_DENIED: Final = tuple(
    ipaddress.ip_network(network)
    for network in (
        *("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "240.0.0.0/4"),
        # IPv6 that stands for an IPv4 address: compatible, translated, NAT64, 6to4 and Teredo
        *(
            "::/96",
            "::ffff:0:0:0/96",
            "64:ff9b::/96",
            "64:ff9b:1::/48",
            "2002::/16",
            "2001::/32",
            "fec0::/10",
            # not of the internet; Python learned of them after 3.11
            "3fff::/20",
            "5f00::/16",
        ),
    )
)


class AddressProblem(ValueError):
    """Why an address is not used, as a sentence."""


@dataclass(frozen=True, slots=True)
class WebAddress:
    """The address of a page, in ASCII."""

    scheme: str
    host: str
    """A name in punycode, or a number."""
    port: int
    target: str
    """Path and query."""
    written_host: str
    """The host as it was written."""

    @property
    def netloc(self) -> str:
        """The host, and the port unless it is the usual one; this is sent as `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == USUAL_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """All of it."""
        return f"{self.scheme}://{self.netloc}{self.target}"

    @property
    def has_usual_port(self) -> bool:
        """Whether the port is one of those of the web."""
        return self.port in USUAL_PORTS.values()

    def target_of(self, location: str) -> "WebAddress":
        """Return where a redirect from here leads.

        Raises:
            AddressProblem: to no page.
        """
        return read_address(urljoin(self.url, location))

    def is_covered_by(self, asked: "WebAddress") -> bool:
        """Whether a redirect from `asked` to here stays with the host that was shown."""
        same_host = self.host.removeprefix("www.") == asked.host.removeprefix("www.")
        is_safer = (asked.scheme, self.scheme) != ("https", "http")
        return same_host and is_safer and (self.has_usual_port or self.port == asked.port)


def read_address(text: str) -> WebAddress:
    """Read an address as it will be used.

    Raises:
        AddressProblem: it is none of a page, or could be read in two ways.
    """
    if len(text) > MAX_LENGTH:
        raise AddressProblem(f"The address is longer than {MAX_LENGTH:,} characters.")
    if _UNFIT.search(text):
        raise AddressProblem("An address cannot contain spaces, quotes, backslashes or brackets.")
    try:
        parts = urlsplit(text)
        port = parts.port
        host = parts.hostname or ""
    except ValueError:
        raise AddressProblem("The address is not valid.") from None
    if parts.scheme not in USUAL_PORTS:
        raise AddressProblem("The address must begin with https:// or http://.")
    if "@" in parts.netloc:
        raise AddressProblem("The address must not contain a user name.")
    if port == 0 or ("[" in parts.netloc and ":" not in host):
        raise AddressProblem("The address is not valid.")
    address = WebAddress(
        parts.scheme, _ascii_host(host), port or USUAL_PORTS[parts.scheme], "", host
    )
    path = quote(parts.path or "/", safe=_KEPT)
    query = f"?{quote(parts.query, safe=_KEPT)}" if parts.query else ""
    return replace(address, target=f"{path}{query}")


def _ascii_host(host: str) -> str:
    if ":" in host:
        try:
            return str(ipaddress.IPv6Address(host))
        except ValueError:
            raise AddressProblem("The IPv6 address is not valid.") from None
    name = host.removesuffix(".")
    if not name.isascii():
        try:
            name = idna.encode(name, uts46=True, std3_rules=True).decode("ascii")
        except idna.IDNAError:
            raise AddressProblem("The name of the host is not valid.") from None
    name = name.lower().removesuffix(".")
    if _HOST.fullmatch(name) is None:
        raise AddressProblem("The name of the host is not valid.")
    return name


def numeric_address(host: str) -> str | None:
    """Return the address that a host spells in some form of numbers; asks no server."""
    try:
        answers = socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    return str(answers[0][4][0]) if answers else None


async def look_up(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host.

    Raises:
        OSError: it has none.
    """
    ask = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    answers = await anyio.to_thread.run_sync(ask, abandon_on_cancel=True)
    return list(dict.fromkeys(str(one[4][0]) for one in answers))


def check_address(text: str, allowed: Networks = ()) -> None:
    """Refuse an address inside a private network, unless the settings allow that.

    Raises:
        AddressProblem: it is one.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise AddressProblem(f"Refused: {text} is not an address.") from None
    inner = getattr(address, "ipv4_mapped", None) or address
    if any(inner in network for network in allowed if network.version == inner.version):
        return
    if not is_public(inner):
        raise AddressProblem(f"Refused: private address ({address}).")


def is_public(address: IPAddress) -> bool:
    """Whether an address belongs to the internet, and stands for no other one."""
    if any(address in network for network in _DENIED if network.version == address.version):
        return False
    return address.is_global and not address.is_multicast
