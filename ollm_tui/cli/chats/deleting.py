"""`ollm chats undelete`, `purge` and `list --deleted`."""

import shlex
from contextlib import AsyncExitStack
from pathlib import Path

from anyio import to_thread

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.chats.reading import UNTITLED, moment_text, open_chats, time_text
from ollm_tui.cli.chats.writing import is_confirmed, some_chats
from ollm_tui.cli.output import ERROR, OK, Output
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import counted
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.store.copies.purging import purge_with_copies
from ollm_tui.store.deletions import KEPT_MS, Deletion
from ollm_tui.store.search.index_file import IndexPlace
from ollm_tui.store.search.service import ChatSearch


async def list_deletions(arguments: Arguments, output: Output, path: Path) -> int:
    """Write a line for each deletion, the newest first."""
    async with AsyncExitStack() as stack:
        store = await open_chats(stack, path, output)
        deletions = await store.deletions.listed() if store else ()
    shown = deletions[: arguments.chats.limit]
    if arguments.as_json:
        output.json([_deletion_json(one) for one in shown], indent=2)
    elif shown:
        rows = [
            (
                one.conversation_id,
                time_text(one.deleted_ms),
                time_text(one.deleted_ms + KEPT_MS),
                "chat" if one.message_id is None else "branch",
                str(one.messages),
                clean_line(one.title).strip() or UNTITLED,
            )
            for one in shown
        ]
        output.table(("ID", "DELETED", "KEPT UNTIL", "WHAT", "MESSAGES", "TITLE"), rows)
    if not shown:
        output.note("Nothing can be restored.")
    return OK if shown else ERROR


def _deletion_json(deletion: Deletion) -> JsonObject:
    return {
        "id": deletion.conversation_id,
        "title": deletion.title,
        "deleted_at": moment_text(deletion.deleted_ms),
        "message_id": deletion.message_id,
        "messages": deletion.messages,
    }


async def undelete_chat(arguments: Arguments, output: Output, path: Path) -> int:
    """Undo the last deletion of a chat, or of messages in it."""
    part = arguments.chats.ids[0].strip()
    async with AsyncExitStack() as stack:
        store = await some_chats(stack, path, output)
        ids = {one.conversation_id for one in await store.deletions.listed()}
        matching = [one for one in ids if part and part in one]
        if len(matching) != 1 and part not in matching:
            what = "Several deleted chats have" if matching else "No deletion has"
            raise AIError(
                ErrorCode.BAD_REQUEST,
                f"{what} {clean_line(part)!r} in the id.",
                hint="`ollm chats list --deleted` shows the ids.",
            )
        chat_id = part if part in matching else matching[0]
        deletion = await store.deletions.undelete(chat_id)
    if deletion is None:  # another program was faster
        raise AIError(ErrorCode.BAD_REQUEST, "This was just restored or removed.")
    title = clean_line(deletion.title).strip() or UNTITLED
    messages = counted(deletion.messages, "message")
    output.note(f'Restored {messages} of "{title}".')
    return OK


async def purge_chats(arguments: Arguments, output: Output, path: Path) -> int:
    """Remove all that was deleted, from the copies too, after confirmation."""
    async with AsyncExitStack() as stack:
        store = await some_chats(stack, path, output)
        deletions = await store.deletions.listed()
        if not deletions:
            output.note("Nothing to remove.")
            return OK
        messages = counted(sum(one.messages for one in deletions), "message")
        question = (
            f"Remove {counted(len(deletions), 'deletion')} with {messages} permanently,"
            " also from the copies?"
        )
        if not arguments.yes and not await is_confirmed(question, output):
            output.note("Nothing was removed.")
            return ERROR

        def report(number: int, count: int) -> None:
            if output.is_watched:
                output.draw(f"Copy {number} of {count}")

        before_ms = max(one.deleted_ms for one in deletions) + 1
        try:
            unchanged = await purge_with_copies(store.deletions, path, before_ms, report)
            await _leave_the_index(path)
        finally:
            if output.is_watched:
                output.draw("")
    output.note(f"Removed {messages} permanently.")
    for copy in unchanged:
        output.note(
            f"{copy.path.name} may still have them: {copy.reason}. "
            f"To remove the whole copy: rm {shlex.quote(str(copy.path))}"
        )
    return ERROR if unchanged else OK


async def _leave_the_index(path: Path) -> None:
    """Take what was removed out of the search index, if there is one."""
    if not await to_thread.run_sync(IndexPlace(path).index.exists):
        return
    search = ChatSearch(path)
    try:
        await search.update(lambda _done, _total: None)
    finally:
        await search.close()
