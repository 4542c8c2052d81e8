"""What installed packages bring, and whether it can be used: every plugin is imported for it."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.registry import plugin_commands
from ollm_tui.config.plugins import Group, Plugin, find_plugins, load_plugins, plugin_folder
from ollm_tui.config.values import BUILT_IN_KINDS
from ollm_tui.providers import provider_factory
from ollm_tui.runtime.chats import plugin_tools

_WORDS: Mapping[Group, str] = MappingProxyType(
    {"providers": "provider kind", "tools": "tool", "commands": "command", "themes": "theme"}
)


def look_at_plugins() -> Iterator[tuple[bool, str]]:
    """Give a line for each package that brings something, and one for each plugin that fails.

    True stands before what is in order.
    """
    brought: dict[str, list[str]] = {}
    for group, word in _WORDS.items():
        for plugin in find_plugins(group):
            name = f"/{plugin.name}" if group == "commands" else plugin.name
            brought.setdefault(plugin.title, []).append(f"{word} {name}")
    problems = tuple(dict.fromkeys(_problems())) if brought else ()
    for title, things in brought.items():
        has_problem = any(problem.startswith(f"The plugin {title}") for problem in problems)
        yield not has_problem, f"{title}: {', '.join(things)}"
    yield from ((False, problem) for problem in problems)


def _problems() -> Iterator[str]:
    yield from load_plugins("providers", object, provider_factory, BUILT_IN_KINDS)
    yield from plugin_tools()[1]
    yield from plugin_commands(COMMANDS)[1]
    for plugin in find_plugins("themes"):
        if (problem := _theme_problem(plugin)) is not None:
            yield problem


def _theme_problem(plugin: Plugin) -> str | None:
    # Loads Textual, which nothing else of this report needs.
    from ollm_tui.tui.theming.themes import ThemeProblem, read_theme

    folder = plugin_folder(plugin)
    if folder is None:
        return str(plugin.problem(f"names no package that could hold {plugin.name}.toml"))
    try:
        read_theme(folder / f"{plugin.name}.toml")
    except ThemeProblem as problem:
        return f"The plugin {plugin.title}: {problem}"
    return None
