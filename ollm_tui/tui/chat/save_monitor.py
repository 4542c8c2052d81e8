"""A chat that could not be saved: said when it happens, and asked about before it is lost."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ollm_tui.decode.counted import counted
from ollm_tui.tui.capabilities import KeepsChats, TellsUnsaved
from ollm_tui.tui.services import Runtime
from ollm_tui.tui.transcript.block import NoteKind

if TYPE_CHECKING:
    from ollm_tui.protocol.errors import AIError

Say = Callable[[str, NoteKind, str | None], None]

_AGAIN: Final = "Quit again to leave without saving."


class SaveMonitor:
    """Knows what was said of it, so that nothing is said twice."""

    def __init__(self, runtime: Runtime, say: Say) -> None:
        self._runtime = runtime
        self._say = say
        self._told: str | None = None
        self._has_asked = False

    def look(self) -> None:
        """Say that saving has failed, or works again."""
        problem = self._problem()
        words = problem.message if problem is not None else None
        if words == self._told:
            return
        self._told = words
        self._has_asked = False
        if problem is not None:
            self._say(problem.message, "warning", problem.hint)
        else:
            self._say("The chat is saved again.", "info", None)

    def holds_back(self) -> bool:
        """Say once what would be lost by quitting; whoever quits again means it."""
        problem, count = self._problem(), self._count()
        if problem is None or not count or self._has_asked:
            return False
        self._has_asked = True
        what = f"{counted(count, 'message')} {'is' if count == 1 else 'are'}"
        self._say(f"{what} in memory only. {problem.message}", "warning", _AGAIN)
        return True

    def _problem(self) -> "AIError | None":
        chats = self._chats()
        return chats.problem if chats is not None else None

    def _count(self) -> int:
        chats = self._chats()
        return chats.unsaved if chats is not None else 0

    def _chats(self) -> TellsUnsaved | None:
        chats: object = self._runtime.chats if isinstance(self._runtime, KeepsChats) else None
        return chats if isinstance(chats, TellsUnsaved) else None
