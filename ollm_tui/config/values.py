"""The types of settings, each with its bounds."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from ollm_tui.config.backends import ADAPTERS
from ollm_tui.config.plugins import plugin_names
from ollm_tui.config.urls import split_web_url
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.keep_alive import parse_keep_alive
from ollm_tui.protocol.request import RESERVED_BODY_KEYS
from ollm_tui.sections.marks import Bounds, Check, Convert, JsonSchema, Length, NotOneOfError
from ollm_tui.sections.section import Secret

_HEADER_NAME = lazy_re(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
MAX_WINDOW = 100_000_000
"""Tokens; ten times as much as any model has."""

BUILT_IN_KINDS = tuple(ADAPTERS)


def _known_kind(kind: str) -> None:
    if kind not in BUILT_IN_KINDS and kind not in (plugins := plugin_names("providers")):
        raise NotOneOfError((*BUILT_IN_KINDS, *plugins))


ProviderKind = Annotated[
    str,
    Check(_known_kind),
    JsonSchema({"anyOf": [{"enum": [*BUILT_IN_KINDS]}, {"type": "string"}]}),
]


def _no_switch(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")  # noqa: TRY004 -- as all checks
    return value


def _usable_path(path: Path) -> None:
    if "\0" in str(path):
        raise ValueError("must be a path without the character NUL")


def _split_command(value: object) -> object:
    if not isinstance(value, str):
        return value
    words = shlex.split(value)
    if not words:
        raise ValueError("must name a program")
    return words


def check_unreserved(body: Mapping[str, object]) -> None:
    """Raise a `ValueError` for a body that sets keys that the request itself sets."""
    taken = sorted(RESERVED_BODY_KEYS.intersection(body))
    if taken:
        raise ValueError(f"may not set {', '.join(taken)}: the request itself does")


def _header_names(headers: Any) -> Any:
    if isinstance(headers, dict) and not all(map(_HEADER_NAME.fullmatch, headers)):
        raise ValueError("holds a name that no header has: use letters, digits and `-`")
    return headers


def _network(text: str) -> None:
    # Loaded only for one.
    from ipaddress import ip_network

    try:
        ip_network(text)
    except ValueError:
        raise ValueError("must be a network such as 192.168.1.0/24, or one address") from None


def _search_server(text: str) -> None:
    parts = split_web_url(text)
    if parts is None or "@" in parts.netloc or parts.query:
        raise ValueError("must begin with http:// or https://, without a password")


NoSwitch = Convert(_no_switch)
FilePath = Annotated[Path, Check(_usable_path)]
KeepAlive = Annotated[str | int | float, Convert(parse_keep_alive)]
Text = Annotated[str, Length(1)]
Headers = Annotated[dict[str, Secret], Convert(_header_names)]
Command = Annotated[
    list[Text],
    Length(1),
    Convert(_split_command),
    JsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""A program with its arguments; a text is split as a shell would."""
SearchServer = Annotated[Text, Check(_search_server)]
Network = Annotated[Text, Check(_network)]
Seconds = Annotated[float, Bounds(gt=0, le=86_400, is_finite=True), NoSwitch]
Idle = Annotated[float, Bounds(ge=0, le=31_536_000, is_finite=True), NoSwitch]
"""Seconds, up to a year."""
Strength = Annotated[float, Bounds(ge=0, le=10, is_finite=True), NoSwitch]
"""For what changes the choice of tokens; no server accepts more."""
Penalty = Annotated[float, Bounds(ge=-2, le=2, is_finite=True), NoSwitch]
Fraction = Annotated[float, Bounds(ge=0, le=1, is_finite=True), NoSwitch]
TokenCount = Annotated[int, Bounds(ge=1, le=MAX_WINDOW), NoSwitch]
Priority = Annotated[int, Bounds(ge=-1_000_000, le=1_000_000), NoSwitch]
