"""The open chat as text or as a file, in one of the formats of an export."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.store.conversations import ConversationStore, now_ms
from ollm_tui.store.journal import ConversationJournal
from ollm_tui.store.records import ChatRecord, MessageRecord
from ollm_tui.store.rows import ConversationSettings, ended_state

if TYPE_CHECKING:
    from ollm_tui.exchange.formats import ExportFormat

_UNSAVED: Final = "unsaved"


class ChatExports:
    """Writes chats that are open, saved or not."""

    def __init__(self, store: ConversationStore | None) -> None:
        self._store = store

    async def text(self, client: ChatClient, form: "ExportFormat") -> str:
        """Return the open chat as text.

        Raises:
            AIError: it is empty, or cannot be read.
        """
        record = await self._record(client)
        return await to_thread.run_sync(lambda: "".join(form.pieces(record)))

    async def write(
        self, client: ChatClient, form: "ExportFormat", path: Path | None, *, replaces: bool = False
    ) -> Path:
        """Write the open chat to a file, by default to one named by its title; return its path.

        Raises:
            AIError: it cannot be written; `NameTaken` if there is a file and `replaces` is False.
        """
        record = await self._record(client)
        return await to_thread.run_sync(
            partial(write_record, record, form, path, replaces=replaces)
        )

    async def _record(self, client: ChatClient) -> ChatRecord:
        if not client.conversation.messages:
            raise AIError(ErrorCode.BAD_REQUEST, "This chat is empty.")
        journal = client.saving.journal
        if self._store is not None and isinstance(journal, ConversationJournal) and journal.path:
            with suppress(AIError):  # the open chat has all of it
                stored = await self._store.records.read(journal.conversation_id)
                if stored is not None and _is_whole(stored, journal.path[-1], client):
                    return replace(stored, leaf_id=journal.path[-1])
        return _unsaved(client.conversation)


def write_record(
    record: ChatRecord, form: "ExportFormat", path: Path | None, *, replaces: bool
) -> Path:
    """Write a chat to a file, by default to one named by its title; return its path. Blocks.

    Raises:
        AIError: it cannot be written; `NameTaken` if there is a file and `replaces` is False.
    """
    # Imported with the first export: no other chat pays for it.
    from ollm_tui.exchange.new_file import free_name, write_file
    from ollm_tui.exchange.outline import title_text

    if path is None:
        path = free_name(Path(), title_text(record), form.suffixes[0])
    write_file(path, form.pieces(record), replaces=replaces)
    return path


def _is_whole(stored: ChatRecord, leaf_id: str, client: ChatClient) -> bool:
    """Whether the store has the end of the open chat, perhaps saved only now."""
    leaf = next((one for one in stored.messages if one.id == leaf_id), None)
    if leaf is None or client.saving.problem is None:
        return leaf is not None
    return leaf.message == client.conversation.messages[-1]


def _unsaved(conversation: Conversation) -> ChatRecord:
    """Return the record of a chat that is not in the store."""
    at = now_ms()
    messages = tuple(_messages(conversation))
    return ChatRecord(
        id=f"{_UNSAVED}-{at}",
        title=conversation.title or "",
        title_by="question" if conversation.own_title is None else "person",
        created_ms=at,
        updated_ms=at,
        settings=ConversationSettings.of(conversation),
        leaf_id=messages[-1].id,
        messages=messages,
    )


def _messages(conversation: Conversation) -> Iterator[MessageRecord]:
    parent_id: str | None = None
    for number, message in enumerate(conversation.messages, 1):
        record = MessageRecord(
            id=f"{_UNSAVED}-{now_ms()}-{number}",
            parent_id=parent_id,
            message=message,
            state=ended_state(message),
            created_ms=0,
            updated_ms=0,
            model=conversation.model if message.role == "assistant" else None,
        )
        parent_id = record.id
        yield record
