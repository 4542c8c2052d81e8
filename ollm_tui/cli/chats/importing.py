"""`ollm chats import`: chats of other programs, and exports of this one, into the store."""

from pathlib import Path
from typing import Final

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.output import ERROR, OK, Output
from ollm_tui.decode.counted import counted
from ollm_tui.exchange.importing import ImportResult, import_files
from ollm_tui.exchange.reading import ImportFile
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.store.conversations import ConversationStore, open_store

_MAX_PROBLEMS: Final = 20


async def import_chats(arguments: Arguments, output: Output, path: Path) -> int:
    """Import files; what was done is said also if it is stopped."""
    async with open_store(path) as store:
        if store.notice is not None:
            output.note(store.notice)
        return await _import(arguments, output, store)


async def _import(arguments: Arguments, output: Output, store: ConversationStore) -> int:
    if not store.saves:
        raise AIError(ErrorCode.PERMISSION_DENIED, "Nothing was imported: chats cannot be saved.")
    result = ImportResult()

    def report(file: ImportFile, result: ImportResult) -> None:
        if output.is_watched:
            share = f"{file.position / file.size:.0%} " if file.size else ""
            output.draw(f"{file.path.name}: {share}{counted(result.chats, 'chat')}")

    try:
        await import_files(arguments.chats.sources, store.records, report, result)
    finally:
        if output.is_watched:
            output.draw("")
        _say(result, arguments, output)
    return ERROR if result.problems else OK


def _say(result: ImportResult, arguments: Arguments, output: Output) -> None:
    for path, problem in result.problems[:_MAX_PROBLEMS]:
        output.note(f"{path}: {problem}")
    if (left := len(result.problems) - _MAX_PROBLEMS) > 0:
        output.note(f"And {left:,} more.")
    if arguments.as_json:
        output.json(
            {
                "chats": result.chats,
                "continued": result.continued,
                "unchanged": result.unchanged,
                "messages": result.messages,
                "problems": [{"file": str(path), "text": text} for path, text in result.problems],
            }
        )
        return
    added = f"Imported {counted(result.chats, 'chat')}"
    if result.continued:
        added += f" and continued {counted(result.continued, 'chat')}"
    added += f" ({counted(result.messages, 'message')})."
    if result.unchanged:
        is_there = "was" if result.unchanged == 1 else "were"
        added += f" {counted(result.unchanged, 'chat')} {is_there} there already."
    output.note(added)
