"""`ollm chats restore`: lists the daily copies of all chats, and restores one."""

import os
from datetime import date
from functools import partial
from pathlib import Path

from anyio import to_thread

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_actions import confirm
from ollm_tui.cli.output import ERROR, OK, Output, UsageError
from ollm_tui.config.regular_file import is_there
from ollm_tui.decode.counted import counted, size_text
from ollm_tui.store.copies.files import DailyCopy, listed_copies
from ollm_tui.store.copies.restoring import Counts, counts_of, restore


async def restore_chats(arguments: Arguments, output: Output, path: Path) -> int:
    """List the copies, or restore one after confirmation."""
    copies = await to_thread.run_sync(listed_copies, path)
    if arguments.chats.day is None:
        return await to_thread.run_sync(_list, copies, arguments, output)
    copy = _chosen(arguments.chats.day, copies)
    of_copy = await to_thread.run_sync(counts_of, copy.path)
    if not arguments.yes:
        ask = partial(confirm, await to_thread.run_sync(_question, path, copy, of_copy), output)
        if not await to_thread.run_sync(ask, abandon_on_cancel=True):
            output.note("Nothing was changed.")
            return ERROR
    aside = await to_thread.run_sync(restore, path, copy, f"restore-{os.getpid()}")
    output.note(f"Restored {_words(of_copy)} of {copy.day}.")
    if aside is not None:
        output.note(f"The chats until now are kept as {aside}.")
    return OK


def _list(copies: list[DailyCopy], arguments: Arguments, output: Output) -> int:
    if arguments.as_json:
        output.json([{"date": str(c.day), "path": str(c.path), "bytes": c.size} for c in copies])
    elif copies:
        rows = [(str(one.day), size_text(one.size), *_columns(one)) for one in copies]
        output.table(("DATE", "SIZE", "CHATS", "MESSAGES"), rows)
        output.note("To restore one: ollm chats restore DATE")
    else:
        output.note("No copies yet. The app makes one each day while it is open.")
    return OK


def _columns(copy: DailyCopy) -> tuple[str, str]:
    counts = counts_of(copy.path)
    return f"{counts.chats:,}", f"{counts.messages:,}"


def _chosen(typed: str, copies: list[DailyCopy]) -> DailyCopy:
    hint = "`ollm chats restore` lists the copies."
    try:
        day = date.fromisoformat(typed)
    except ValueError:
        raise UsageError("This is not a date. Write it as 2026-11-24.", hint) from None
    copy = next((one for one in copies if one.day == day), None)
    if copy is None:
        raise UsageError(f"There is no copy of {day}.", hint)
    return copy


def _question(path: Path, copy: DailyCopy, of_copy: Counts) -> str:
    if not is_there(path):
        return f"Restore {_words(of_copy)} of {copy.day}?"
    return (
        f"Replace {_words(counts_of(path))} by {_words(of_copy)} of {copy.day}?"
        " The present ones are kept aside."
    )


def _words(counts: Counts) -> str:
    return f"{counted(counts.chats, 'chat')} with {counted(counts.messages, 'message')}"
