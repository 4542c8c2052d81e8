"""The branches of a chat, for a front end that has it open."""

from collections.abc import Awaitable, Callable

from ollm_tui.chat.client import ChatClient
from ollm_tui.store.branches import Branch, ChatNews
from ollm_tui.store.conversations import ConversationStore
from ollm_tui.store.journal import ConversationJournal

Open = Callable[[str, str | None], Awaitable[ChatClient]]


class ChatBranches:
    """Lists the branches of an open chat, opens one, and tells what other programs add."""

    def __init__(self, store: ConversationStore | None, open_branch: Open) -> None:
        self._store = store
        self._open = open_branch

    async def listed(self, client: ChatClient) -> tuple[Branch, ...]:
        """Give all branches, the one that was continued last first; none for an unsaved chat.

        Raises:
            AIError: they cannot be read.
        """
        journal = self._journal(client)
        if self._store is None or journal is None or not journal.path:
            return ()
        return await self._store.branches(journal)

    async def news(self, client: ChatClient) -> ChatNews | None:
        """Tell what other programs did to the chat since this was asked last; None for nothing.

        Raises:
            AIError: it cannot be read.
        """
        journal = self._journal(client)
        if self._store is None or journal is None:
            return None
        return await self._store.news(journal)

    async def open(self, client: ChatClient, branch: Branch) -> ChatClient:
        """Go on with another branch of the same chat.

        Raises:
            AIError: it cannot be read.
        """
        journal = self._journal(client)
        return await self._open(journal.conversation_id if journal else "", branch.leaf_id)

    def _journal(self, client: ChatClient) -> ConversationJournal | None:
        journal = client.saving.journal
        return journal if isinstance(journal, ConversationJournal) else None
