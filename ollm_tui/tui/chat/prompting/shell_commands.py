"""Commands that the user types after a `!`: asked about, run, shown, and kept in the chat."""

from collections.abc import Callable
from itertools import count
from typing import Final

from ollm_tui.chat.command_output import command_message, outcome_of, shown_output
from ollm_tui.dataclass import dataclass, field
from ollm_tui.frontend.session import ChatSession
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.shell.command import run_command
from ollm_tui.tasks import cancelled_by
from ollm_tui.tui.chat.parts import Prompt
from ollm_tui.tui.chat.status.status_presenter import StatusPresenter
from ollm_tui.tui.dialogs import ScreenApprover
from ollm_tui.tui.services import Say
from ollm_tui.tui.transcript import NavigableTranscript

NOT_RUN: Final = "The command was not run."


@dataclass(slots=True)
class ShellCommands:
    """Runs one command at a time; the queue of prompts sees to that."""

    session: ChatSession
    transcript: NavigableTranscript
    status: StatusPresenter
    approver: ScreenApprover
    composer: Prompt
    say: Say
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    async def run(self, command: str, signal: AbortSignal) -> None:
        """Ask, run a command, and add it with its output to the chat that was open."""
        try:
            await self._run(command, signal)
        finally:
            self.status.show_turn("ready")
            self.status.show_session()

    async def _run(self, command: str, signal: AbortSignal) -> None:
        client, place = self.session.client, self.session.runtime.shell
        if not await self._is_allowed(command, str(place.folder), signal):
            if not self.composer.text:
                self.composer.prepend(f"!{command}")
            self.say(NOT_RUN)
            return
        block = f"command-{next(self._numbers)}"
        self.transcript.add_tool(block, command, is_command=True)
        self.status.show_turn("command")
        try:
            result = await run_command(command, place, signal, self._shows(block))
        except AIError as error:
            self.transcript.remove_from(block, only=True)
            self.say(error.message, "error", error.hint)
            return
        if block in self.transcript.block_list:
            output = shown_output(result)
            self.transcript.end_tool(block, outcome_of(result), result.seconds, output)
        await client.add(command_message(result, place.folder))

    async def _is_allowed(self, command: str, folder: str, signal: AbortSignal) -> bool:
        """Ask; a stop closes the question, which then counts as a no."""
        with cancelled_by(signal):
            return await self.approver.approve_command(command, folder)
        return False

    def _shows(self, block: str) -> Callable[[str], None]:
        return lambda output: self.transcript.folding.show_running(block, output)
