"""Where a link leads: its address parsed, checked and put together again in ASCII.

The result is both shown and opened. What browsers are known to read in different ways (a backslash,
a missing slash, a percent sign in the host) is refused, so that the host that is shown is the host
that is opened.
"""

import ipaddress
import re
from typing import Final
from urllib.parse import quote, unquote

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.lazy import lazy_re

_MAX_HOST_LENGTH: Final = 253
_NAME: Final = lazy_re(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?")
_NUMBER: Final = lazy_re(r"0x[0-9a-f]*|[0-9]+")
_LOCAL_ENDINGS: Final = (".local", ".lan", ".internal", ".home.arpa")

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Host:
    """A host name or network address."""

    ascii: str
    """The host to connect to; an IPv6 address in brackets."""
    written: str
    """With punycode decoded; foreign, not cleaned."""
    place: str = ""
    """Where a host is that is not public; empty for a public one."""

    @property
    def is_international(self) -> bool:
        """Whether it has letters that punycode stands for."""
        return self.written != self.ascii


def read_host(text: str) -> Host | None:
    """Parse a host as browsers do; None if they would refuse it or differ."""
    if text.startswith("["):
        return _bracketed(text)
    name = text.lower() if text.isascii() else _to_ascii(text)
    if name is None or len(name) > _MAX_HOST_LENGTH or _NAME.fullmatch(name) is None:
        return None
    last = name.rstrip(".").rpartition(".")[2]
    if _NUMBER.fullmatch(last):
        number = _ipv4(name.rstrip(".").split("."))
        return None if number is None else Host(str(number), str(number), _place_of(number))
    written = ".".join(map(_label_to_unicode, name.split(".")))
    return Host(name, written, _place_of_name(name.rstrip(".")))


def _bracketed(text: str) -> Host | None:
    try:
        number = ipaddress.IPv6Address(text[1:-1] if text.endswith("]") else "")
    except ValueError:
        return None
    if number.scope_id is not None:
        return None
    shown = f"[{number.compressed}]"
    return Host(shown, shown, _place_of(number.ipv4_mapped or number))


def _to_ascii(text: str) -> str | None:
    # imported on first use: its tables take some milliseconds
    import idna

    if len(text) > _MAX_HOST_LENGTH:
        return None
    try:
        return idna.encode(text, uts46=True).decode("ascii").lower()
    except UnicodeError:
        return None


def _label_to_unicode(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        written = label[4:].encode("ascii").decode("punycode")
        is_same = written.encode("punycode").decode("ascii") == label[4:]
    except (UnicodeError, OverflowError):
        return label
    return written if is_same and not written.isascii() else label


def _ipv4(parts: list[str]) -> ipaddress.IPv4Address | None:
    """Parse up to four numbers, also hexadecimal and octal; the last one fills the rest."""
    if len(parts) > 4:
        return None
    try:
        *head, last = [_number(part) for part in parts]
    except ValueError:
        return None
    if any(number > 255 for number in head) or last >= 256 ** (4 - len(head)):
        return None
    value = last + sum(number << (8 * (3 - place)) for place, number in enumerate(head))
    return ipaddress.IPv4Address(value)


def _number(part: str) -> int:
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8) if len(part) > 1 and part.startswith("0") else int(part)


def _place_of(number: _Address) -> str:
    if number.is_loopback or number.is_unspecified:
        return "this machine"
    if number.is_link_local:
        return "the network link of this machine"
    return "" if number.is_global else "a private or reserved network"


def _place_of_name(name: str) -> str:
    if name == "localhost" or name.endswith(".localhost"):
        return "this machine"
    return "the local network" if "." not in name or name.endswith(_LOCAL_ENDINGS) else ""


SCHEMES: Final = ("http", "https", "mailto")
MAX_LENGTH: Final = 16_000
"""Characters; some systems accept no argument longer than twice that."""
_SCHEME: Final = lazy_re(r"([A-Za-z][A-Za-z0-9+.-]*):")
_CONTROL: Final = lazy_re("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_AUTHORITY: Final = lazy_re(r"//([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_PORT: Final = lazy_re(r":([0-9]{0,5})\Z")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_MAX_PORTS: Final = 65_536

_IN_USER: Final = "!$&()*+,;=:%"
_IN_PATH: Final = "!$&()*+,;=:@/%"
_IN_QUERY: Final = _IN_PATH + "?[]"


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """A link that may be opened; every part but the written host is printable ASCII."""

    address: str
    """The whole address, as it is opened."""
    scheme: str
    hosts: tuple[Host, ...]
    """One host for the web; one for each recipient of a mail."""
    user: str = ""
    """What is before the @ of a web address; it may look like a host."""
    port: int | None = None
    rest: str = ""
    """Path, query and fragment; for a mail what follows the recipients."""


@dataclass(frozen=True, slots=True)
class LinkRefusal:
    """A link that is never opened."""

    reason: str
    """A sentence; quoted text is cleaned."""


def read_link(address: str) -> LinkTarget | LinkRefusal:
    """Parse an address; return its target, or why it is not opened."""
    if len(address) > MAX_LENGTH:
        return LinkRefusal(f"The address has more than {MAX_LENGTH:,} characters.")
    if _CONTROL.search(address):
        return LinkRefusal("The address has control characters in it.")
    match = _SCHEME.match(address)
    if match is None:
        return LinkRefusal("The address does not begin with http:, https: or mailto:.")
    scheme = match[1].lower()
    if scheme not in SCHEMES:
        named = clean_name(scheme[:40])
        return LinkRefusal(f"Only http, https and mailto links are opened; this one is {named}.")
    rest = address[match.end() :]
    target = _mail(rest) if scheme == "mailto" else _web(scheme, rest)
    if isinstance(target, LinkTarget) and len(target.address) > 2 * MAX_LENGTH:
        return LinkRefusal(f"The address has more than {2 * MAX_LENGTH:,} characters.")
    return target


def _web(scheme: str, text: str) -> LinkTarget | LinkRefusal:
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        return LinkRefusal(f"After {scheme}: the address does not go on with two slashes.")
    authority, path, query, fragment = match.groups()
    if "\\" in authority:
        return LinkRefusal("The address has a backslash where the host is named.")
    before, _at, server = authority.rpartition("@")
    user = quote(before, safe=_IN_USER)
    port = _DEFAULT_PORTS[scheme]
    if (port_match := _PORT.search(server)) is not None:
        server = server[: port_match.start()]
        port = int(port_match[1] or port)
    host = read_host(server)
    if host is None or port >= _MAX_PORTS:
        return LinkRefusal("The address has no host that can be trusted.")
    shown_port = None if port == _DEFAULT_PORTS[scheme] else port
    rest = quote(path or "/", safe=_IN_PATH)
    rest += "" if query is None else "?" + quote(query, safe=_IN_QUERY)
    rest += "" if fragment is None else "#" + quote(fragment, safe=_IN_QUERY)
    where = f"{user}@{host.ascii}" if user else host.ascii
    where += "" if shown_port is None else f":{shown_port}"
    return LinkTarget(f"{scheme}://{where}{rest}", scheme, (host,), user, shown_port, rest)


def _mail(text: str) -> LinkTarget | LinkRefusal:
    recipients, mark, fields = text.partition("?")
    if any(unquote(field).lower().startswith("attach") for field in re.split("[&;]", fields)):
        return LinkRefusal("The address asks the mail program to attach a file.")
    hosts: list[Host] = []
    people: list[str] = []
    for one in recipients.split(","):
        person, _at, server = one.rpartition("@")
        host = read_host(server)
        if not person or host is None:
            return LinkRefusal("The address has no recipient of the form name@host.")
        hosts.append(host)
        people.append(f"{quote(person, safe=_IN_USER)}@{host.ascii}")
    rest = mark + quote(fields, safe=_IN_QUERY)
    return LinkTarget(f"mailto:{','.join(people)}{rest}", "mailto", tuple(hosts), rest=rest)
