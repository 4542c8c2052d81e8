"""Where a link leads: its address taken apart, checked and put together again in ASCII.

The address that comes out is the one that is shown and the one that is opened. What browsers are
known to read in different ways (a backslash, a missing slash, a percent sign in the host) is
refused, so that nobody is shown one host and sent to another.
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from ollm_tui.decode.clean import clean_name
from ollm_tui.tui.links.host import Host, read_host

SCHEMES: Final = ("http", "https", "mailto")
LONGEST: Final = 16_000
"""Characters; some systems take no longer argument than twice that."""
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_AUTHORITY: Final = re.compile(r"//([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_PORT: Final = re.compile(r":([0-9]{0,5})\Z")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_MOST_PORTS: Final = 65_536

_IN_USER: Final = "!$&()*+,;=:%"
_IN_PATH: Final = "!$&()*+,;=:@/%"
_IN_QUERY: Final = _IN_PATH + "?[]"


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """A link that may be opened; every part but the written host is printable ASCII."""

    address: str
    """The whole of it: nothing else is opened."""
    scheme: str
    hosts: tuple[Host, ...]
    """One for the web; one for each recipient of a mail."""
    user: str = ""
    """What stands before the @ of a web address; it looks like a host and is none."""
    port: int | None = None
    rest: str = ""
    """Path, query and fragment; of a mail what stands after the recipients."""


@dataclass(frozen=True, slots=True)
class LinkRefusal:
    """A link that is never opened."""

    reason: str
    """A sentence; what it quotes is clean."""


def read_link(address: str) -> LinkTarget | LinkRefusal:
    """Say where an address leads, or why it is not opened."""
    if len(address) > LONGEST:
        return LinkRefusal(f"The address has more than {LONGEST:,} characters.")
    if _CONTROL.search(address):
        return LinkRefusal("The address has control characters in it.")
    found = _SCHEME.match(address)
    if found is None:
        return LinkRefusal("The address does not begin with http:, https: or mailto:.")
    scheme = found[1].lower()
    if scheme not in SCHEMES:
        named = clean_name(scheme[:40])
        return LinkRefusal(f"Only http, https and mailto links are opened; this one is {named}.")
    rest = address[found.end() :]
    target = _mail(rest) if scheme == "mailto" else _web(scheme, rest)
    if isinstance(target, LinkTarget) and len(target.address) > 2 * LONGEST:
        return LinkRefusal(f"The address has more than {2 * LONGEST:,} characters.")
    return target


def _web(scheme: str, text: str) -> LinkTarget | LinkRefusal:
    found = _AUTHORITY.fullmatch(text)
    if found is None:
        return LinkRefusal(f"After {scheme}: the address does not go on with two slashes.")
    authority, path, query, fragment = found.groups()
    if "\\" in authority:
        return LinkRefusal("The address has a backslash where the host is named.")
    before, _at, server = authority.rpartition("@")
    user = quote(before, safe=_IN_USER)
    port = _DEFAULT_PORTS[scheme]
    if (port_found := _PORT.search(server)) is not None:
        server = server[: port_found.start()]
        port = int(port_found[1] or port)
    host = read_host(server)
    if host is None or port >= _MOST_PORTS:
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
