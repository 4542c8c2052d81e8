"""One conversation being written: the port that the chat layer sees."""

from collections.abc import Callable, Sequence
from typing import Protocol

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.store.ids import new_id
from ollm_tui.store.rows import (
    ConversationSettings,
    HasSettings,
    MessageRow,
    MessageState,
    ended_state,
)


class Keeper(Protocol):
    """What a journal writes to."""

    def put(self, row: MessageRow) -> None:
        """Take a row that is written soon."""
        ...

    async def save(self) -> None:
        """Write all rows; they are on the disk when this returns."""
        ...

    def is_gone(self, conversation_id: str) -> bool:
        """Tell whether a conversation was deleted."""
        ...


class ConversationJournal:
    """A `ChatJournal`; the conversation comes into being with its first message.

    States of a message: an answer is `streaming` from `begin` to `finish`, any other message is
    whole from the start. A message whose `begin` failed is kept and written later; when it was an
    answer, the next `begin` is taken as the same answer in a later form, until it is finished
    (without an id, since it never got one).
    """

    def __init__(
        self,
        keeper: Keeper,
        settings: HasSettings,
        conversation_id: str,
        path: Sequence[str],
        clock_ms: Callable[[], int],
    ) -> None:
        self.conversation_id = conversation_id
        self._keeper = keeper
        self._settings = settings
        self._path = list(path)
        self._clock_ms = clock_ms
        self._rows: dict[str, MessageRow] = {}
        self._unacknowledged: str | None = None

    @property
    def path(self) -> tuple[str, ...]:
        """The ids of the active path, the first message first."""
        return tuple(self._path)

    def rewind(self, kept: int) -> None:
        """Go on after the first `kept` messages of the path; the others stay as another branch."""
        del self._path[kept:]
        self._unacknowledged = None

    async def begin(self, message: Message) -> str:
        """Store a message and give its id; it is safe when this returns.

        Raises:
            AIError: it is not on the disk yet; it waits in memory and is saved when that works.
        """
        row = self._new_row(message)
        growing = {key: old for key, old in self._rows.items() if old.state == "streaming"}
        self._rows = growing | {row.id: row}
        self._keeper.put(row)
        self._unacknowledged = row.id if message.role == "assistant" else None
        await self._save()
        self._unacknowledged = None
        return row.id

    async def update(self, message_id: str, message: Message) -> None:
        """Take a message that has grown; it is on the disk a fifth of a second later."""
        self._put_later_form(message_id, message, is_final=False)

    async def finish(self, message_id: str, message: Message) -> None:
        """Store a message in its last form; it is safe when this returns.

        Raises:
            AIError: it is not on the disk yet; it waits in memory and is saved when that works.
        """
        self._put_later_form(message_id or self._unacknowledged or "", message, is_final=True)
        self._unacknowledged = None
        await self._save()

    def _new_row(self, message: Message) -> MessageRow:
        now_ms = self._clock_ms()
        if self._unacknowledged is not None and message.role == "assistant":
            again = self._rows[self._unacknowledged]
            return MessageRow(
                id=again.id,
                conversation_id=self.conversation_id,
                parent_id=again.parent_id,
                depth=again.depth,
                message=message,
                state=_first_state(message),
                created_ms=again.created_ms,
                updated_ms=now_ms,
                settings=ConversationSettings.of(self._settings),
            )
        row = MessageRow(
            id=new_id(now_ms),
            conversation_id=self.conversation_id,
            parent_id=self._path[-1] if self._path else None,
            depth=len(self._path) + 1,
            message=message,
            state=_first_state(message),
            created_ms=now_ms,
            updated_ms=now_ms,
            settings=ConversationSettings.of(self._settings),
        )
        self._path.append(row.id)
        return row

    def _put_later_form(self, message_id: str, message: Message, *, is_final: bool) -> None:
        row = self._rows.get(message_id)
        if row is None:
            raise AIError(ErrorCode.BAD_REQUEST, "This message of the chat is finished already.")
        state = ended_state(message) if is_final else "streaming"
        self._rows[message_id] = later = row.grown(message, state, self._clock_ms())
        self._keeper.put(later)

    async def _save(self) -> None:
        if not self._keeper.is_gone(self.conversation_id):
            await self._keeper.save()
        if self._keeper.is_gone(self.conversation_id):
            raise AIError(
                ErrorCode.CONFLICT,
                "Not saved: this chat was deleted.",
                hint="Begin a new chat to have what follows saved.",
                details={"reason": "deleted"},
            )


def _first_state(message: Message) -> MessageState:
    ended = ended_state(message)
    return "streaming" if message.role == "assistant" and ended == "complete" else ended
