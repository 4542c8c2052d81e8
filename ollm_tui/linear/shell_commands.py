"""Commands that the user types after a `!`: asked about and read in words, and kept in the chat."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from ollm_tui.chat.command_output import command_message, shown_output
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean, clean_name
from ollm_tui.frontend.consent import Permissions
from ollm_tui.frontend.session import ChatSession
from ollm_tui.linear.questions import Questions
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.shell.command import run_command

if TYPE_CHECKING:
    from pathlib import Path

    from ollm_tui.shell.jobs import Job

_GRANT: Final = "!"
_KEYS: Final = {"y": "once", "a": "session", "n": "no"}
_QUESTION: Final = "Run it? y yes, a always in this chat, n no. Enter and Escape mean no."


@dataclass(frozen=True, slots=True)
class LinearCommands:
    """Runs one command; the caller runs one thing at a time."""

    session: ChatSession
    questions: Questions
    permissions: Permissions
    say: Callable[[str], None]

    async def run(self, command: str, signal: AbortSignal) -> None:
        """Ask, run a command, and add it with its output to the chat.

        Raises:
            AIError: it cannot be run.
        """
        client, place = self.session.client, self.session.runtime.shell
        if not command:
            self.say("Type a command after the exclamation mark, such as !ls.")
        elif not await self._is_allowed(command, place.folder):
            self.say("The command was not run. The Up key brings it back.")
        else:
            result = await run_command(command, place, signal)
            self.say(clean(shown_output(result)) or "Done. It printed nothing.")
            await client.add(command_message(result, place.folder))

    async def _is_allowed(self, command: str, folder: "Path") -> bool:
        if self.permissions.allows(_GRANT, "run"):
            return True
        lines = "\n".join(clean_name(line) for line in command.split("\n"))
        self.say(f"Command: {lines}\nIn the folder {clean_name(str(folder))}.")
        answer = await self.questions.key(_QUESTION, _KEYS)
        if answer == "session":
            self.permissions.grant(_GRANT, "run")
        return answer in {"once", "session"}


@dataclass(frozen=True, slots=True)
class JobNews:
    """Says once of each command in the background that it has ended."""

    session: ChatSession
    say: Callable[[str], None]
    _reported: "WeakSet[Job]" = field(default_factory=WeakSet)

    def look(self) -> None:
        """Say which have ended since the last look."""
        for job in self.session.client.jobs.listed:
            if not job.is_running and job not in self._reported:
                self._reported.add(job)
                self.say(f"The command {job.number} in the background has ended. {job.words}")
