"""`ollm chats export` and `rm`."""

from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Final

from anyio import to_thread

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.chats.reading import id_named, open_chats
from ollm_tui.cli.model_actions import confirm
from ollm_tui.cli.output import ERROR, OK, Output, UsageError
from ollm_tui.config.new_file import NameTaken
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import counted, size_text
from ollm_tui.exchange.formats import DEFAULT_FORMAT, FORMATS, ExportFormat, format_of
from ollm_tui.exchange.new_file import write_file
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.store.conversations import ConversationStore
from ollm_tui.store.deletions import KEPT_DAYS

_STDOUT: Final = "-"


async def export_chat(arguments: Arguments, output: Output, path: Path) -> int:
    """Write a chat to a file or to standard output."""
    options = arguments.chats
    async with AsyncExitStack() as stack:
        store = await some_chats(stack, path, output)
        record = await store.records.read(await id_named(options.ids[0], store))
    if record is None:  # deleted by another program meanwhile
        raise AIError(ErrorCode.BAD_REQUEST, "This chat was just deleted.")
    pieces = _format(arguments).pieces(record, is_tree=options.is_tree)
    if options.target is None or str(options.target) == _STDOUT:
        for piece in pieces:
            output.answer(piece)
        return OK
    write = partial(write_file, options.target, pieces, replaces=options.force)
    try:
        size = await to_thread.run_sync(write)
    except NameTaken as taken:
        raise UsageError(taken.message, "Use --force to replace it.") from taken
    output.note(f"Saved {options.target} ({size_text(size)}).")
    return OK


def _format(arguments: Arguments) -> ExportFormat:
    options = arguments.chats
    if options.export_format is not None:
        return FORMATS[options.export_format]
    by_name = None if options.target is None else format_of(options.target)
    return by_name or FORMATS[DEFAULT_FORMAT]


async def some_chats(stack: AsyncExitStack, path: Path, output: Output) -> ConversationStore:
    """Open the chats, of which there must be some."""
    store = await open_chats(stack, path, output)
    if store is None:
        raise AIError(ErrorCode.BAD_REQUEST, "No saved chats yet.")
    return store


async def remove_chats(arguments: Arguments, output: Output, path: Path) -> int:
    """Delete chats after confirmation."""
    async with AsyncExitStack() as stack:
        store = await some_chats(stack, path, output)
        ids = list(dict.fromkeys([await id_named(name, store) for name in arguments.chats.ids]))
        if not arguments.yes and not await is_confirmed(await _question(ids, store), output):
            output.note("Nothing was deleted.")
            return ERROR
        for chat_id in ids:
            await store.delete(chat_id)
    them = "it" if len(ids) == 1 else "them"
    output.note(
        f"Deleted {counted(len(ids), 'chat')}. "
        f"`ollm chats undelete ID` restores {them} for {KEPT_DAYS} days."
    )
    return OK


async def is_confirmed(question: str, output: Output) -> bool:
    """Ask a question in the terminal."""
    ask = partial(confirm, question, output)
    return await to_thread.run_sync(ask, abandon_on_cancel=True)


async def _question(ids: list[str], store: ConversationStore) -> str:
    if len(ids) > 1:
        return f"Delete {counted(len(ids), 'chat')}?"
    record = await store.records.read(ids[0])
    title = clean_line(record.title) if record is not None else ""
    return f'Delete "{title}"?' if title else "Delete the chat?"
