"""Making room in the chat: a summary that is read, edited or stopped before it counts."""

from typing import Final

from ollm_tui.chat.compaction import Compaction
from ollm_tui.chat.summary import SummaryProgress
from ollm_tui.decode.clean import clean
from ollm_tui.frontend.compaction import apply, can_compact, first_words, proposal_words
from ollm_tui.linear.chat import LinearChat
from ollm_tui.linear.writing import Writing
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.signals import AbortSignal

_AS_BEFORE: Final = "The chat is as it was."
_KEYS: Final = {"y": "use", "e": "edit", "r": "again", "l": "leave out", "n": "no"}
_QUESTION: Final = (
    "Use this summary? y yes, e edit it, r write another, l leave the messages out instead, n no. "
    "Enter and Escape mean no."
)
_AFTER_FAILURE: Final = {"r": "again", "l": "leave out", "n": "no"}


class Compacting:
    """From `/compact` to a chat with more room, with a question in between."""

    def __init__(self, chat: LinearChat, writing: Writing) -> None:
        self._chat, self._writing = chat, writing

    async def start(self, focus: str = "") -> None:
        """Have the older messages summarised; `focus` says what must not be lost."""
        choice: str | None = "again"
        while choice == "again":
            try:
                written = await self._write(focus)
            except AIError as error:
                if error.known_code is ErrorCode.ABORTED:
                    self._chat.say("Stopped.", hint=_AS_BEFORE)
                    return
                choice = await self._ask_after(error)
            else:
                choice, written = await self._read(written)
                if choice == "use":
                    await self._apply(written)
                    return
        if choice == "leave out":
            await self.leave_out()
        else:
            self._chat.say("Nothing was changed.")

    async def _write(self, focus: str) -> Compaction:
        progress = SummaryProgress()

        def state() -> str:
            done = f", {100 * progress.share:.0f} percent" if progress.share else ""
            return f"Summarising the older messages{done}"

        self._chat.say("Summarising the older messages.", hint="Escape stops it.")
        client = self._chat.session.client

        async def propose(signal: AbortSignal) -> Compaction:
            return await client.propose_summary(focus, signal=signal, progress=progress)

        return await self._chat.work.stoppable(propose, state)

    async def _ask_after(self, error: AIError) -> str | None:
        self._chat.say(error.message, "error", error.hint)
        if can_compact(self._chat.session):
            words = "r try again, l leave the oldest messages out, n neither:"
            return await self._chat.questions.key(words, _AFTER_FAILURE)
        return await self._chat.questions.key("r try again, n no:", {"r": "again", "n": "no"})

    async def _read(self, written: Compaction) -> tuple[str | None, Compaction]:
        """Read a summary out, and let it be edited as often as is wanted."""
        client = self._chat.session.client
        while True:
            self._chat.write(f"Summary:\n{clean(written.text)}\nEnd of the summary.")
            self._chat.write(proposal_words(self._chat.session, written))
            choice = await self._chat.questions.key(_QUESTION, _KEYS)
            if choice != "edit":
                return choice, written
            text = await self._writing.edited(written.text)
            if text is not None and text.strip():
                written = client.reworded(written, text)

    async def leave_out(self) -> None:
        """Leave the oldest messages out, after a question.

        Raises:
            AIError: there are none, or an answer is in progress.
        """
        session = self._chat.session
        proposal = await session.client.propose_leaving_out()
        self._chat.write(f"No longer sent:\n{first_words(session, proposal)}")
        self._chat.write(proposal_words(session, proposal))
        if await self._chat.questions.is_sure("Leave these messages out?"):
            await self._apply(proposal)
        else:
            self._chat.say("Nothing was changed.")

    async def _apply(self, proposal: Compaction) -> None:
        words, hint = await apply(self._chat.session, proposal)
        self._chat.say(words, hint=hint)
