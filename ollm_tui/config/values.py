"""The types of settings, each with its bounds, and the base class of all tables."""

import shlex
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    WithJsonSchema,
)
from pydantic_core import PydanticKnownError

from ollm_tui.config.backends import ADAPTERS
from ollm_tui.config.plugins import plugin_names
from ollm_tui.config.urls import split_web_url
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.keep_alive import parse_keep_alive
from ollm_tui.protocol.request import RESERVED_BODY_KEYS

_HEADER_NAME = lazy_re(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
LARGEST_WINDOW = 100_000_000
"""Tokens; ten times as much as any model has."""

BUILT_IN_KINDS = tuple(ADAPTERS)


def _known_kind(kind: str) -> str:
    if kind in BUILT_IN_KINDS or kind in (plugins := plugin_names("providers")):
        return kind
    *others, last = (repr(known) for known in (*BUILT_IN_KINDS, *plugins))
    raise PydanticKnownError("literal_error", {"expected": f"{', '.join(others)} or {last}"})


ProviderKind = Annotated[
    str,
    AfterValidator(_known_kind),
    WithJsonSchema({"anyOf": [{"enum": [*BUILT_IN_KINDS]}, {"type": "string"}]}),
]


def _no_switch(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")  # noqa: TRY004 -- pydantic's way
    return value


def _usable_path(path: Path) -> Path:
    if "\0" in str(path):
        raise ValueError("must be a path without the character NUL")
    return path


def _split_command(value: object) -> object:
    if not isinstance(value, str):
        return value
    words = shlex.split(value)
    if not words:
        raise ValueError("must name a program")
    return words


def unreserved(body: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a body; a `ValueError` if it sets keys that the request itself sets."""
    taken = sorted(RESERVED_BODY_KEYS.intersection(body))
    if taken:
        raise ValueError(f"may not set {', '.join(taken)}: the request itself does")
    return body


def header_names(headers: dict[str, object]) -> dict[str, object]:
    """Return headers; a `ValueError` if a name is not valid."""
    if not all(map(_HEADER_NAME.fullmatch, headers)):
        raise ValueError("holds a name that no header has: use letters, digits and `-`")
    return headers


def _network(text: str) -> str:
    try:
        ip_network(text)
    except ValueError:
        raise ValueError("must be a network such as 192.168.1.0/24, or one address") from None
    return text


def _search_server(text: str) -> str:
    parts = split_web_url(text)
    if parts is None or "@" in parts.netloc or parts.query:
        raise ValueError("must begin with http:// or https://, without a password")
    return text


NoSwitch = BeforeValidator(_no_switch)
FilePath = Annotated[Path, AfterValidator(_usable_path)]
HowLong = Annotated[str | int | float, BeforeValidator(parse_keep_alive)]
Text = Annotated[str, Field(min_length=1)]
Command = Annotated[
    list[Text],
    Field(min_length=1),
    BeforeValidator(_split_command),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""A program with its arguments; a text is split as a shell would."""
SearchServer = Annotated[Text, AfterValidator(_search_server)]
Network = Annotated[Text, AfterValidator(_network)]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False), NoSwitch]
Idle = Annotated[float, Field(ge=0, le=31_536_000, allow_inf_nan=False), NoSwitch]
"""Seconds, up to a year."""
Strength = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False), NoSwitch]
"""For what changes the choice of tokens; no server accepts more."""
Penalty = Annotated[float, Field(ge=-2, le=2, allow_inf_nan=False), NoSwitch]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), NoSwitch]
TokenCount = Annotated[int, Field(ge=1, le=LARGEST_WINDOW), NoSwitch]
Priority = Annotated[int, Field(ge=-1_000_000, le=1_000_000), NoSwitch]
Whole = Annotated[int, NoSwitch]
"""Its bounds are given where it is used."""


class SettingsSection(BaseModel):
    """A table: fixed once read, closed to unknown keys."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True
    )
