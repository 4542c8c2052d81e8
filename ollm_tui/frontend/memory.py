"""Notes that last, in the open chat: put into its system prompt only where that is switched on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.counted import counted
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.tokens.estimate import fallback_estimate
from ollm_tui.tools.memory.notes import has_notes, with_added, with_replaced, without_notes

if TYPE_CHECKING:
    from ollm_tui.frontend.notes import SayWithHint
    from ollm_tui.frontend.session import ChatSession
    from ollm_tui.tools.memory.notes import LastingNotes, Notes


@dataclass(frozen=True, slots=True)
class ChatMemory:
    """What `/memory` does; see `Memory` in `commands/files.py`."""

    session: "ChatSession"

    @property
    def _notes(self) -> "LastingNotes":
        return self.session.runtime.memory

    @property
    def is_used(self) -> bool:
        """Whether this chat has the notes."""
        return has_notes(self.session.client.conversation.system_prompt)

    @property
    def tokens(self) -> int:
        """About how many tokens the notes are."""
        return fallback_estimate(self._notes.text()) if self._notes.known else 0

    async def listed(self) -> Sequence[str]:
        """Read the notes."""
        return await self._notes.read()

    async def add(self, text: str) -> None:
        """Add a note."""
        before = await self._notes.read()
        await self._change(before, with_added(before, text))

    async def replace(self, number: int, text: str | None) -> None:
        """Change a note; None removes it."""
        before = await self._notes.read()
        await self._change(before, with_replaced(before, number, text))

    async def _change(self, before: "Notes", after: "Notes") -> None:
        await self._notes.change(before, after)
        if self.is_used:
            self._put()

    def use(self, *, is_on: bool) -> None:
        """Give the notes to this chat and to new ones, or no more."""
        conversation = self.session.client.conversation
        if is_on and self.session.is_private:
            raise AIError(ErrorCode.BAD_REQUEST, "This chat is private: it gets no notes.")
        if is_on and conversation.system_prompt_format is not None:
            raise AIError(
                ErrorCode.BAD_REQUEST,
                "The system prompt of this chat is a template, to which no notes are added.",
                hint="/system TEXT sets a plain one.",
            )
        self._notes.is_on = is_on
        if is_on:
            self._put()
        elif self.is_used:
            conversation.system_prompt = without_notes(conversation.system_prompt)

    def _put(self) -> None:
        conversation = self.session.client.conversation
        conversation.system_prompt = self._notes.put_into(conversation.system_prompt)

    async def begin(self, say: "SayWithHint") -> None:
        """Give the first chat the notes, if that is switched on, and say so."""
        if not self._notes.is_on or self.session.client.conversation.messages:
            return
        try:
            await self._notes.read()
        except AIError as error:
            say(error.message, "warning", error.hint)
            return
        self.session.recall_notes()
        self.greet(say)

    def greet(self, say: "SayWithHint") -> None:
        """Say in a new chat that it has the notes."""
        if self.is_used:
            many = counted(len(self._notes.known), "note")
            say(
                f"The system prompt of this chat has {many} of yours, about "
                f"{counted(self.tokens, 'token')}.",
                hint="/memory shows them, and /memory off takes them out.",
            )
