"""The formats of JSON Schema that are checked: dates and times, addresses, names of hosts, UUIDs.

All other formats are annotations. Each check reads a text once, without backtracking. Dates and
times are those of RFC 3339, which always have a time zone.
"""

import ipaddress
from collections.abc import Callable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Final

from ollm_tui.lazy import lazy_re

if TYPE_CHECKING:
    from jsonschema import FormatChecker

MAX_LENGTH: Final = 2_000
"""Characters of a text that may have a format; `uri` has no limit, since it may hold data."""
_DATE: Final = lazy_re(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = lazy_re(
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[Zz]|[+-]([0-9]{2}):([0-9]{2}))"
)
_EMAIL: Final = lazy_re(r"[^\s@]+@[^\s@]+")
_URI: Final = lazy_re(
    r"[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*"
)
_UUID: Final = lazy_re(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_LABEL: Final = lazy_re(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_MAX_HOST_LENGTH: Final = 253


def format_checker() -> "FormatChecker":
    """Return what the library asks about the formats in a schema."""
    # Loaded with the first schema: the library takes a tenth of a second.
    from jsonschema import FormatChecker

    checker = FormatChecker(formats=())
    for name, check in FORMATS.items():
        checker.checks(name)(_of_text(name, check))
    return checker


def _of_text(name: str, check: Callable[[str], bool]) -> Callable[[object], bool]:
    """Return a check that other values than texts pass, as the specification has it."""

    def checked(value: object) -> bool:
        if not isinstance(value, str):
            return True
        return (len(value) <= MAX_LENGTH or name == "uri") and check(value)

    return checked


def _is_date(text: str) -> bool:
    if _DATE.fullmatch(text) is None:
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_time(text: str) -> bool:
    matched = _TIME.fullmatch(text)
    if matched is None:
        return False
    hour, minute, second, zone_hour, zone_minute = (int(part or 0) for part in matched.groups())
    # A leap second has the number 60.
    return max(hour, zone_hour) < 24 and max(minute, zone_minute) < 60 and second <= 60


def _is_date_time(text: str) -> bool:
    return text[10:11] in ("T", "t", " ") and _is_date(text[:10]) and _is_time(text[11:])


def _is_address(kind: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            kind(text)
        except ValueError:
            return False
        return text.isascii() and "%" not in text

    return check


def _is_host(text: str) -> bool:
    labels = text.removesuffix(".").split(".")
    return len(text) <= _MAX_HOST_LENGTH and all(_LABEL.fullmatch(label) for label in labels)


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "date": _is_date,
    "time": _is_time,
    "date-time": _is_date_time,
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "uri": lambda text: _URI.fullmatch(text) is not None,
    "uuid": lambda text: _UUID.fullmatch(text) is not None,
    "ipv4": _is_address(ipaddress.IPv4Address),
    "ipv6": _is_address(ipaddress.IPv6Address),
    "hostname": _is_host,
}
"""What a text of each format looks like."""
