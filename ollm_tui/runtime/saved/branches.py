"""The branches of a saved chat that is open, and under which ids its messages are saved."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import anyio.to_thread

from ollm_tui.chat.client import ChatClient
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.store.branches import Branch, ChatNews
from ollm_tui.store.conversations import ConversationStore
from ollm_tui.store.journal import ConversationJournal
from ollm_tui.store.marks import MARKED
from ollm_tui.store.tree import Stretch
from ollm_tui.tools.writing.journal import ChangeJournal

OpenBranch = Callable[[str, str | None], Awaitable[ChatClient]]


class ChatBranches:
    """Lists, opens and copies branches of an open chat, and returns what others added.

    It renames the chat too, which is the same on all branches. Every method raises `AIError` if the
    chat cannot be read or written.
    """

    def __init__(self, store: ConversationStore | None, open_branch: OpenBranch) -> None:
        """Use the saved chats, if chats are saved; `open_branch` continues one."""
        self._store = store
        self._open = open_branch

    async def listed(self, client: ChatClient) -> tuple[Branch, ...]:
        """Return all branches, the one that was continued last first; none for an unsaved chat."""
        journal = _journal_of(client)
        if self._store is None or journal is None or not journal.path:
            return ()
        return await self._store.branches(journal)

    def ids(self, client: ChatClient) -> Sequence[str]:
        """Return the ids of the saved messages of an open chat, in their order."""
        journal = _journal_of(client)
        return journal.path if self._store is not None and journal is not None else ()

    async def news(self, client: ChatClient) -> ChatNews | None:
        """Return what other programs changed since the last call; None for no change."""
        journal = _journal_of(client)
        if self._store is None or journal is None:
            return None
        return await self._store.news(journal)

    async def open(self, client: ChatClient, branch: Branch) -> ChatClient:
        """Continue another branch of the same chat."""
        journal = _journal_of(client)
        return await self._open(journal.conversation_id if journal else "", branch.leaf_id)

    async def remember(self, client: ChatClient) -> None:
        """Have the branch of an open chat shown where the chat is opened next."""
        journal = _journal_of(client)
        if self._store is not None and journal is not None:
            await self._store.trees.show(journal)

    async def siblings(self, client: ChatClient) -> Mapping[int, Sequence[str]]:
        """Return the ids of the messages at each fork of the branch shown, by its positions."""
        journal = _journal_of(client)
        if self._store is None or journal is None or not journal.path:
            return {}
        return await self._store.trees.siblings(journal)

    async def tree(self, client: ChatClient) -> tuple[Stretch, ...]:
        """Return the whole chat as the stretches between its forks; none for an unsaved one."""
        chat_id = chat_id_of(client)
        if self._store is None or chat_id is None:
            return ()
        return await self._store.trees.read(chat_id)

    async def fork(self, chat_id: str, message_id: str) -> str:
        """Copy a message and those before it to a chat of its own; return its id.

        What tools changed there is copied too, so that `/diff` and `/undo` know it.
        """
        store = self._saved
        fresh = await store.trees.fork(chat_id, message_id)
        messages = (await store.load(fresh)).messages
        calls = {call.id for one in messages for call in one.message.tool_calls}
        if calls and store.saves:
            journal = ChangeJournal(store.changes_dir / chat_id)
            copy = partial(journal.copy_to, store.changes_dir / fresh, calls)
            with suppress(OSError):  # the chat is there; only /diff and /undo begin anew
                await anyio.to_thread.run_sync(copy)
        return fresh

    async def mark(self, client: ChatClient, position: int, *, is_marked: bool) -> bool:
        """Mark a message of an open chat, or take its mark away; False if that is impossible now.

        In a chat that is not saved, the mark lasts as long as the chat is open.
        """
        messages, journal = client.conversation.messages, _journal_of(client)
        metadata = dict(messages[position].metadata)
        metadata.pop(MARKED, None)
        marked = replace(
            messages[position], metadata=metadata | ({MARKED: True} if is_marked else {})
        )
        if self._store is not None and journal is not None:
            if position >= len(journal.path):
                return False
            if not await self._store.marks.set(journal.path[position], is_marked=is_marked):
                return False
            journal.adopt(position, marked)
        messages[position] = marked
        return True

    async def times(self, client: ChatClient) -> Mapping[str, int]:
        """Return when the messages of an open chat were begun, by id; none for an unsaved one."""
        journal = _journal_of(client)
        if self._store is None or journal is None or not journal.path:
            return {}
        return await self._store.marks.times(journal.conversation_id)

    @property
    def _saved(self) -> ConversationStore:
        if self._store is None:
            raise AIError(ErrorCode.BAD_REQUEST, "Chats are not saved here.")
        return self._store

    async def rename(self, client: ChatClient, title: str) -> None:
        """Set the title of the chat; that of an unsaved chat is kept while it is open."""
        journal = _journal_of(client)
        if self._store is not None and journal is not None:
            await self._store.rename(journal.conversation_id, title, watch=journal.watch)
        client.conversation.own_title = title


def _journal_of(client: ChatClient) -> ConversationJournal | None:
    journal = client.saving.journal
    return journal if isinstance(journal, ConversationJournal) else None


def position_of(client: ChatClient, message_id: str) -> int | None:
    """Return the position of a saved message in an open chat; None if it is not there."""
    journal = _journal_of(client)
    path = journal.path if journal else ()
    return path.index(message_id) if message_id in path else None


def chat_id_of(client: ChatClient) -> str | None:
    """Return the id under which a conversation is saved; None when it is not, or not yet."""
    journal = _journal_of(client)
    return journal.conversation_id if journal and client.conversation.messages else None
