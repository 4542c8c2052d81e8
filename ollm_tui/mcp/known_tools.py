"""The tools that the user has read: what a server said of each when it was allowed first.

Kept in a private file, by server and by what the server is: its command, arguments and environment,
or its address. A file that cannot be read counts as an empty one, so every tool is shown again.
"""

import difflib
import json
import logging
from dataclasses import asdict
from pathlib import Path
from typing import Final, Literal, TypeAlias

import anyio
import anyio.to_thread

from ollm_tui.config.private_file import write_private
from ollm_tui.config.regular_file import read_bounded
from ollm_tui.decode.json_fields import as_object
from ollm_tui.mcp.listing import ToolDefinition
from ollm_tui.protocol.json_types import JsonObject, JsonValue

MAX_BYTES: Final = 32 * 1024 * 1024
"""Bytes; a longer file is not ours."""
_IDENTITY: Final = "identity"
_TOOLS: Final = "tools"
Reading: TypeAlias = Literal["known", "new", "changed"]

logger = logging.getLogger(__name__)


class KnownTools:
    """What the user has read of the tools of all servers."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._servers: JsonObject | None = None
        self._lock = anyio.Lock()

    async def load(self) -> None:
        """Read the file, unless it was read."""
        async with self._lock:
            if self._servers is None:
                self._servers = await anyio.to_thread.run_sync(self._read)

    def _read(self) -> JsonObject:
        try:
            return as_object(json.loads(read_bounded(self._file, MAX_BYTES)))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            logger.warning("The tools that were read cannot be loaded: %s", type(error).__name__)
            return {}

    def of(self, server: str, identity: str, tool: str) -> ToolDefinition | None:
        """Return what was read of a tool; None if that was nothing."""
        kept = as_object((self._servers or {}).get(server))
        if kept.get(_IDENTITY) != identity:
            return None
        return _definition(as_object(kept.get(_TOOLS)).get(tool))

    async def keep(self, server: str, identity: str, *read: ToolDefinition) -> None:
        """Note that tools were read as they are; kept for this run if it cannot be written."""
        await self.load()
        async with self._lock:
            assert self._servers is not None
            kept = as_object(self._servers.get(server))
            is_same = kept.get(_IDENTITY) == identity
            tools = dict(as_object(kept.get(_TOOLS))) if is_same else {}
            tools |= {tool.name: asdict(tool) for tool in read}
            self._servers = {
                **self._servers,
                server: {_IDENTITY: identity, _TOOLS: tools},
            }
            data = json.dumps(self._servers).encode()
            try:
                await anyio.to_thread.run_sync(write_private, self._file, data)
            except OSError as error:
                logger.warning("The tools that were read cannot be kept: %s", error)


def _definition(kept: JsonValue) -> ToolDefinition | None:
    match kept:
        case {
            "name": str() as name,
            "description": str() as description,
            "parameters": dict() as parameters,
            "title": str() as title,
            "is_called_read_only": bool() as hint,
        }:
            return ToolDefinition(name, description, parameters, title, hint)
        case _:
            return None


def difference(before: ToolDefinition, after: ToolDefinition) -> str:
    """Return what has changed, line by line."""
    lines = difflib.unified_diff(
        before.text.splitlines(), after.text.splitlines(), "before", "now", lineterm="", n=2
    )
    return "\n".join(lines)
