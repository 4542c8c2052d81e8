"""`ConversationJournal`: writes one conversation as it grows."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.store.branches import ChatWatch, Forks, siblings
from ollm_tui.store.rows import (
    ConversationSettings,
    Deleted,
    HasSettings,
    MessageRow,
    MessageState,
    StoredConversation,
    ended_state,
    new_id,
)


class JournalWriter(Protocol):
    """The target of a journal, so that journals need not know the store that implements it."""

    def put(self, row: MessageRow) -> None:
        """Add a row that is written soon."""

    async def save(self) -> None:
        """Write all rows; they are on the disk when this returns."""

    def deleted(self, conversation_id: str) -> Deleted | None:
        """Return which program deleted a conversation, as far as a write has noticed it."""


class ConversationJournal:
    """A `ChatJournal`; the conversation is created with its first message.

    States of a message: an answer is `streaming` from `begin` to `finish`, any other message is
    complete from the start. A message whose `begin` failed is kept and written later; if it was an
    answer, the next `begin` is taken for the same answer in a later form, until it is finished
    (without an id, since it never got one).

    If another program writes the same conversation, each has a branch: a message follows the one
    that this journal wrote or read before it. If another program deletes the conversation, the
    next write saves it as a new one, with all messages before.
    """

    def __init__(
        self,
        writer: JournalWriter,
        settings: HasSettings,
        conversation_id: str,
        clock_ms: Callable[[], int],
        stored: StoredConversation | None = None,
    ) -> None:
        self.conversation_id = conversation_id
        self.watch = ChatWatch()
        """The conversation as last read or written here, to detect additions by others."""
        self._writer = writer
        self._settings = settings
        self._path: list[MessageRow] = []
        self._clock_ms = clock_ms
        self._rows: dict[str, MessageRow] = {}
        self._new_ids: dict[str, str] = {}
        """Ids of messages that were saved again in a new conversation."""
        self._unacknowledged: str | None = None
        self._saved_settings: ConversationSettings | None = None
        if stored is not None:
            self._load(stored)

    def _load(self, stored: StoredConversation) -> None:
        now_ms, settings = self._clock_ms(), ConversationSettings.of(self._settings)
        depths = {node.id: node.depth for node in stored.state.nodes}
        parent_id: str | None = None
        for message in stored.messages:
            row = MessageRow(
                id=message.id,
                conversation_id=self.conversation_id,
                parent_id=parent_id,
                depth=depths[message.id],
                message=message.message,
                state=message.state,
                created_ms=now_ms,
                updated_ms=now_ms,
                settings=settings,
                has_new_settings=parent_id is None,
            )
            self._path.append(row)
            parent_id = row.id
        self.watch.known.update(depths)
        self.watch.revision = stored.state.revision
        forks = siblings(stored.state.nodes, self.path)
        self.watch.forks = Forks(stored.state.revision, forks)
        self.watch.title, self.watch.is_renamed = stored.title, stored.state.is_renamed

    @property
    def path(self) -> tuple[str, ...]:
        """The ids of the active path, the first message first."""
        return tuple(row.id for row in self._path)

    def adopt(self, position: int, message: Message) -> None:
        """Take note of what was changed of a saved message."""
        self._path[position] = replace(self._path[position], message=message)

    def rewind(self, kept: int) -> None:
        """Continue after the first `kept` messages of the path; the others stay as a branch."""
        del self._path[kept:]
        self._unacknowledged = None
        self._saved_settings = None

    async def branch(self, kept: int, messages: Sequence[Message]) -> None:
        """Continue after the first `kept` messages with others, which are complete.

        Those at the end that repeat messages of the path keep their model and their time. All are
        written in one transaction, so that a crash leaves the path as it was or as it is now.

        Raises:
            AIError: they are not on the disk yet; they wait in memory and are saved when possible.
        """
        before = self._path[kept:]
        self.rewind(kept)
        copied = _repeated(before, messages)
        for message, other in zip(messages, copied, strict=True):
            now_ms = self._clock_ms()
            row = self._next_row(message, new_id(now_ms), now_ms)
            row = replace(row, state=ended_state(message), copy_of=other)
            self._path.append(row)
            self.watch.known.add(row.id)
            self._writer.put(row)
        await self._save()

    async def begin(self, message: Message) -> str:
        """Store a message and return its id; it is on the disk when this returns.

        Raises:
            AIError: it is not on the disk yet; it waits in memory and is saved when possible.
        """
        row = self._row_of(message)
        growing = {key: old for key, old in self._rows.items() if old.state == "streaming"}
        self._rows = growing | {row.id: row}
        self._writer.put(row)
        self._unacknowledged = row.id if message.role == "assistant" else None
        await self._save()
        self._unacknowledged = None
        return self._new_ids.get(row.id, row.id)

    async def update(self, message_id: str, message: Message) -> None:
        """Replace a message that has grown; it is on the disk a fifth of a second later."""
        self._put_later_form(message_id, message, is_final=False)

    async def finish(self, message_id: str, message: Message) -> None:
        """Store a message in its final form; it is on the disk when this returns.

        Raises:
            AIError: it is not on the disk yet; it waits in memory and is saved when possible.
        """
        self._put_later_form(message_id or self._unacknowledged or "", message, is_final=True)
        self._unacknowledged = None
        await self._save()

    def _row_of(self, message: Message) -> MessageRow:
        now_ms = self._clock_ms()
        if self._unacknowledged is not None and message.role == "assistant":
            again = replace(
                self._rows[self._unacknowledged],
                message=message,
                state=_first_state(message),
                updated_ms=now_ms,
                settings=ConversationSettings.of(self._settings),
            )
            self._replace_on_path(again)
            return again
        row = self._next_row(message, new_id(now_ms), now_ms)
        self._path.append(row)
        self.watch.known.add(row.id)
        return row

    def _next_row(self, message: Message, message_id: str, now_ms: int) -> MessageRow:
        settings = ConversationSettings.of(self._settings)
        is_new, self._saved_settings = settings != self._saved_settings, settings
        return MessageRow(
            id=message_id,
            conversation_id=self.conversation_id,
            parent_id=self._path[-1].id if self._path else None,
            depth=self._path[-1].depth + 1 if self._path else 1,
            message=message,
            state=_first_state(message),
            created_ms=now_ms,
            updated_ms=now_ms,
            settings=settings,
            has_new_settings=is_new,
        )

    def _replace_on_path(self, row: MessageRow) -> None:
        for place in range(len(self._path) - 1, -1, -1):
            if self._path[place].id == row.id:
                self._path[place] = row
                return

    def _put_later_form(self, message_id: str, message: Message, *, is_final: bool) -> None:
        message_id = self._new_ids.get(message_id, message_id)
        row = self._rows.get(message_id)
        if row is None:
            raise AIError(ErrorCode.BAD_REQUEST, "This message of the chat is finished already.")
        state = ended_state(message) if is_final else "streaming"
        self._rows[message_id] = later = row.grown(message, state, self._clock_ms())
        self._replace_on_path(later)
        self._writer.put(later)

    async def _save(self) -> None:
        if self._writer.deleted(self.conversation_id) != "here":
            await self._writer.save()
        if self._writer.deleted(self.conversation_id) == "elsewhere":
            self._save_as_new()
            await self._writer.save()
        if self._writer.deleted(self.conversation_id) == "here":
            raise AIError(
                ErrorCode.CONFLICT,
                "Not saved: this chat was deleted.",
                hint="Start a new chat to have what follows saved.",
                details={"reason": "deleted"},
            )

    def _save_as_new(self) -> None:
        """Save the path, with what is being written, as a new conversation under new ids."""
        now_ms = self._clock_ms()
        self.conversation_id = new_id(now_ms)
        old_path, self._path, self._saved_settings = self._path, [], None
        own_title = self.watch.own_title
        self.watch = ChatWatch(
            is_saved_anew=True, title=own_title, is_renamed=own_title is not None
        )
        new_rows = {}
        for old in old_path:
            row = self._next_row(old.message, new_id(now_ms), now_ms)
            new_rows[old.id] = row = replace(row, state=old.state, own_title=own_title)
            self._path.append(row)
            self.watch.known.add(row.id)
            self._writer.put(row)
        # What was begun under an old id may be finished under it.
        self._new_ids |= {key: self._new_ids.get(key, key) for key in new_rows}
        self._new_ids = {
            key: new_rows[at].id if at in new_rows else at for key, at in self._new_ids.items()
        }
        if self._unacknowledged is not None:
            self._unacknowledged = self._new_ids.get(self._unacknowledged)
        growing = [new_rows[key] for key in self._rows if key in new_rows]
        self._rows = {row.id: row for row in growing}


def _repeated(rows: Sequence[MessageRow], messages: Sequence[Message]) -> list[str | None]:
    """Return for each message the id of the row that it repeats, as far as the ends are the same.

    An answer that was interrupted has a mark that it had not when it was written.
    """
    copied: list[str | None] = [None] * len(messages)
    for place in range(1, min(len(rows), len(messages)) + 1):
        row, message = rows[-place], messages[-place]
        if (row.message.role, row.message.content) != (message.role, message.content):
            break
        copied[-place] = row.id
    return copied


def _first_state(message: Message) -> MessageState:
    ended = ended_state(message)
    return "streaming" if message.role == "assistant" and ended == "complete" else ended
