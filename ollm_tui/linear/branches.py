"""The branches of the open chat, as numbered lists."""

from typing import TYPE_CHECKING

from ollm_tui.decode.counted import counted
from ollm_tui.frontend.chat_words import restored_words
from ollm_tui.frontend.deletions import OpenChatDeletions
from ollm_tui.linear.answer_text import words_of
from ollm_tui.linear.chat import LinearChat
from ollm_tui.linear.saved_chats import SavedChats
from ollm_tui.protocol.errors import AIError
from ollm_tui.store.deletions import KEPT_DAYS

if TYPE_CHECKING:
    from ollm_tui.runtime.saved.branches import ChatBranches


class Branches:
    """Reads out the branches, and does what is chosen there."""

    def __init__(self, chat: LinearChat, saved: SavedChats) -> None:
        self._chat, self._saved = chat, saved
        self._deletions = OpenChatDeletions(chat.session)

    @property
    def _source(self) -> "ChatBranches":
        return self._chat.runtime.branches

    async def next(self, number: str) -> None:
        """Show the next branch of the chat, or one by its number."""
        branches = await self._source.listed(self._chat.session.client)
        if len(branches) < 2:
            self._chat.say("This chat has only one branch.")
            return
        shown = next((at for at, branch in enumerate(branches) if branch.apart == 0), -1)
        text = number.strip()
        is_number = text.isascii() and text.isdigit() and len(text) < 7
        index = int(text) - 1 if is_number else (shown + 1) % len(branches)
        if (text and not is_number) or not 0 <= index < len(branches):
            self._chat.say(f"There are branches 1 to {len(branches)}.", "error")
            return
        client = await self._source.open(self._chat.session.client, branches[index])
        self._chat.say(f"Branch {index + 1} of {len(branches)}.")
        await self._chat.go_to(client)
        await self._source.remember(client)

    async def tree(self, _text: str) -> None:
        """List the branches of the chat, to go to one, copy or delete it."""
        lines = await self._source.tree(self._chat.session.client)
        if not lines:
            self._chat.say("This chat is empty, or not saved.")
            return
        rows = [
            f"Level {line.level + 1}, {'you' if line.role == 'user' else 'answer'}: "
            f"{words_of(line.words) or 'no words'}, {counted(line.messages, 'message')}"
            for line in lines
        ]
        chosen = await self._chat.questions.choose("Branches", rows)
        if chosen is None:
            return
        line = lines[chosen]
        acts = ["Go there", "Copy this branch to a new chat", "Delete it and what follows"]
        act = await self._chat.questions.choose("What to do with this branch", acts)
        if act == 0:
            chat_id = self._chat.runtime.chat_id(self._chat.session.client) or ""
            await self._saved.go_to(chat_id, line.message_id)
        elif act == 1:
            await self._copy(line.end_id)
        elif act == 2 and await self._may_delete(line.message_id):
            await self._delete(line.message_id)

    async def fork(self, _text: str) -> None:
        """Copy the branch to a chat of its own."""
        ids = self._source.ids(self._chat.session.client)
        if ids:
            await self._copy(ids[-1])
        else:
            self._chat.say("This chat is empty, or not saved.")

    async def _copy(self, message_id: str) -> None:
        runtime = self._chat.runtime
        chat_id = runtime.chat_id(self._chat.session.client) or ""
        fresh = await self._source.fork(chat_id, message_id)
        await self._chat.go_to(await runtime.open_chat(fresh), is_read=False)
        self._chat.say("This is a new chat with a copy of the branch.")

    async def _may_delete(self, message_id: str) -> bool:
        extent = await self._deletions.must_ask(message_id)
        what = "this chat" if extent is not None and extent.is_chat else "these messages"
        return await self._chat.questions.is_sure(f"Delete {what}?")

    async def _delete(self, message_id: str) -> None:
        done = await self._deletions.delete(message_id)
        if done is None:
            self._chat.say("This message no longer exists.")
            return
        if done.deletion.message_id is None:
            self._chat.start_new()
        elif done.client is not None:
            await self._chat.go_to(done.client, is_read=False)
        what = counted(done.deletion.messages, "message")
        self._chat.say(f"Deleted {what}.", hint=f"/undelete restores them for {KEPT_DAYS} days.")

    async def undelete(self, _text: str) -> None:
        """Undo the newest deletion of this chat, else the newest of all."""
        try:
            deletion = await self._deletions.undo()
        except AIError as error:
            self._chat.say(error.message, "error", error.hint)
            return
        if deletion is None:
            self._chat.say("No deletion to undo.")
        elif self._deletions.shows(deletion):
            self._chat.say(restored_words(deletion))
            await self._saved.go_to(deletion.conversation_id, deletion.message_id)
        else:
            self._chat.say(restored_words(deletion), hint="/chats opens it.")
