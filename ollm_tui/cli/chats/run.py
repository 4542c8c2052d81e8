"""Runs an action of `ollm chats` on the saved chats of this home."""

import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
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
from ollm_tui.protocol.errors import AIError
from ollm_tui.store.conversations import FILE_NAME

ChatAction = Callable[[Arguments, Output, Path], Awaitable[int]]
_ACTIONS: Final[Mapping[str, str]] = {
    "search": "ollm_tui.cli.chats.search:search_chats",
    "list": "ollm_tui.cli.chats.reading:list_chats",
    "show": "ollm_tui.cli.chats.reading:show_chat",
    "export": "ollm_tui.cli.chats.writing:export_chat",
    "import": "ollm_tui.cli.chats.importing:import_chats",
    "rm": "ollm_tui.cli.chats.writing:remove_chats",
    "rename": "ollm_tui.cli.chats.marking:rename_chat",
    "tag": "ollm_tui.cli.chats.marking:tag_chat",
    "pin": "ollm_tui.cli.chats.marking:pin_chats",
    "unpin": "ollm_tui.cli.chats.marking:unpin_chats",
    "archive": "ollm_tui.cli.chats.marking:archive_chats",
    "unarchive": "ollm_tui.cli.chats.marking:unarchive_chats",
    "undelete": "ollm_tui.cli.chats.deleting:undelete_chat",
    "purge": "ollm_tui.cli.chats.deleting:purge_chats",
    "restore": "ollm_tui.cli.chats.restoring:restore_chats",
}
"""The function of each action, which is imported when it is used."""
_DELETIONS: Final = "ollm_tui.cli.chats.deleting:list_deletions"
"""`ollm chats list --deleted`."""


def run_chats(arguments: Arguments, output: Output) -> int:
    """Run one of the actions; return its exit code, also after a signal."""
    limit = arguments.chats.limit
    if limit is not None and limit < 1:
        raise UsageError("--limit takes a whole number from 1.")
    name = _DELETIONS if arguments.chats.is_deleted else _ACTIONS[arguments.action or "list"]
    action: ChatAction = import_name(name)
    paths = default_paths()
    load_for(paths, os.environ, arguments.flags, output)  # mentions problems of the settings
    return anyio.run(_run, partial(action, arguments, output, paths.data_dir / FILE_NAME))


def find_chat(name: str, output: Output) -> str:
    """Return the id of the saved chat that is meant by an id, a unique part of one, or `last`.

    Raises:
        AIError: there is no such chat, or there are several.
    """
    return anyio.run(_find, name, output)


async def _find(name: str, output: Output) -> str:
    # These load the store, which listing the actions does not need.
    from ollm_tui.cli.chats.reading import id_named
    from ollm_tui.cli.chats.writing import some_chats

    failure: AIError | None = None
    async with AsyncExitStack() as stack:
        store = await some_chats(stack, default_paths().data_dir / FILE_NAME, output)
        try:
            return await id_named(name, store)
        except AIError as error:  # as itself, not in a group of what closes here
            failure = error
    raise failure


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
