"""The tools of this program, of packages and of MCP servers, as the settings have them."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, get_args

from ollm_tui.config.foreign import run_in_daemon_thread
from ollm_tui.config.keys.stored_keys import StoredKeys
from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.origin import ConfigProblem, KeyPath, dotted, nearest
from ollm_tui.config.paths import AppPaths
from ollm_tui.config.plugins import (
    Plugin,
    find_plugins,
    load_plugins,
    may_have_plugins,
    plugin_names,
)
from ollm_tui.config.regular_file import is_folder, real_path
from ollm_tui.config.schema import AppConfig
from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.ports import Tool
from ollm_tui.protocol.tools import ToolEffect, ToolSchema, all_of_server, includes
from ollm_tui.tools.define import EVERY_TOOL, is_tool_name
from ollm_tui.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from ollm_tui.chat.client import ChatClient
    from ollm_tui.chat.conversation import Conversation
    from ollm_tui.mcp.requests import ClientSide
    from ollm_tui.mcp.servers import McpServers

KNOWN_TOOLS = "mcp_tools.json"
"""The file with what the user has read of the tools of servers."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """The public facts of a tool that a model may call."""

    name: str
    effect: ToolEffect
    description: str
    warning: str = ""
    """What does not hold of it here, in a few words, such as `not contained`."""


def facts_of(tools: Sequence[Tool]) -> tuple[OfferedTool, ...]:
    """Return what is shown of tools."""
    return tuple(
        OfferedTool(
            tool.schema.name,
            tool.effect,
            tool.schema.description or "",
            warning if isinstance(warning := getattr(tool, "warning", ""), str) else "",
        )
        for tool in tools
    )


def tools_problem(config: AppConfig) -> str | None:
    """Return why there are no tools for files, if the settings do not say so themselves."""
    if config.tools.root is not None:
        return None
    with suppress(OSError):
        if is_folder(Path.cwd()):
            return None
    return "The folder in which ollm was started is gone, so the tools for files are off."


def names_tools(config: AppConfig) -> bool:
    """Whether the settings, or a profile of them, name tools."""
    return bool(config.tools.enabled) or any(one.tools for one in config.profiles.values())


def plugin_tools() -> tuple[list[Tool], list[str]]:
    """Import the tools of installed packages; return the usable ones, and the problems of the rest.

    They are offered to a model only where they are switched on, as any tool.
    """
    if not plugin_names("tools"):
        return [], []
    # Loaded only for tools that are named, or that packages bring.
    from ollm_tui.runtime.tools.own_tools import every_tool

    built_in = every_tool()
    names = [tool.schema.name for tool in built_in]
    known = ToolRegistry(built_in)

    def use(plugin: Plugin, tool: Tool) -> None:
        _check_tool(plugin, tool)
        known.register(tool)

    problems = load_plugins("tools", Tool, use, names)  # type: ignore[type-abstract]
    return [tool for tool in known.list() if tool.schema.name not in names], problems


def _check_tool(plugin: Plugin, tool: Tool) -> None:
    schema: object = tool.schema
    timeout_s: object = tool.timeout_s
    if not isinstance(schema, ToolSchema):
        raise plugin.problem(f"provides {plugin.name!r}, whose schema is not a ToolSchema")
    if schema.name != plugin.name:
        raise plugin.problem(f"names its tool {schema.name!r}, but its entry point {plugin.name!r}")
    if not is_tool_name(plugin.name) or plugin.name.casefold() == EVERY_TOOL:
        raise plugin.problem(
            f"provides {plugin.name!r}, which cannot name a tool: use 1 to 64 letters, digits, "
            f"_ and -, no digit first, and not {EVERY_TOOL!r}"
        )
    if tool.effect not in get_args(ToolEffect):
        raise plugin.problem(f"provides {plugin.name!r}, which does not say what it may do")
    is_time = isinstance(timeout_s, int | float) and 0 < timeout_s < math.inf
    if not is_time or not isinstance(schema.description, str | None):
        raise plugin.problem(f"provides {plugin.name!r}, whose timeout or description is unusable")
    json.dumps(schema.parameters)  # raises now for what could be sent to no server


async def import_plugins(registry: ToolRegistry) -> tuple[Sequence[Plugin], tuple[str, ...]]:
    """Register the tools of installed packages, which may be slow to import.

    Returns their commands, not yet imported, and the problems of tools that cannot be used.
    """
    if not await run_in_daemon_thread(may_have_plugins):
        return (), ()
    (tools, problems), commands = await run_in_daemon_thread(
        lambda: (plugin_tools(), find_plugins("commands"))
    )
    for tool in tools:
        registry.register(tool)
    return commands, tuple(problems)


class Chats(Protocol):
    """Makes chats, and knows their tools."""

    tools: ToolRegistry

    def unsaved(self, conversation: "Conversation") -> "ChatClient":
        """Return a client of a conversation that is not saved."""


def configured_servers(
    settings: Mapping[str, McpServerSettings], paths: AppPaths, client: "ClientSide | None" = None
) -> "AbstractAsyncContextManager[McpServers]":
    """Return what opens the servers of settings, with what is kept of them."""
    # Needed only where the settings name a server.
    from ollm_tui.mcp.servers import open_servers

    known, keys = paths.state_dir / KNOWN_TOOLS, StoredKeys(paths.data_dir)
    return open_servers(settings, known, client, keys)


async def add_servers(
    stack: AsyncExitStack, chats: Chats, loaded: LoadedConfig, paths: AppPaths
) -> "McpServers | None":
    """Offer the tools of the servers in the settings; a front end that can ask starts them."""
    if not loaded.config.mcp_servers:
        return None
    # Needed only where the settings name a server.
    from ollm_tui.mcp.requests import ClientSide
    from ollm_tui.runtime.tools.sampling import Sampling

    client, registry = ClientSide(complete=Sampling(chats.unsaved).answer), chats.tools
    with suppress(OSError, RuntimeError):  # the folder may be gone
        client.root = real_path(loaded.config.tools.root or Path.cwd())
    servers = await stack.enter_async_context(
        configured_servers(loaded.config.mcp_servers, paths, client)
    )
    registry.further, registry.groups = servers.tools, servers.groups
    # `--tools` names exactly what the model may call.
    registry.offers_groups = loaded.origin_of("tools.enabled").kind != "flag"
    return servers


def unknown_tools(loaded: LoadedConfig) -> Iterator[ConfigProblem]:
    """Yield a problem for each enabled tool that does not exist."""
    config, chosen = loaded.config, ("tools", "enabled")
    named: dict[KeyPath, Sequence[str]] = {chosen: config.tools.enabled}
    for name, profile in config.profiles.items():
        path: KeyPath = ("profiles", name, "tools")
        if loaded.origin_of(dotted(path)) != loaded.origin_of(dotted(chosen)):
            named[path] = profile.tools or ()
    if not {name for names in named.values() for name in names} - {EVERY_TOOL}:
        return
    # Loaded only for tools that are named, or that packages bring.
    from ollm_tui.mcp.listing import prefixes_of
    from ollm_tui.runtime.tools.own_tools import every_tool

    built_in = every_tool()
    known = [*(tool.schema.name for tool in built_in), *plugin_names("tools"), EVERY_TOOL]
    servers = [all_of_server(prefix) for prefix in prefixes_of(config.mcp_servers).values()]
    for path, names in named.items():
        for name in dict.fromkeys(names):
            if name not in known and name not in servers and not includes(servers, name):
                yield ConfigProblem(
                    f"There is no tool named {clean_name(name[:80])!r}.",
                    loaded.origin_of(dotted(path)),
                    path,
                    find_hint=partial(_nearest_tool, name, known[:-1]),
                )


def _nearest_tool(name: str, known: Sequence[str]) -> str:
    near = nearest(name, known)
    return f"Did you mean {near}?" if near else f"Available: {', '.join(known)}."
