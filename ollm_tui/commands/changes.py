"""Commands about what tools changed in this chat: /diff and /undo."""

from collections.abc import Sequence
from typing import Final

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Completion, command
from ollm_tui.commands.tool_host import ByCommands, ChangedFile, TakenBack
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import counted

MAX_ROWS: Final = 1_000
"""Lines of diffs that are shown at once."""
_MAX_NAMED: Final = 50


def _parts(_host: CommandHost, _argument: str) -> Sequence[Completion]:
    return [Completion("call", "only the last call, not all of the last answer")]


@command("undo", usage="[call]", complete=_parts)
async def undo(host: CommandHost, argument: str) -> None:
    """Take back what tools changed for the last answer."""
    word = argument.strip().casefold()
    if word not in {"", "call"}:
        host.say("/undo takes back the last answer's changes, /undo call the last call's.", "error")
        return
    taken = await host.changes.undo(only_call=word == "call")
    if not taken:
        by_commands = _by_commands(await host.changes.by_commands())
        no = by_commands or ["Tools have changed no files in this chat."]
        more = "/edit changes your last message, and /undelete restores deleted ones."
        host.say(" ".join([*no, more]))
        return
    kept = [one.problem for one in taken if one.problem is not None]
    host.say("\n".join([*_done(taken), *kept]), "warning" if kept else "info")


def _done(taken: Sequence[TakenBack]) -> list[str]:
    done = [f"{one.shown} was {one.what}." for one in taken if one.problem is None]
    return done or ["Nothing was taken back."]


@command("diff", usage="[FILE]")
async def diff(host: CommandHost, argument: str) -> None:
    """Show what tools changed in this chat."""
    files = await host.changes.listed()
    by_commands = _by_commands(await host.changes.by_commands())
    wanted = [one for one in files if argument.strip() in {"", one.shown}]
    if not files:
        host.say("\n".join(by_commands) or "Tools have changed no files in this chat.")
    elif not wanted:
        listed = ", ".join(one.shown for one in files)
        host.say(f"Tools have not changed {clean_name(argument.strip())}, but: {listed}.", "error")
    else:
        host.say("\n".join([*_rows(wanted), *([] if argument.strip() else by_commands)]))


def _by_commands(changes: ByCommands) -> list[str]:
    """Say which files commands changed, which nothing takes back."""
    rows: list[str] = []
    if changes.files:
        named = [f"{clean_name(name)} ({what})" for name, what in changes.files.items()]
        more = [f"and {len(named) - _MAX_NAMED:,} more"] if len(named) > _MAX_NAMED else []
        listed = ", ".join([*named[:_MAX_NAMED], *more])
        rows.append(
            f"While commands ran, these files changed, which /undo cannot restore: {listed}."
        )
    if not changes.is_whole:
        rows.append("The folder has too many files to see all that commands changed.")
    return rows


def _rows(files: Sequence[ChangedFile]) -> list[str]:
    rows: list[str] = []
    for one in files:
        rows += one.text.split("\n")
        if not one.is_current:
            rows.append(f"[{one.shown} has changed since; this is what the tools did.]")
    left = len(rows) - MAX_ROWS
    if left > 0:
        more = f"[{counted(left, 'more line')}; /diff FILE shows one file.]"
        return [*rows[:MAX_ROWS], more]
    return rows
