"""The tree of the open chat: walking its forks, deleting, restoring and copying branches."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.chat_words import restored_words
from ollm_tui.frontend.deletions import OpenChatDeletions
from ollm_tui.frontend.notes import report_errors
from ollm_tui.protocol.errors import AIError
from ollm_tui.tui.chat.history import ChatHistory
from ollm_tui.tui.chat.message_editing import MessageEditor
from ollm_tui.tui.chat.shown_messages import ShownMessages
from ollm_tui.tui.transcript import BranchRequested
from ollm_tui.tui.widgets import FLASH_S, HintLine

if TYPE_CHECKING:
    from ollm_tui.chat.client import ChatClient
    from ollm_tui.runtime.saved.branches import ChatBranches
    from ollm_tui.store.tree import Extent
    from ollm_tui.tui.chats import TreeChoice

UNDO_S: Final = 8.0
"""How long the line says that a deletion can be undone."""
_TREE: Final = "ollm_tui.tui.chats.tree"
_BUSY: Final = "An answer is still in progress"
_KEPT: Final = "It is kept for 30 days."
_NOT_SAVED: Final = "This chat is not saved."


@dataclass(slots=True)
class ChatTree:
    """Goes from branch to branch, and changes them; what was deleted comes back until purged."""

    history: ChatHistory
    messages: ShownMessages
    editing: MessageEditor
    hints: HintLine
    key_for: Callable[[str], str]
    start_new: Callable[[], None]
    show_facts: Callable[[], Awaitable[None]]
    """Shows what else is known of the messages: their marks and times."""
    _forks: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """The messages at each fork of the branch shown, by the position there."""
    _deletions: OpenChatDeletions = field(init=False)

    def __post_init__(self) -> None:
        self._deletions = OpenChatDeletions(self.history.session)

    # Counters

    def refresh_soon(self) -> None:
        """Show at each fork which of its messages is shown."""
        self.history.dialogs.run(self.refresh(), "siblings", is_exclusive=True)

    async def refresh(self) -> None:
        """Show at each fork which of its messages is shown."""
        client = self.history.session.client
        try:
            forks = await self._branches.siblings(client)
        except AIError:  # writing to a chat that cannot be read says why
            return
        if client is not self.history.session.client:
            return
        ids = self._branches.ids(client)
        self._forks = {at: each for at, each in forks.items() if at < len(ids) and ids[at] in each}
        counters = {
            block: (each.index(ids[at]) + 1, len(each))
            for at, each in self._forks.items()
            if (block := self.messages.block_of(at)) is not None
        }
        self.messages.transcript.bylines.show_siblings(counters)
        await self.show_facts()

    # What is asked for at a message

    def act(self, wanted: BranchRequested) -> None:
        """Do what was asked for at a message."""
        position = self.messages.position_of(wanted.block_id)
        if wanted.act == "undelete":
            self.undelete()
        elif self.history.is_busy():
            self._hint(_BUSY)
        elif position is None:
            self._hint("This was never sent")
        elif wanted.act == "delete":
            self._delete_at(position)
        elif wanted.act == "fork":
            self._fork_at(self.messages.end_of(position))
        else:
            step = 1 if wanted.act == "next" else -1
            self._walk(position, step, has_cursor=wanted.is_by_key)

    def _walk(self, position: int, step: int, *, has_cursor: bool) -> None:
        siblings, ids = (
            self._forks.get(position, ()),
            self._branches.ids(self.history.session.client),
        )
        if not siblings or position >= len(ids) or ids[position] not in siblings:
            self._hint("This message has only one version")
            return
        index = siblings.index(ids[position]) + step
        if not 0 <= index < len(siblings):
            self._hint(f"This is the {'first' if step < 0 else 'last'} version")
            return
        self._run(self._show(siblings[index], has_cursor=has_cursor))

    async def _show(self, message_id: str, *, has_cursor: bool = False) -> None:
        """Show the branch of a message, at that message."""
        chat_id = self.history.session.runtime.chat_id(self.history.session.client)
        client = await self.history.session.runtime.open_chat(chat_id or "", message_id=message_id)
        await self._arrive(client, message_id, has_cursor=has_cursor)
        with suppress(AIError):  # the next message says why nothing is saved
            await self._branches.remember(client)

    async def _arrive(
        self, client: "ChatClient", message_id: str | None, *, has_cursor: bool = False
    ) -> None:
        self.editing.cancel()
        self.history.go_to(client, message_id)
        position = None
        if message_id is not None:
            position = self.history.session.runtime.position_of(client, message_id)
        block = self.messages.block_of(position) if position is not None else None
        if has_cursor and block is not None:
            view = self.messages.transcript
            view.cursor_mode.put_on(block)
            view.screen.set_focus(view)
        await self.history.arrived()

    # Deleting

    def _delete_at(self, position: int) -> None:
        ids = self._branches.ids(self.history.session.client)
        if position >= len(ids):
            self._hint(_NOT_SAVED)
        else:
            self._run(self._delete_by_key(ids[position]))

    async def _delete(self, message_id: str, *, has_cursor: bool = False) -> str | None:
        """Delete a message and what follows it, after a question if that is much.

        Returns what was deleted, or None if nothing was or the whole chat.
        """
        extent = await self._deletions.must_ask(message_id)
        if extent is not None and not await self._may_delete(extent):
            return None
        done = await self._deletions.delete(message_id)
        if done is None:
            self.history.say("This message no longer exists.")
            return None
        if done.deletion.message_id is None:
            self.start_new()
            self.history.say("Deleted this chat.", hint=f"/undelete restores it. {_KEPT}")
            return None
        if done.client is not None:
            await self._arrive(done.client, done.message_id, has_cursor=has_cursor)
        return f"Deleted {counted(done.deletion.messages, 'message')}"

    async def _may_delete(self, extent: "Extent") -> bool:
        # with the tree, which many never open
        await anyio.to_thread.run_sync(import_module, _TREE)
        from ollm_tui.tui.chats import DeleteMessages

        return await self.history.dialogs.ask(DeleteMessages(extent))

    async def _delete_by_key(self, message_id: str) -> None:
        if (words := await self._delete(message_id, has_cursor=True)) is not None:
            has_cursor = self.messages.transcript.mode == "cursor"
            key = self.key_for("cursor.undelete")
            undo = f"Press {key} to undo" if has_cursor else "/undelete restores them"
            self._hint(f"{words} · {undo}", UNDO_S)

    def undelete(self) -> None:
        """Undo the newest deletion of this chat, else the newest of all."""
        if self.history.is_busy():
            self._hint(_BUSY)
        else:
            self._run(self._undelete())

    async def _undelete(self) -> None:
        words, hint = await self._undo()
        if hint is None:
            self._hint(words, UNDO_S)
        else:
            self.history.say(words, hint=hint)

    async def _undo(self) -> tuple[str, str | None]:
        """Undo a deletion; return words for it, and how to see what is not shown then."""
        deletion = await self._deletions.undo()
        if deletion is None:
            return "No deletion to undo.", None
        if not self._deletions.shows(deletion):
            return restored_words(deletion), "/chats opens it."
        runtime = self.history.session.runtime
        fresh = await runtime.open_chat(deletion.conversation_id, message_id=deletion.message_id)
        await self._arrive(fresh, deletion.message_id)
        return restored_words(deletion), None

    # Copies

    def fork(self) -> None:
        """Copy the branch that is shown to a chat of its own."""
        if self.history.is_busy():
            self._hint(_BUSY)
        elif not self.history.session.client.conversation.messages:
            self.history.say("This chat is empty.")
        else:
            self._fork_at(len(self.history.session.client.conversation.messages) - 1)

    def _fork_at(self, position: int) -> None:
        ids = self._branches.ids(self.history.session.client)
        if position >= len(ids):
            self._hint(_NOT_SAVED)
        else:
            self._run(self._fork(ids[position]))

    async def _fork(self, message_id: str) -> None:
        runtime = self.history.session.runtime
        chat_id = runtime.chat_id(self.history.session.client) or ""
        fresh = await self._branches.fork(chat_id, message_id)
        await self._arrive(await runtime.open_chat(fresh), None)
        self.history.say(
            "This is a new chat with a copy of the branch.", hint="/chats opens the other one."
        )

    # The whole tree

    def show(self) -> None:
        """Open the tree of the chat."""
        self._run(self._open_tree())

    async def _open_tree(self) -> None:
        # a screen of its own, which many never open
        await anyio.to_thread.run_sync(import_module, _TREE)
        from ollm_tui.tui.chats import ShowTree

        marked: str | None = None
        note: str | None = ""
        while note is not None:
            client = self.history.session.client
            lines = await self._branches.tree(client)
            if not lines:
                if marked is None:
                    empty = not client.conversation.messages
                    self.history.say("This chat is empty." if empty else _NOT_SAVED)
                return
            shown = frozenset(self._branches.ids(client))
            tree = ShowTree(lines, shown, self.key_for, note=note, marked=marked)
            choice = await self.history.dialogs.ask(tree)
            note = await self._do(choice) if choice is not None else None
            marked = choice.message_id if choice is not None else None

    async def _do(self, choice: "TreeChoice") -> str | None:
        """Do what was chosen; return a note for the tree, or None to leave it."""
        if self.history.is_busy():
            self._hint(_BUSY)
        elif choice.act == "open":
            await self._show(choice.message_id)
        elif choice.act == "fork":
            await self._fork(choice.end_id)
        elif choice.act == "undelete":
            words, hint = await self._undo()
            return f"{words} {hint}" if hint else words
        else:
            done = await self._delete(choice.message_id)
            key = self.key_for("tree.undelete")
            return f"{done} · {key} restores them" if done is not None else ""
        return None

    def _run(self, work: Coroutine[Any, Any, object]) -> None:
        self.history.dialogs.run(report_errors(work, self.history.say), "open", is_exclusive=True)

    def _hint(self, text: str, seconds: float = FLASH_S) -> None:
        self.hints.flash(text, seconds)

    @property
    def _branches(self) -> "ChatBranches":
        return self.history.session.runtime.branches
