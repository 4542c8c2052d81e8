"""From the command line's choices to a running app, and to the exit code."""

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import anyio

from ollm_tui.config.early import early_settings
from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import config_path, default_paths
from ollm_tui.decode.redact import environment_secrets, redactor
from ollm_tui.runtime.opening import opening
from ollm_tui.tui.app import OllmApp
from ollm_tui.tui.memory import resume_collection
from ollm_tui.tui.services import Services
from ollm_tui.tui.terminal import driver_class, exit_signals, prompt_threads
from ollm_tui.tui.theming import ThemeCatalog, bundled_folder

if TYPE_CHECKING:
    from ollm_tui.runtime.compose import Runtime


def run(flags: Flags, keep_secret: Callable[[Iterable[str]], None]) -> int:
    """Run the app in an event loop of its own; `keep_secret` gets the keys in the settings."""
    with prompt_threads():
        return anyio.run(_main, flags, keep_secret)


async def _main(flags: Flags, keep_secret: Callable[[Iterable[str]], None]) -> int:
    paths = default_paths()
    early = early_settings(paths, os.environ, flags)

    async def runtime() -> "Runtime":
        try:
            ready = await opened.runtime()
        finally:
            resume_collection()
            keep_secret(opened.secrets())
        ready.ask_before_tools(services.approver)
        ready.download_service.go_on()
        return ready

    def redact(text: str) -> str:
        known = (*opened.secrets(), *environment_secrets(os.environ), flags.api_key)
        return redactor(known)(text)

    services = Services(
        runtime,
        config_file=config_path(paths, os.environ, flags.config_path),
        themes=ThemeCatalog((bundled_folder(), paths.themes_dir)),
        keymap=early.keymap,
        history_file=paths.state_dir / "prompts.jsonl",
        copies=paths.data_dir / "copies",
        show_thinking=early.show_thinking,
        schema=flags.schema,
        schema_file=flags.schema_file,
    )
    app = OllmApp(
        services,
        early.theme,
        driver_class=driver_class(),
        crash_directory=paths.state_dir / "crashes",
        is_animated=early.animations,
    )
    app.redact = redact
    # around everything that must be closed in order when a signal ends the app
    with exit_signals(app):
        async with opening(flags) as opened:
            await app.run_async(mouse=early.mouse)
    return app.return_code or 0
