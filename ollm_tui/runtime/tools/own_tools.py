"""The tools of this program: made, with all their modules, when a tool is first asked for."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from ipaddress import ip_network
from pathlib import Path

from ollm_tui.config.regular_file import is_folder, real_path
from ollm_tui.config.schema import AppConfig
from ollm_tui.config.tables.extra_settings import ShellSettings, ToolSettings
from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.ports import Tool
from ollm_tui.shell.command import CommandSettings
from ollm_tui.tools.ask_person import AskUser
from ollm_tui.tools.builtin import builtin_tools
from ollm_tui.tools.builtin.calculator import calculate
from ollm_tui.tools.builtin.clock import clock_tool
from ollm_tui.tools.builtin.guard import FileGuard, known_places
from ollm_tui.tools.memory.edit_notes import EditNotes
from ollm_tui.tools.memory.notes import LastingNotes
from ollm_tui.tools.python_tool import PythonTool
from ollm_tui.tools.shell_jobs import ShellJobTool
from ollm_tui.tools.shell_tool import ShellTool
from ollm_tui.tools.web.fetch import WebFetch
from ollm_tui.tools.web.search import WebSearch
from ollm_tui.tools.writing.file_tools import writing_tools


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The built-in tools of one run of the program."""

    tools: Sequence[Tool]
    """Those that only read, and those that act and are named in the settings."""
    off: Sequence[Tool]
    """Those that act and are not switched on; a chat cannot offer them."""


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
    return _chosen((clock_tool(), calculate), placeless, named)


def _chosen(reading: Iterable[Tool], acting: Iterable[Tool], named: Collection[str]) -> Toolbox:
    """Return the tools that only read, and of those that act the ones that are named."""
    acting = tuple(acting)
    on = [tool for tool in acting if tool.schema.name in named]
    off = [tool for tool in acting if tool.schema.name not in named]
    if any(isinstance(tool, ShellTool) for tool in on):
        on.append(ShellJobTool())
    return Toolbox([*reading, *on], off)


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
    return WebFetch(allowed), WebSearch(tools.search_url), AskUser()


def _named_by_profiles(config: AppConfig) -> Iterator[str]:
    for profile in config.profiles.values():
        yield from profile.tools or ()


def every_tool() -> tuple[Tool, ...]:
    """Return all tools of the program, for their names."""
    root = Path("/")  # only their names matter
    own = (*builtin_tools(root), *_acting_tools(root, FileGuard()))
    return (*own, ShellJobTool(), *_placeless_tools(), EditNotes(LastingNotes()))
