"""The host of an address: as the network is asked for it, and as it is written."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

_LONGEST: Final = 253
_NAME: Final = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?")
_NUMBER: Final = re.compile(r"0x[0-9a-f]*|[0-9]+")
_LOCAL_ENDINGS: Final = (".local", ".lan", ".internal", ".home.arpa")

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Host:
    """A host name or network address."""

    ascii: str
    """What is asked for; an IPv6 address in its brackets."""
    written: str
    """With the letters that punycode stands for; foreign, not cleaned."""
    place: str = ""
    """Where a host is that no public name leads to."""

    @property
    def is_international(self) -> bool:
        """Whether it looks different from what is asked for."""
        return self.written != self.ascii


def read_host(text: str) -> Host | None:
    """Read a host as browsers do; None where they would not, or where they differ."""
    if text.startswith("["):
        return _bracketed(text)
    name = text.lower() if text.isascii() else _to_ascii(text)
    if name is None or len(name) > _LONGEST or _NAME.fullmatch(name) is None:
        return None
    last = name.rstrip(".").rpartition(".")[2]
    if _NUMBER.fullmatch(last):
        number = _ipv4(name.rstrip(".").split("."))
        return None if number is None else Host(str(number), str(number), _place_of(number))
    return Host(name, _to_unicode(name), _place_of_name(name.rstrip(".")))


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
    # Imported for the first name that needs it: its tables take some milliseconds.
    import idna

    if len(text) > _LONGEST:
        return None
    try:
        return idna.encode(text, uts46=True).decode("ascii").lower()
    except UnicodeError:
        return None


def _to_unicode(name: str) -> str:
    return ".".join(map(_label_to_unicode, name.split(".")))


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
    """Read up to four numbers, hexadecimal and octal too; the last one fills what is left."""
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
