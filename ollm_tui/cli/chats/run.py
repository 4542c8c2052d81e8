"""Runs an action of `ollm chats` on the saved chats of this home."""

import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import anyio

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.output import Output, UsageError
from ollm_tui.cli.settings import load_for
from ollm_tui.cli.stop import stopping
from ollm_tui.config.paths import default_paths
from ollm_tui.lazy import import_name
from ollm_tui.store.conversations import FILE_NAME

ChatAction = Callable[[Arguments, Output, Path], Awaitable[int]]
_ACTIONS: Final[Mapping[str, str]] = {
    "search": "ollm_tui.cli.chats.search:search_chats",
    "list": "ollm_tui.cli.chats.reading:list_chats",
    "show": "ollm_tui.cli.chats.reading:show_chat",
    "export": "ollm_tui.cli.chats.writing:export_chat",
    "import": "ollm_tui.cli.chats.importing:import_chats",
    "rm": "ollm_tui.cli.chats.writing:remove_chats",
}
"""The function of each action, which is imported when it is used."""


def run_chats(arguments: Arguments, output: Output) -> int:
    """Run one of the actions; return its exit code, also after a signal."""
    limit = arguments.chats.limit
    if limit is not None and limit < 1:
        raise UsageError("--limit takes a whole number from 1.")
    action: ChatAction = import_name(_ACTIONS[arguments.action or "list"])
    paths = default_paths()
    load_for(paths, os.environ, arguments.flags, output)  # mentions problems of the settings
    return anyio.run(_run, partial(action, arguments, output, paths.data_dir / FILE_NAME))


async def _run(work: Callable[[], Awaitable[int]]) -> int:
    failure: Exception | None = None
    codes: list[int] = []
    with stopping() as stop:
        try:
            codes.append(await work())
        except Exception as error:  # noqa: BLE001 -- raised below, where the signals are as before
            failure = error
    if failure is not None:
        raise failure
    return codes[0] if codes else stop.exit_code
