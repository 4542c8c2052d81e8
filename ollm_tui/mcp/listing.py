"""What a server lists as its tools, checked one by one: a bad one does not spoil the others.

A model sees each under the name of its server, two underscores, and its own name. That depends on
its server and tool alone where it can: a list in another order gives no other names.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.counted import size_text
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.tools import SERVER_SEPARATOR
from ollm_tui.tools.json_schema import BadSchema, SchemaChecker

MAX_TOOLS: Final = 128
"""Of one server; each takes room in the context window, and servers accept no more."""
MAX_NAME_LENGTH: Final = 256
MAX_DESCRIPTION_LENGTH: Final = 16 * 1024
MAX_SCHEMA_BYTES: Final = 64 * 1024
_MAX_REFUSED: Final = 500


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as its server describes it; every text is foreign."""

    name: str
    description: str
    parameters: JsonObject
    title: str = ""
    is_called_read_only: bool = False
    """What the server says of it, on which nothing depends."""

    @property
    def text(self) -> str:
        """All of it, for the user to read and compare."""
        schema = json.dumps(self.parameters, ensure_ascii=False, indent=2, sort_keys=True)
        hint = "The server calls it read-only.\n" if self.is_called_read_only else ""
        title = f"{self.title}\n" if self.title else ""
        return f"{title}{hint}{self.description}\n\nArguments:\n{schema}"

    @property
    def fingerprint(self) -> str:
        """Changes with the name and with any of the texts."""
        text = f"{self.name}\n{self.text}"
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class ToolList:
    """The usable tools of a server, and why others are not."""

    tools: tuple[ToolDefinition, ...] = ()
    refused: tuple[str, ...] = field(default=())
    """A sentence for each; the name in it is foreign."""


class _BadTool(Exception):
    """The message says why."""


def read_tools(listed: Sequence[JsonValue]) -> ToolList:
    """Check each tool of a list. Blocks for a long one, since schemas are compiled."""
    tools: dict[str, ToolDefinition] = {}
    refused = list(_refused(listed, tools))
    more = len(refused) - _MAX_REFUSED
    if more > 0:
        refused = [*refused[:_MAX_REFUSED], f"And {more} more."]
    return ToolList(tuple(tools.values()), tuple(refused))


def _refused(listed: Sequence[JsonValue], tools: dict[str, ToolDefinition]) -> Iterator[str]:
    for number, item in enumerate(listed, 1):
        named = item.get("name") if isinstance(item, dict) else None
        shown = named[:80] if isinstance(named, str) else f"number {number}"
        try:
            tool = _definition(item, tools)
        except _BadTool as error:
            yield f"The tool {shown} is left out: {error}."
        else:
            tools[tool.name] = tool


def _definition(item: JsonValue, others: Collection[str]) -> ToolDefinition:
    if len(others) == MAX_TOOLS:
        raise _BadTool(f"{MAX_TOOLS} tools of one server are the limit")
    if not isinstance(item, dict):
        raise _BadTool("it is not an object")
    name, description = item.get("name"), item.get("description") or ""
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_LENGTH:
        raise _BadTool(f"its name has not 1 to {MAX_NAME_LENGTH} characters")
    if name in others:
        raise _BadTool("there is another one of this name")
    if not isinstance(description, str):
        raise _BadTool("its description is not text")
    if len(description) > MAX_DESCRIPTION_LENGTH:
        raise _BadTool(f"its description is longer than {MAX_DESCRIPTION_LENGTH:,} characters")
    annotations, title = item.get("annotations"), item.get("title") or ""
    hints = annotations if isinstance(annotations, dict) else {}
    return ToolDefinition(
        name,
        description,
        _parameters(item.get("inputSchema")),
        title[:MAX_NAME_LENGTH] if isinstance(title, str) else "",
        hints.get("readOnlyHint") is True,
    )


def _parameters(schema: JsonValue) -> JsonObject:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise _BadTool("the schema of its arguments is not that of an object")
    try:
        if len(json.dumps(schema)) > MAX_SCHEMA_BYTES:
            raise _BadTool(f"the schema of its arguments is over {size_text(MAX_SCHEMA_BYTES)}")
        SchemaChecker(schema)
    except BadSchema as error:
        raise _BadTool(f"the schema of its arguments cannot be used, since {error}") from error
    except (ValueError, RecursionError) as error:
        raise _BadTool("the schema of its arguments cannot be used") from error
    return schema


MAX_PREFIX_LENGTH: Final = 24
MAX_TOOL_NAME_LENGTH: Final = 64
"""Characters that every backend accepts."""
_NOT_IN_NAMES: Final = lazy_re(r"[^A-Za-z0-9_-]")
_MARK: Final = 6


def prefixes_of(servers: Iterable[str]) -> dict[str, str]:
    """Return the prefix of each server; no two differ in case only."""
    prefixes: dict[str, str] = {}
    taken: set[str] = set()
    for server in servers:
        prefix = _prefix(server)
        if prefix.casefold() in taken:
            prefix = f"{prefix[: MAX_PREFIX_LENGTH - _MARK - 1]}-{_mark(server)}"
        taken.add(prefix.casefold())
        prefixes[server] = prefix
    return prefixes


def _prefix(server: str) -> str:
    plain = _NOT_IN_NAMES.sub("_", server)
    plain = re.sub("__+", "_", plain).strip("_-")[:MAX_PREFIX_LENGTH].rstrip("_-")
    if not plain or not plain[0].isalpha():
        plain = f"mcp-{plain}".rstrip("-")[:MAX_PREFIX_LENGTH]
    return plain


def tool_names(prefix: str, tools: Iterable[str]) -> Mapping[str, str]:
    """Return the name of each tool of a server; no two differ in case only."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for tool in tools:
        plain = f"{prefix}{SERVER_SEPARATOR}{_NOT_IN_NAMES.sub('_', tool)}"
        is_own = plain.endswith(tool) and len(plain) <= MAX_TOOL_NAME_LENGTH
        if not is_own or plain.casefold() in taken:
            plain = f"{plain[: MAX_TOOL_NAME_LENGTH - _MARK - 1]}-{_mark(tool)}"
        taken.add(plain.casefold())
        names[tool] = plain
    return names


def _mark(name: str) -> str:
    return sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK]
