"""`ollm chats`: search in saved chats, list them and print one."""

import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.output import ERROR, OK, Output, UsageError
from ollm_tui.cli.settings import load_for
from ollm_tui.cli.stop import stopping
from ollm_tui.config.paths import default_paths
from ollm_tui.config.regular_file import is_there
from ollm_tui.decode.clean import clean, clean_line
from ollm_tui.decode.counted import counted
from ollm_tui.protocol.codec import message_to_json
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.store.conversations import FILE_NAME, ConversationStore, open_store
from ollm_tui.store.rows import ConversationSummary, StoredMessage
from ollm_tui.store.search.lookup import SearchHit
from ollm_tui.store.search.query import SearchQuery, parse_query
from ollm_tui.store.search.service import ChatSearch

DEFAULT_LIMIT: Final = 20
UNTITLED: Final = "Empty chat"
Work = Callable[[Arguments, Output, Path], Awaitable[int]]


def run_chats(arguments: Arguments, output: Output) -> int:
    """Run one of the actions; return its exit code, also after a signal."""
    if arguments.limit is not None and arguments.limit < 1:
        raise UsageError("--limit takes a whole number from 1.")
    actions: Mapping[str, Work] = {"list": _list, "show": _show}
    action = arguments.action or "list"
    work = partial(_search, _query(arguments)) if action == "search" else actions[action]
    paths = default_paths()
    load_for(paths, os.environ, arguments.flags, output)  # mentions problems of the settings
    return anyio.run(_run, partial(work, arguments, output, paths.data_dir / FILE_NAME))


async def _run(work: Callable[[], Awaitable[int]]) -> int:
    failure: AIError | None = None
    codes: list[int] = []
    with stopping() as stop:
        try:
            codes.append(await work())
        except AIError as error:
            failure = error
    if failure is not None:
        raise failure
    return codes[0] if codes else stop.exit_code


def _query(arguments: Arguments) -> SearchQuery:
    # The shell has removed the quotation marks of words that belong together.
    words = (f'"{word}"' if " " in word and '"' not in word else word for word in arguments.words)
    query = parse_query(" ".join(words))
    if query.notes:
        raise UsageError(query.notes[0])
    if query.is_empty:
        raise UsageError("There is nothing to search for.", "Try: ollm chats search WORDS")
    return query


async def _search(query: SearchQuery, arguments: Arguments, output: Output, path: Path) -> int:
    search = ChatSearch(path)
    try:
        await search.update(partial(_draw_progress, output))
        if output.is_watched:
            output.draw("")
        results = await search.search(query, limit=arguments.limit or DEFAULT_LIMIT)
    finally:
        await search.close()
    if results.notice is not None:
        output.note(results.notice)
    for hit in results.hits:
        if arguments.as_json:
            output.json(_hit_json(hit), is_answer=True)
        else:
            _print_hit(hit, output)
    if not results.hits:
        output.note("No message matches.")
    return OK if results.hits else ERROR


def _draw_progress(output: Output, done: int, total: int) -> None:
    if output.is_watched and done < total:
        output.draw(f"Indexing: {done:,} of {counted(total, 'message')}")


def _hit_json(hit: SearchHit) -> JsonObject:
    return {
        "type": "match",
        "chat": hit.chat_id,
        "title": hit.chat_title,
        "message": hit.message_id,
        "role": hit.role,
        "model": hit.model,
        "created_at": _moment(hit.created_ms),
        "text": hit.snippet.text,
        "marks": [list(mark) for mark in hit.snippet.marks],
    }


def _print_hit(hit: SearchHit, output: Output) -> None:
    title = clean_line(hit.chat_title).strip() or UNTITLED
    output.line(f"{_time(hit.created_ms)}  {clean_line(hit.role)}  {title}  ({hit.chat_id})")
    output.line(f"    {clean_line(hit.snippet.text)}")


async def _list(arguments: Arguments, output: Output, path: Path) -> int:
    async with AsyncExitStack() as stack:
        store = await _open(stack, path, output)
        chats = await store.list(limit=arguments.limit or DEFAULT_LIMIT) if store else ()
    if arguments.as_json:
        output.json([_chat_json(chat) for chat in chats], indent=2)
    elif chats:
        rows = [
            (
                chat.id,
                _time(chat.updated_ms),
                str(chat.message_count),
                clean_line(chat.model or ""),
                clean_line(chat.title).strip() or UNTITLED,
            )
            for chat in chats
        ]
        output.table(("ID", "CHANGED", "MESSAGES", "MODEL", "TITLE"), rows)
    if not chats:
        output.note("No saved chats yet.")
    return OK if chats else ERROR


def _chat_json(chat: ConversationSummary) -> JsonObject:
    return {
        "id": chat.id,
        "title": chat.title,
        "updated_at": _moment(chat.updated_ms),
        "messages": chat.message_count,
        "model": chat.model,
    }


async def _show(arguments: Arguments, output: Output, path: Path) -> int:
    async with AsyncExitStack() as stack:
        store = await _open(stack, path, output)
        chat = await store.load(arguments.name.strip()) if store else None
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


async def _open(stack: AsyncExitStack, path: Path, output: Output) -> ConversationStore | None:
    """Open the chats; None if there are none, since opening them would make the file."""
    if not await anyio.to_thread.run_sync(is_there, path):
        return None
    store = await stack.enter_async_context(open_store(path))
    if store.notice is not None:
        output.note(store.notice)
    return store


def _time(milliseconds: int) -> str:
    return _formatted(milliseconds, lambda then: f"{then.astimezone():%Y-%m-%d %H:%M}")


def _moment(milliseconds: int) -> str:
    return _formatted(milliseconds, lambda then: then.isoformat(timespec="seconds"))


def _formatted(milliseconds: int, write: Callable[[datetime], str]) -> str:
    try:
        return write(datetime.fromtimestamp(milliseconds / 1000, UTC))
    except (OSError, OverflowError, ValueError):  # a damaged file
        return ""
