"""`ollm doctor`: check models, servers and settings, and say how to fix what is missing."""

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import anyio

from ollm_tui import __version__
from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.doctor.report import (
    Folder,
    SystemReport,
    as_json,
    as_text,
    private_checkup,
    private_report,
)
from ollm_tui.cli.output import ERROR, OK, Output
from ollm_tui.cli.settings import checked, load_private
from ollm_tui.cli.stop import stopping
from ollm_tui.commands import COMMANDS
from ollm_tui.commands.registry import plugin_commands
from ollm_tui.config.early import early_settings
from ollm_tui.config.flags import Flags
from ollm_tui.config.foreign import run_in_daemon_thread
from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.origin import dotted
from ollm_tui.config.paths import AppPaths, default_paths, home_folder
from ollm_tui.config.plugins import Group, Plugin, find_plugins, load_plugins, plugin_folder
from ollm_tui.config.regular_file import is_folder, is_there, real_path
from ollm_tui.config.sources import ENGINE_VARIABLES
from ollm_tui.config.values import BUILT_IN_KINDS
from ollm_tui.decode.redact import environment_secrets, redactor
from ollm_tui.protocol.errors import AIError
from ollm_tui.providers import provider_factory
from ollm_tui.runtime.checkup import Checkup, check_up
from ollm_tui.runtime.compose import open_runtime
from ollm_tui.runtime.tools.toolbox import plugin_tools
from ollm_tui.store.conversations import FILE_NAME, look_through

MIN_WIDTH, MIN_HEIGHT = 60, 16
_PLUGIN_WORDS: Mapping[Group, str] = {
    "providers": "provider kind",
    "tools": "tool",
    "commands": "command",
    "themes": "theme",
}


def plugin_lines() -> Iterator[tuple[bool, str]]:
    """Yield a line for each package with plugins, and one for each plugin that fails.

    True marks what is in order.
    """
    brought: dict[str, list[str]] = {}
    for group, word in _PLUGIN_WORDS.items():
        for plugin in find_plugins(group):
            name = f"/{plugin.name}" if group == "commands" else plugin.name
            brought.setdefault(plugin.title, []).append(f"{word} {name}")
    problems = tuple(dict.fromkeys(_plugin_problems())) if brought else ()
    for title, names in brought.items():
        has_problem = any(problem.startswith(f"The plugin {title}") for problem in problems)
        yield not has_problem, f"{title}: {', '.join(names)}"
    yield from ((False, problem) for problem in problems)


def _plugin_problems() -> Iterator[str]:
    yield from load_plugins("providers", object, provider_factory, BUILT_IN_KINDS)
    yield from plugin_tools()[1]
    yield from plugin_commands(COMMANDS)[1]
    for plugin in find_plugins("themes"):
        if (problem := _theme_problem(plugin)) is not None:
            yield problem


def _theme_problem(plugin: Plugin) -> str | None:
    # Loads Textual, which nothing else of this report needs.
    from ollm_tui.tui.theming import ThemeProblem, read_theme

    folder = plugin_folder(plugin)
    if folder is None:
        return str(plugin.problem(f"names no package that could hold {plugin.name}.toml"))
    try:
        read_theme(folder / f"{plugin.name}.toml")
    except ThemeProblem as problem:
        return f"The plugin {plugin.title}: {problem}"
    return None


def run_doctor(arguments: Arguments, output: Output) -> int:
    """Write the report; 1 means that you cannot chat yet."""
    paths = default_paths()
    loaded = load_private(paths, os.environ, arguments.flags, output)
    return anyio.run(partial(_run, arguments, loaded, paths, output))


async def _run(arguments: Arguments, loaded: LoadedConfig, paths: AppPaths, output: Output) -> int:
    with stopping() as stop:
        # The saved chats are looked through for themselves.
        async with open_runtime(loaded.without_saving(), paths, imports_tools=False) as runtime:
            checkup = await check_up(runtime)
            private = make_redactor((*runtime.secrets(), *environment_secrets(os.environ)))
        plugins = await run_in_daemon_thread(lambda: tuple(plugin_lines()))
        report = system_report(loaded, paths, await _chats(loaded, paths), plugins)
        shown_checkup, shown_report = (
            private_checkup(checkup, private),
            private_report(report, private),
        )
        if arguments.as_json:
            output.json(as_json(shown_checkup, shown_report), indent=2)
        else:
            for line in as_text(shown_checkup, shown_report):
                output.line(line)
        return exit_code(checkup, report)
    return stop.exit_code


def exit_code(checkup: Checkup, report: SystemReport) -> int:
    """Return 1 if no chat can begin or be saved."""
    return OK if checkup.model and all(place.is_writable for place in report.folders) else ERROR


async def _chats(loaded: LoadedConfig, paths: AppPaths) -> tuple[bool, str]:
    """Look through the saved chats; what is damaged is saved to a new file, as by the app."""
    if not loaded.config.chat.save:
        return True, "not saved ([chat] save = false)"
    try:
        return await look_through(paths.data_dir / FILE_NAME)
    except AIError as error:
        return False, str(error)


def system_report(
    loaded: LoadedConfig,
    paths: AppPaths,
    chats: tuple[bool, str],
    plugins: tuple[tuple[bool, str], ...],
) -> SystemReport:
    """Inspect settings, folders and terminal; nothing is changed."""
    return SystemReport(
        version=__version__,
        system=f"Python {platform.python_version()} · {platform.system()} {platform.release()}"
        f" · {platform.machine()}",
        settings_file=str(loaded.path),
        settings_there=is_there(loaded.path),
        problems=tuple((p.severity, str(p)) for p in checked(loaded, paths)),
        keys=tuple(
            (name, bool(os.environ.get(name, "").strip()))
            for name, path in ENGINE_VARIABLES.items()
            if "api_key" in path
        ),
        key_origins=tuple(
            (name, str(loaded.origin_of(dotted(("providers", name, "api_key")))))
            for name, settings in loaded.config.providers.items()
            if settings.api_key is not None
        ),
        folders=tuple(
            Folder(name=name, path=str(path), is_writable=_is_writable(path))
            for name, path in (("data", paths.data_dir), ("state", paths.state_dir))
        ),
        terminal=tuple(_terminal(mouse=_uses_mouse(loaded, paths))),
        chats=chats,
        plugins=plugins,
    )


def _is_writable(path: Path) -> bool:
    for place in (path, *path.parents):
        if is_there(place):
            return is_folder(place) and os.access(place, os.W_OK | os.X_OK)
    return False


def _uses_mouse(loaded: LoadedConfig, paths: AppPaths) -> bool:
    return early_settings(paths, os.environ, Flags(config_path=loaded.path)).mouse


def _terminal(*, mouse: bool) -> Iterator[tuple[str, str]]:
    # Loads nothing of Textual; see there.
    from ollm_tui.tui.terminal import check_terminal

    environ = os.environ
    if sys.stdout.isatty():
        yield "full screen", check_terminal() or "can be opened"
    else:
        yield "full screen", "not known: the output is not a terminal"
    yield "kind", " in ".join(filter(None, (environ.get("TERM"), environ.get("TERM_PROGRAM"))))
    width, height = shutil.get_terminal_size()
    is_small = width < MIN_WIDTH or height < MIN_HEIGHT
    yield "size", f"{width} x {height}{', which is small' if is_small else ''}"
    yield "colours", _colours()
    yield "text", sys.stdout.encoding or "unknown"
    yield "mouse", "used" if mouse else "off (ui.mouse)"
    yield "pictures", "as coloured half blocks"
    remote = [word for word, name in (("ssh", "SSH_TTY"), ("tmux", "TMUX")) if environ.get(name)]
    if remote:
        yield "through", ", ".join(remote)


def _colours() -> str:
    if os.environ.get("NO_COLOR"):
        return "none (NO_COLOR)"
    if os.environ.get("COLORTERM", "").lower() in {"truecolor", "24bit"}:
        return "16 million"
    return "256" if "256" in os.environ.get("TERM", "") else "at least 16"


def make_redactor(secrets: tuple[str, ...]) -> Callable[[str], str]:
    """Make a function that takes keys out of a text and the user's name out of its paths."""
    redact = redactor(secrets)
    home = home_folder() or Path(os.sep)
    homes = {str(home) for home in (home, real_path(home)) if len(home.parts) > 1}

    def private(text: str) -> str:
        for home in sorted(homes, key=len, reverse=True):
            text = text.replace(home, "~")
        return redact(text)

    return private
