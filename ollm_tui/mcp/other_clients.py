"""The MCP servers of other clients, read from their files when the user asks for it.

Most have `{"mcpServers": {NAME: {...}}}`, VS Code has `{"servers": ...}`, alone or below `mcp`.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ollm_tui.config.sources import escaped
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.json_fields import as_object
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue

MAX_BYTES: Final = 1024 * 1024
"""Bytes of such a file."""
_TABLES: Final = ("mcpServers", "servers", "context_servers")
_VARIABLE: Final = lazy_re(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}")
_TEXTS: Final = ("command", "cwd", "url")
_HTTP: Final = frozenset({"http", "streamable-http", "streamableHttp", "streamable_http"})
TomlServer = dict[str, str | list[str] | dict[str, Any] | bool | float]


@dataclass(frozen=True, slots=True)
class ForeignServers:
    """What a file has: tables for the settings, and sentences about servers that are left out."""

    servers: Mapping[str, TomlServer]
    problems: tuple[str, ...]


def read_servers(data: bytes) -> ForeignServers:
    """Read a file of another client.

    Raises:
        AIError: it is not one.
    """
    try:
        document = as_object(json.loads(data.decode("utf-8-sig")))
    except (ValueError, RecursionError) as error:
        raise AIError(ErrorCode.BAD_REQUEST, "The file is not JSON.") from error
    named = next(_tables(document), None)
    if not named:
        words = "The file names no MCP servers: it needs the key `mcpServers`."
        raise AIError(ErrorCode.BAD_REQUEST, words)
    servers: dict[str, TomlServer] = {}
    problems = []
    for name, value in named.items():
        try:
            servers[name] = _server(value)
        except ValueError as error:
            problems.append(f"{clean_name(name[:80])} is left out: {error}.")
    return ForeignServers(servers, tuple(problems))


def _tables(document: JsonObject) -> Iterator[JsonObject]:
    for above in (document, as_object(document.get("mcp"))):
        for key in _TABLES:
            if table := as_object(above.get(key)):
                yield table


def _server(value: JsonValue) -> TomlServer:
    if not isinstance(value, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 -- said to the user
    _check_transport(value.get("type") or value.get("transport"))
    table: TomlServer = {}
    for key in _TEXTS:
        if isinstance(text := value.get(key), str) and text:
            table[key] = _text(text)
    if isinstance(args := value.get("args"), list) and args:
        table["args"] = [_text(one) for one in args if isinstance(one, str)]
    for key in ("env", "headers"):
        if entries := as_object(value.get(key)):
            table[key] = {k: _text(v) for k, v in entries.items() if isinstance(v, str)}
    if ("command" in table) == ("url" in table):
        raise ValueError("it needs either `command` or `url`")
    if value.get("disabled") is True:
        table["enabled"] = False
    return table


def _check_transport(kind: JsonValue) -> None:
    if kind == "sse":
        raise ValueError("the transport HTTP+SSE is not supported, only streamable HTTP")
    if kind is not None and kind != "stdio" and kind not in _HTTP:
        raise ValueError("its transport is not known")


def _text(text: str) -> str:
    """Return a text with references to the environment as the settings have them."""
    parts = _VARIABLE.split(text)
    pieces = (f"${{{part}}}" if number % 2 else escaped(part) for number, part in enumerate(parts))
    return "".join(pieces)
