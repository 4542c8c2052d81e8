"""Tools that act: a call is prepared first, and exactly what was prepared is shown and runs."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ollm_tui.dataclass import dataclass, field
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.ports import Tool
from ollm_tui.protocol.tools import CallPreview
from ollm_tui.shell.jobs import BackgroundJobs

if TYPE_CHECKING:
    from ollm_tui.tools.writing.journal import ChangeJournal


@dataclass(frozen=True, slots=True)
class CallScope:
    """What a call may use of the chat that it belongs to."""

    call_id: str
    prompt_id: str
    """The same for all calls of one prompt."""
    changes: "ChangeJournal"
    """Keeps what files were before."""
    show: Callable[[str], None]
    """Shows the end of the output while the call runs."""
    has_untrusted_input: bool = False
    """Whether the model read something from outside in this turn: a file, a page, an output."""
    jobs: BackgroundJobs = field(default_factory=BackgroundJobs)
    """The commands of the chat that run in the background."""


@runtime_checkable
class PreparedCall(Tool, Protocol):
    """One call of a tool that acts, frozen: its `run` does what the preview shows."""

    @property
    def preview(self) -> CallPreview:
        """What it will do."""


@dataclass(frozen=True, slots=True)
class UserQuestion:
    """What a model asks the user."""

    text: str
    choices: tuple[str, ...] = ()

    def meant(self, typed: str) -> str:
        """Return the answer that was typed; the number of a choice stands for it."""
        answer = typed.strip()
        if answer.isascii() and answer.isdigit() and 1 <= int(answer[:3]) <= len(self.choices):
            return self.choices[int(answer) - 1]
        return answer


@runtime_checkable
class AsksUser(Tool, Protocol):
    """A call that is a question to the user: it is asked in the place of an approval."""

    @property
    def question(self) -> UserQuestion:
        """What is asked."""

    def take_answer(self, typed: str | None) -> None:
        """Take what the user typed; None is no answer."""


@runtime_checkable
class PreparesCalls(Protocol):
    """A tool whose calls are prepared before anybody is asked."""

    async def prepare(self, args: JsonObject, scope: CallScope) -> PreparedCall:
        """Look at what a call would do, without doing any of it.

        Raises:
            ToolFailure: it cannot be done.
        """


def preview_of(tool: Tool) -> CallPreview | None:
    """Return what a call will do, as far as it was prepared; else its arguments tell."""
    return tool.preview if isinstance(tool, PreparedCall) else None
