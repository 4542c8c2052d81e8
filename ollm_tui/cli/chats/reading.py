"""`ollm chats list` and `show`, and which chat is meant by a part of an id."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.chats.arguments import ChatOptions
from ollm_tui.cli.output import ERROR, OK, Output, UsageError
from ollm_tui.config.regular_file import is_there
from ollm_tui.decode.clean import clean, clean_line
from ollm_tui.decode.counted import size_text
from ollm_tui.protocol.codec import message_to_json
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.runtime.saved.chats import chat_filter
from ollm_tui.store.conversations import ConversationStore, open_store
from ollm_tui.store.listing import CHAT_SORTS, ChatFilter
from ollm_tui.store.rows import ConversationSummary, StoredConversation, StoredMessage
from ollm_tui.store.tags import tag_of

DEFAULT_LIMIT: Final = 20
UNTITLED: Final = "Empty chat"
_LAST: Final = "last"


async def list_chats(arguments: Arguments, output: Output, path: Path) -> int:
    """Write a line for each chat that is chosen, the pinned ones first."""
    options = arguments.chats
    chosen = _chosen(options)
    async with AsyncExitStack() as stack:
        store = await open_chats(stack, path, output)
        chats = await _listed(store, chosen, options) if store else []
    if arguments.as_json:
        output.json([_chat_json(chat) for chat in chats], indent=2)
    elif chats:
        rows = [
            (
                chat.id,
                time_text(chat.updated_ms),
                str(chat.total_messages),
                size_text(chat.size_bytes),
                clean_line(chat.model or ""),
                ("* " if chat.is_pinned else "") + (clean_line(chat.title).strip() or UNTITLED),
                " ".join(f"#{clean_line(tag)}" for tag in chat.tags),
            )
            for chat in chats
        ]
        output.table(("ID", "CHANGED", "MESSAGES", "SIZE", "MODEL", "TITLE", "TAGS"), rows)
    if not chats:
        is_all = chosen == ChatFilter()
        output.note("No saved chats yet." if is_all else "No chat matches.")
    return OK if chats else ERROR


def _chosen(options: ChatOptions) -> ChatFilter:
    chosen, notes = chat_filter(" ".join(options.words), is_archived=options.is_archived)
    if notes:
        raise UsageError(notes[0])
    tags = (*chosen.tags, *(tag_of(tag) for tag in options.tags))
    return replace(chosen, tags=tags, is_pinned=options.is_pinned)


async def _listed(
    store: ConversationStore, chosen: ChatFilter, options: ChatOptions
) -> list[ConversationSummary]:
    sort = next((one for one in CHAT_SORTS if one == options.sort), CHAT_SORTS[0])
    numbers = await store.listing.order(chosen, sort, is_turned=options.is_turned)
    shown = numbers[: options.limit or DEFAULT_LIMIT]
    rows = await store.listing.rows(shown)
    return [rows[number] for number in shown if number in rows]


def _chat_json(chat: ConversationSummary) -> JsonObject:
    return {
        "id": chat.id,
        "title": chat.title,
        "created_at": moment_text(chat.created_ms),
        "updated_at": moment_text(chat.updated_ms),
        "messages": chat.message_count,
        "messages_of_all_branches": chat.total_messages,
        "size_bytes": chat.size_bytes,
        "model": chat.model,
        "tags": list(chat.tags),
        "pinned": chat.is_pinned,
        "archived": chat.is_archived,
    }


async def show_chat(arguments: Arguments, output: Output, path: Path) -> int:
    """Write the messages of the branch that was continued last."""
    async with AsyncExitStack() as stack:
        store = await open_chats(stack, path, output)
        chat = await _named(arguments.chats.ids[0], store) if store else None
    if chat is None:
        output.note("No saved chats yet.")
        return ERROR
    for stored in chat.messages:
        if arguments.as_json:
            output.json(_message_json(stored), is_answer=True)
        else:
            output.line(f"{clean_line(stored.message.role)}:")
            output.answer(f"{clean(stored.message.text)}\n\n")
    return OK


def _message_json(stored: StoredMessage) -> JsonObject:
    return {"type": "message", "id": stored.id, **message_to_json(stored.message)}


async def open_chats(stack: AsyncExitStack, path: Path, output: Output) -> ConversationStore | None:
    """Open the chats; None if there are none, since opening them would make the file."""
    if not is_there(path):
        return None
    store = await stack.enter_async_context(open_store(path))
    if store.notice is not None:
        output.note(store.notice)
    return store


def time_text(milliseconds: int) -> str:
    """Return a local time, empty if it is unusable."""
    return _formatted(milliseconds, lambda then: f"{then.astimezone():%Y-%m-%d %H:%M}")


def moment_text(milliseconds: int) -> str:
    """Return a time in ISO 8601, empty if it is unusable."""
    return _formatted(milliseconds, lambda then: then.isoformat(timespec="seconds"))


def _formatted(milliseconds: int, write: Callable[[datetime], str]) -> str:
    try:
        return write(datetime.fromtimestamp(milliseconds / 1000, UTC))
    except (OSError, OverflowError, ValueError):  # a damaged file
        return ""


async def _named(name: str, store: ConversationStore) -> StoredConversation:
    return await store.load(await id_named(name, store))


async def id_named(name: str, store: ConversationStore) -> str:
    """Return the id that is meant by an id, a unique part of one, or `last`.

    Raises:
        AIError: there is no such chat, or there are several.
    """
    part = name.strip()
    if part == _LAST:
        latest = await store.latest()
        if latest is None:
            raise AIError(ErrorCode.BAD_REQUEST, "No saved chats yet.")
        return latest.id
    ids = await store.records.matching(part) if part else []
    if not ids:
        hint = "`ollm chats list` shows the ids."
        raise AIError(ErrorCode.BAD_REQUEST, f"There is no such chat: {name}.", hint=hint)
    if len(ids) > 1 and ids[0] != part:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"Several chats have {part!r} in their id.",
            hint="Type more of it; `ollm chats list` shows the ids.",
        )
    return ids[0]
