"""Deleting parts of saved chats, and undoing it: with the same rules wherever it is asked for."""

from typing import TYPE_CHECKING, Final

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ollm_tui.chat.client import ChatClient
    from ollm_tui.frontend.session import ChatSession
    from ollm_tui.runtime.saved.chats import SavedChats
    from ollm_tui.store.deletions import Deletion
    from ollm_tui.store.tree import Extent

IS_OPEN: Final = "This chat is open. Start another one, then delete it."
"""Why a list of chats does not delete one."""


@dataclass(frozen=True, slots=True)
class ChatDeletions:
    """Deletes and restores chats and parts of them.

    The saved chats themselves know what was deleted, so it can be undone on another screen, in
    another chat, and after a restart. All methods raise `AIError` if that fails.
    """

    saved: "SavedChats | None"

    async def delete_chat(self, chat_id: str, revision: int) -> "Deletion | None":
        """Delete a chat, unless it was changed since it was listed; None if it does not exist."""
        return await self._chats.delete(chat_id, revision)

    async def undo(self, chat_id: str | None) -> "Deletion | None":
        """Undo the newest deletion of a chat, else the newest of all; None if there is none."""
        if self.saved is None:
            return None
        own = await self.saved.deletions(chat_id) if chat_id is not None else ()
        return await self._restore(own) or await self._restore(await self.saved.deletions())

    async def undo_chat(self, chat_id: str | None = None) -> "Deletion | None":
        """Restore a deleted chat, by default the one deleted last; None if there is none."""
        if self.saved is None:
            return None
        listed = await self.saved.deletions(chat_id)
        return await self._restore([one for one in listed if one.message_id is None])

    async def _restore(self, listed: "Sequence[Deletion]") -> "Deletion | None":
        """Restore the first that is still there: another program may purge and restore too."""
        for one in listed:
            if (restored := await self._chats.undelete(one)) is not None:
                return restored
        return None

    @property
    def _chats(self) -> "SavedChats":
        return _require(self.saved)


@dataclass(frozen=True, slots=True)
class Deleted:
    """A deletion in the open chat, and what to show after it."""

    deletion: "Deletion"
    client: "ChatClient | None" = None
    """The branch to show; None if the one shown stays, or if the whole chat was deleted."""
    message_id: str | None = None
    """The message there before the deleted ones."""


@dataclass(frozen=True, slots=True)
class OpenChatDeletions:
    """Deletes messages of the open chat, and undoes deletions from there."""

    session: "ChatSession"

    async def must_ask(self, message_id: str) -> "Extent | None":
        """Return what deleting a message would take, if that needs a question.

        It does if the whole chat goes, or more than one question with its answer.
        """
        extent = await self._saved.extent(self._chat_id or "", message_id)
        is_much = extent is not None and (extent.is_chat or extent.exchanges > 1)
        return extent if is_much else None

    async def delete(self, message_id: str) -> Deleted | None:
        """Delete a message and what follows it; None if it does not exist.

        The last message of a chat takes the chat with it.
        """
        runtime, client = self.session.runtime, self.session.client
        chat_id, ids = self._chat_id or "", runtime.branches.ids(client)
        deletion = await self._saved.delete_messages(chat_id, message_id)
        if deletion is None:
            return None
        if deletion.message_id is None or message_id not in ids:
            return Deleted(deletion)
        at = ids.index(message_id)
        before = ids[at - 1] if at else None
        return Deleted(deletion, await runtime.open_chat(chat_id, message_id=before), before)

    async def undo(self) -> "Deletion | None":
        """Undo the newest deletion of the open chat, else the newest of all."""
        return await ChatDeletions(self.session.runtime.saved).undo(self._chat_id)

    def shows(self, deletion: "Deletion") -> bool:
        """Whether what was restored is shown: in the open chat, or in place of an empty one."""
        is_empty = not self.session.client.conversation.messages
        return is_empty or deletion.conversation_id == self._chat_id

    @property
    def _chat_id(self) -> str | None:
        return self.session.runtime.chat_id(self.session.client)

    @property
    def _saved(self) -> "SavedChats":
        return _require(self.session.runtime.saved)


def _require(saved: "SavedChats | None") -> "SavedChats":
    if saved is None:
        raise AIError(ErrorCode.BAD_REQUEST, "Chats are not saved here.")
    return saved
