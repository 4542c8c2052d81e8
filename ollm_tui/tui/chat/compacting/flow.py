"""`CompactionController`: from `/compact` to a chat with more room, with a question in between.

Its dialogs are loaded when they are shown.
"""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final

from ollm_tui.chat.compaction import Compaction
from ollm_tui.dataclass import dataclass
from ollm_tui.frontend.compaction import (
    apply,
    can_compact,
    first_words,
    is_saved,
    proposal_words,
)
from ollm_tui.frontend.notes import report_errors
from ollm_tui.frontend.session import ChatSession
from ollm_tui.protocol.errors import AIError
from ollm_tui.tui.chat.prompting.prompt_queue import PromptQueue
from ollm_tui.tui.dialogs import Dialogs, Passage
from ollm_tui.tui.services import Say

if TYPE_CHECKING:
    from ollm_tui.chat.summary import SummaryProgress
    from ollm_tui.protocol.signals import AbortSignal

_SUMMARY_LETTERS: Final = (
    ("y", "use it"),
    ("e", "edit"),
    ("r", "write another"),
    ("l", "leave out instead"),
)


@dataclass(frozen=True, slots=True)
class CompactionController:
    """Has the older messages summarised or left out, once the user has seen what that means."""

    session: ChatSession
    queue: PromptQueue
    dialogs: Dialogs
    say: Say
    show_chat: Callable[[], None]
    """Shows the messages of the chat anew."""
    retry: Callable[[], None]
    """Sends the newest question again."""

    @property
    def can_compact(self) -> bool:
        """Whether there are older messages that could make room."""
        return can_compact(self.session)

    @property
    def is_saved(self) -> bool:
        """Whether the chat keeps the messages as another branch."""
        return is_saved(self.session)

    def retry_failed(self) -> None:
        """Send the newest question again, if its answer failed."""
        if self.queue.failed:
            self.retry()

    def start(self, focus: str = "") -> None:
        """Have the older messages summarised; `focus` says what must not be lost."""
        self._run(lambda: self._summarise(focus))

    def leave_out(self) -> None:
        """Leave the oldest messages out."""
        self._run(self._leave_out)

    def _run(self, work: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        if self.queue.is_busy:
            self.say("An answer is still in progress.")
        elif self.session.model is None:
            self.say("No model is selected.", "error")
        else:
            self.dialogs.run(report_errors(self._held(work), self.say), "view", is_exclusive=True)

    async def _held(self, work: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        """Keep prompts waiting meanwhile; send a question again whose prompt failed before."""
        has_failed = self.queue.failed
        self.queue.hold()
        try:
            is_done = await work()
        finally:
            self.queue.release()
        if is_done and has_failed:
            self.retry()

    async def _summarise(self, focus: str) -> bool:
        # Loaded when it is shown.
        from ollm_tui.tui.chat.compacting.dialogs import SummaryWriting

        while True:
            written = await self.dialogs.ask(
                SummaryWriting(self._writer(focus), self.session.ref.model)  # type: ignore[union-attr]
            )
            if written is None:
                self.say("Stopped. The chat is as it was.")
                return False
            if isinstance(written, AIError):
                choice = await self._ask_after_failure(written)
            else:
                choice, written = await self._read(written)
            if choice == "y" and isinstance(written, Compaction):
                return await self._apply(written)
            if choice == "l":
                return await self._leave_out()
            if choice is None:
                return False

    def _writer(
        self, focus: str
    ) -> "Callable[[AbortSignal, SummaryProgress], Coroutine[Any, Any, Compaction]]":
        client = self.session.client

        async def write(signal: "AbortSignal", progress: "SummaryProgress") -> Compaction:
            return await client.propose_summary(focus, signal=signal, progress=progress)

        return write

    async def _ask_after_failure(self, error: AIError) -> str | None:
        letters: tuple[tuple[str, str], ...] = (("r", "try again"),)
        if self.can_compact:
            letters = (*letters, ("l", "leave out the oldest messages"))
        about = Passage("What may help", error.hint or "Try again.")
        # Loaded when it is shown.
        from ollm_tui.tui.chat.compacting.dialogs import CompactionQuestion

        return await self.dialogs.ask(
            CompactionQuestion("No summary", error.message, about, letters)
        )

    async def _read(self, written: Compaction) -> tuple[str | None, Compaction]:
        """Show a summary, and change it as often as is wanted."""
        # Loaded when it is shown.
        from ollm_tui.tui.chat.compacting.dialogs import CompactionQuestion, EditSummary

        while True:
            choice = await self.dialogs.ask(
                CompactionQuestion(
                    "Use this summary?",
                    proposal_words(self.session, written),
                    Passage("Summary", written.text),
                    _SUMMARY_LETTERS,
                )
            )
            if choice != "e":
                return choice, written
            text = await self.dialogs.ask(EditSummary(written.text))
            if text is not None:
                written = self.session.client.reworded(written, text)

    async def _leave_out(self) -> bool:
        # Loaded when it is shown.
        from ollm_tui.tui.chat.compacting.dialogs import CompactionQuestion

        proposal = await self.session.client.propose_leaving_out()
        choice = await self.dialogs.ask(
            CompactionQuestion(
                "Leave these messages out?",
                proposal_words(self.session, proposal),
                Passage("No longer sent", first_words(self.session, proposal)),
                (("y", "leave them out"),),
            )
        )
        return choice == "y" and await self._apply(proposal)

    async def _apply(self, proposal: Compaction) -> bool:
        words, hint = await apply(self.session, proposal)
        self.show_chat()
        self.say(words, hint=hint)
        return True
