"""The tools of this program, of packages and of MCP servers, as the settings have them."""

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from dataclasses import replace
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, get_args

from ollm_tui.config.foreign import off_the_loop
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
from ollm_tui.config.tables.extra_settings import ShellSettings, ToolSettings
from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.mcp.listing import prefixes_of
from ollm_tui.protocol.ports import Tool
from ollm_tui.protocol.tools import ToolEffect, ToolSchema, all_of_server, includes
from ollm_tui.shell.command import CommandSettings
from ollm_tui.tools.ask_person import AskPerson
from ollm_tui.tools.builtin import builtin_tools
from ollm_tui.tools.builtin.calculator import calculate
from ollm_tui.tools.builtin.clock import clock_tool
from ollm_tui.tools.builtin.guard import FileGuard, known_places
from ollm_tui.tools.define import EVERY_TOOL, is_tool_name
from ollm_tui.tools.memory.edit_notes import EditNotes
from ollm_tui.tools.memory.notes import LastingNotes
from ollm_tui.tools.python_tool import PythonTool
from ollm_tui.tools.runner import ToolRegistry
from ollm_tui.tools.shell_jobs import ShellJobTool
from ollm_tui.tools.shell_tool import ShellTool
from ollm_tui.tools.web.fetch import WebFetch
from ollm_tui.tools.web.search import WebSearch
from ollm_tui.tools.writing.file_tools import writing_tools

if TYPE_CHECKING:
    from ollm_tui.chat.client import ChatClient
    from ollm_tui.chat.conversation import Conversation
    from ollm_tui.mcp.requests import ClientSide
    from ollm_tui.mcp.servers import McpServers

KNOWN_TOOLS = "mcp_tools.json"
"""The file with what the person has read of the tools of servers."""


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
            tool.warning if isinstance(tool, ShellTool | PythonTool) else "",
        )
        for tool in tools
    )


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The built-in tools of one run of the program."""

    tools: Sequence[Tool]
    """Those that only read, and those that act and are named in the settings."""
    off: Sequence[OfferedTool]
    """Those that act and are not switched on; a chat cannot offer them."""
    problems: tuple[str, ...] = ()


def toolbox_of(config: AppConfig, guard: FileGuard, memory: LastingNotes | None = None) -> Toolbox:
    """Return the tools, without those for files where their folder is not there."""
    named = {*config.tools.enabled, *_named_by_profiles(config)}
    notes = EditNotes(memory or LastingNotes(), guard.cleaned)
    placeless = (*_placeless_tools(config), notes)
    # A circle of links, or a folder that is gone by now, counts as a missing one below.
    with suppress(OSError, RuntimeError):
        root = config.tools.root or Path.cwd()
        if is_folder(root):
            acting = _acting_tools(real_path(root), guard, config)
            return _chosen(builtin_tools(root, guard), (*acting, *placeless), named)
    toolbox = _chosen((clock_tool(), calculate), placeless, named)
    if config.tools.root is not None:  # the settings say it, with the place
        return toolbox
    problem = "The folder in which ollm was started is gone, so the tools for files are off."
    return replace(toolbox, problems=(problem,))


def _chosen(reading: Iterable[Tool], acting: Iterable[Tool], named: Collection[str]) -> Toolbox:
    """Return the tools that only read, and of those that act the ones that are named."""
    acting = tuple(acting)
    on = [tool for tool in acting if tool.schema.name in named]
    off = [tool for tool in acting if tool.schema.name not in named]
    if any(isinstance(tool, ShellTool) for tool in on):
        on.append(ShellJobTool())
    return Toolbox([*reading, *on], facts_of(off))


def _acting_tools(
    root: Path, guard: FileGuard, config: AppConfig | None = None
) -> tuple[Tool, ...]:
    """Return the tools that do more than read in a folder."""
    shell, network = (config.shell, config.tools.network) if config else (ShellSettings(), False)
    place = CommandSettings(root, shell.timeout_s, tuple(shell.variables))
    hidden = (*guard.own, *known_places())
    commands = ShellTool(place, network=network, hidden=hidden, background_s=shell.background_s)
    code = PythonTool(place, network=network, hidden=hidden)
    return (*writing_tools(root, guard), commands, code)


def _placeless_tools(config: AppConfig | None = None) -> tuple[Tool, ...]:
    """Return the tools that need no folder, and that have to be named."""
    tools = config.tools if config else ToolSettings()
    allowed = tuple(ip_network(one) for one in tools.private_networks)
    return WebFetch(allowed), WebSearch(tools.search_url), AskPerson()


def _named_by_profiles(config: AppConfig) -> Iterator[str]:
    for profile in config.profiles.values():
        yield from profile.tools or ()


def _built_in() -> tuple[Tool, ...]:
    root = Path("/")  # only their names matter
    own = (*builtin_tools(root), *_acting_tools(root, FileGuard()))
    return (*own, ShellJobTool(), *_placeless_tools(), EditNotes(LastingNotes()))


def plugin_tools() -> tuple[list[Tool], list[str]]:
    """Import the tools of installed packages; return the usable ones, and the problems of the rest.

    They are offered to a model only where they are switched on, as any tool.
    """
    if not plugin_names("tools"):
        return [], []
    built_in = _built_in()
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
    if not await off_the_loop(may_have_plugins):
        return (), ()
    (tools, problems), commands = await off_the_loop(
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
    built_in = _built_in()
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
