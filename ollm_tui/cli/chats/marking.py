"""`ollm chats rename`, `tag`, `pin`, `archive`, and what undoes them."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.chats.reading import id_named
from ollm_tui.cli.chats.writing import some_chats
from ollm_tui.cli.output import OK, Output, UsageError
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import counted
from ollm_tui.store.listing import ChatListing
from ollm_tui.store.rows import TITLE_LENGTH
from ollm_tui.store.tags import changed_tags

Mark = Callable[[ChatListing, str], Awaitable[None]]


async def rename_chat(arguments: Arguments, output: Output, path: Path) -> int:
    """Give a chat another title."""
    title = " ".join(" ".join(arguments.chats.title).split())[:TITLE_LENGTH].strip()
    if not title:
        raise UsageError("The title is empty.")
    async with AsyncExitStack() as stack:
        store = await some_chats(stack, path, output)
        await store.rename(await id_named(arguments.chats.ids[0], store), title)
    output.note(f'Renamed to "{clean_line(title)}".')
    return OK


async def tag_chat(arguments: Arguments, output: Output, path: Path) -> int:
    """Change the tags of a chat, and write those that it has."""
    options = arguments.chats
    changes = [*options.tags, *(f"-{tag}" for tag in options.removed)]
    async with AsyncExitStack() as stack:
        store = await some_chats(stack, path, output)
        chat_id = await id_named(options.ids[0], store)
        record = await store.records.read(chat_id)
        tags = changed_tags(record.tags if record is not None else (), changes)
        if changes:
            await store.listing.tag(chat_id, tags)
    if arguments.as_json:
        output.json(list(tags))
    elif tags:
        output.line(" ".join(f"#{clean_line(tag)}" for tag in tags))
    else:
        output.note("The chat has no tags.")
    return OK


async def pin_chats(arguments: Arguments, output: Output, path: Path) -> int:
    """List chats first."""

    async def pin(listing: ChatListing, chat_id: str) -> None:
        await listing.pin(chat_id)

    return await _mark(arguments, output, path, pin, "Pinned")


async def unpin_chats(arguments: Arguments, output: Output, path: Path) -> int:
    """List chats in their place again."""

    async def unpin(listing: ChatListing, chat_id: str) -> None:
        await listing.pin(chat_id, is_pinned=False)

    return await _mark(arguments, output, path, unpin, "Unpinned")


async def archive_chats(arguments: Arguments, output: Output, path: Path) -> int:
    """Take chats out of the list."""

    async def archive(listing: ChatListing, chat_id: str) -> None:
        await listing.archive(chat_id)

    return await _mark(arguments, output, path, archive, "Archived")


async def unarchive_chats(arguments: Arguments, output: Output, path: Path) -> int:
    """Return chats to the list."""

    async def unarchive(listing: ChatListing, chat_id: str) -> None:
        await listing.archive(chat_id, is_archived=False)

    return await _mark(arguments, output, path, unarchive, "Returned to the list:")


async def _mark(arguments: Arguments, output: Output, path: Path, mark: Mark, done: str) -> int:
    async with AsyncExitStack() as stack:
        store = await some_chats(stack, path, output)
        ids = list(dict.fromkeys([await id_named(name, store) for name in arguments.chats.ids]))
        for chat_id in ids:
            await mark(store.listing, chat_id)
    output.note(f"{done} {counted(len(ids), 'chat')}.")
    return OK
