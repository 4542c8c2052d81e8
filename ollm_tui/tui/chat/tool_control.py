"""Tools beside their rows: their times, commands in the background, the limit of turns."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import anyio
from textual import events

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.chat_events import ToolCallStart
from ollm_tui.tui.chat.presenter import TurnPresenter
from ollm_tui.tui.chat.status.status_presenter import StatusPresenter
from ollm_tui.tui.chat.tool_rows import ToolRows
from ollm_tui.tui.dialogs import ChoiceDialog, ChoiceRow, Dialogs

if TYPE_CHECKING:
    from ollm_tui.protocol.chat_events import ChatEvent
    from ollm_tui.shell.jobs import Job

EVERY_S: Final = 1.0
"""How often the time of running tools is written."""

GO_ON: Final = "go on"
WRAP_UP: Final = "wrap up"
STOP: Final = "stop"
_LETTERS: Final[Mapping[str, str]] = MappingProxyType({"g": GO_ON, "w": WRAP_UP, "s": STOP})
_DIGITS: Final = frozenset("123456789")
_ROWS: Final = (
    ChoiceRow(GO_ON, "Continue, for as many turns again", "g"),
    ChoiceRow(WRAP_UP, "Wrap up: the model answers now, without tools", "w"),
    ChoiceRow(STOP, "Stop here", "s"),
)


class AtLimit(ChoiceDialog):
    """Returns one of the three, or a number of turns as text; None stops, too.

    A key of the user opens it, so that no answer is typed by accident.
    """

    def __init__(self) -> None:
        super().__init__(
            "The model wants to continue with tools",
            _ROWS,
            "1 to 9 allows that many more turns · Enter choose · Esc stops here",
        )

    async def _on_key(self, event: events.Key) -> None:
        """Choose by a letter or a digit."""
        character = event.character or ""
        choice = _LETTERS.get(character) or (character if character in _DIGITS else None)
        if choice is not None:
            event.stop()
            event.prevent_default()
            self.dismiss(choice)


@dataclass(slots=True)
class ToolTimes:
    """Writes the times while tools run, and how many commands run in the background."""

    rows: ToolRows
    dialogs: Dialogs
    jobs: "Callable[[], Sequence[Job]]"
    """Returns the commands of the open chat that were started in the background."""
    show_jobs: Callable[[], object]
    say: Callable[[str], object]
    _is_writing: bool = False

    def begin_answer(self) -> None:
        """Do nothing: no tool runs yet."""

    def take(self, event: "ChatEvent") -> None:
        """Begin with the first tool."""
        if isinstance(event, ToolCallStart) and not self._is_writing:
            self._is_writing = True
            self.dialogs.run(self._write(), "times")

    def end_answer(self) -> None:
        """Do nothing: no tool runs any more, which ends the writing."""

    async def _write(self) -> None:
        running: Mapping[int, Job] = {}
        try:
            await anyio.sleep(EVERY_S)
            while self.rows.are_running or running or self._running():
                self.rows.show_times()
                running = self._say_ended(running)
                await anyio.sleep(EVERY_S)
        finally:
            self._is_writing = False

    def _running(self) -> "dict[int, Job]":
        return {job.number: job for job in self.jobs() if job.is_running}

    def _say_ended(self, before: "Mapping[int, Job]") -> "Mapping[int, Job]":
        """Say which commands have ended, show how many run, and return those."""
        running = self._running()
        if running.keys() != before.keys():
            self.show_jobs()
        listed = self.jobs()
        for number, job in before.items():
            if not job.is_running and job in listed:  # not of a chat that was left
                self.say(f"The command {number} in the background has ended. {job.words}")
        return running


def tool_times(presenter: TurnPresenter, status: StatusPresenter, dialogs: Dialogs) -> ToolTimes:
    """Return what writes the times of the open chat's tools."""
    jobs = partial(_jobs_of, status)
    return ToolTimes(presenter.tools, dialogs, jobs, status.show_tools, presenter.note)


def _jobs_of(status: StatusPresenter) -> "Sequence[Job]":
    return status.session.client.jobs.listed
