"""What commands may ask about tools: what they changed, what they may do, and what runs."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from ollm_tui.mcp.server import McpServer


class TakenBack(Protocol):
    """A file whose change was taken back, or not."""

    @property
    def shown(self) -> str:
        """Its path."""

    @property
    def what(self) -> str:
        """`removed` or `restored`."""

    @property
    def problem(self) -> str | None:
        """Why it was left alone."""


class ChangedFile(Protocol):
    """A file that tools changed in this chat."""

    @property
    def shown(self) -> str:
        """Its path."""

    @property
    def text(self) -> str:
        """A unified diff."""

    @property
    def is_current(self) -> bool:
        """Whether nobody has changed it since."""


class GrantedTool(Protocol):
    """A tool, or commands, that may run without a question."""

    @property
    def tool(self) -> str:
        """Its name."""

    @property
    def words(self) -> tuple[str, ...] | None:
        """The pattern of commands; None is every call."""

    @property
    def until(self) -> float | None:
        """When it ends, in seconds since 1970; None is when the chat is left."""


class PermissionList(Protocol):
    """What tools may do without a question."""

    mode: Literal["ask", "reads", "all"]
    """The mode of the open chat."""

    @property
    def sentence(self) -> str:
        """The mode as a sentence."""

    def allow_commands(self, words: tuple[str, ...]) -> None:
        """Allow commands that fit a pattern, in this chat."""

    async def listed(self) -> Sequence[GrantedTool]:
        """Return all permissions."""

    async def revoke(self, grant: object) -> None:
        """Take one of them back.

        Raises:
            AIError: it is kept in a file that cannot be written.
        """


class LoopControl(Protocol):
    """What happens after the limit of turns with tools."""

    @property
    def can_go_on(self) -> bool:
        """Whether the newest answer ended there."""

    def go_on(self, turns: int | None = None) -> None:
        """Let the model continue for some more turns, or for as many again."""

    def wrap_up(self) -> None:
        """Have it answer now, without tools."""

    def give_up(self) -> None:
        """Leave the answer as it is."""


class ToolAtWork(Protocol):
    """A call of a tool that has not ended."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def words(self) -> str:
        """The tool, its main argument, and how long it has been running."""


class BackgroundJob(Protocol):
    """A command of a model that was started in the background."""

    @property
    def number(self) -> int:
        """Its number in this chat."""

    @property
    def command(self) -> str:
        """The command."""

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""

    @property
    def seconds(self) -> float:
        """How long it has been running, or ran."""

    @property
    def words(self) -> str:
        """How it ended, as a sentence; empty while it runs."""

    @property
    def output(self) -> str:
        """Its output, the beginning and the end of a long one."""


class WorkInProgress(Protocol):
    """What runs in this chat."""

    def tools(self) -> Sequence[ToolAtWork]:
        """Return the calls of tools that have not ended."""

    def cancel(self, call_id: str) -> bool:
        """Cancel one of them, and let the others go on; False if it has ended."""

    def jobs(self) -> Sequence[BackgroundJob]:
        """Return the commands in the background, also those that have ended."""

    def stop_job(self, number: int) -> bool:
        """Have one of them ended with all that it started; False if it does not run."""


class SignInControl(Protocol):
    """Sign-ins to MCP servers, in the browser; nothing opens without a yes."""

    def begin(self, server: "McpServer") -> None:
        """Have the user sign in to a server."""

    def is_going(self, server: str) -> bool:
        """Whether the user is signing in to this server."""

    def take(self, server: str, address: str) -> bool:
        """Take the address where the browser ended; False if it answers no sign-in."""

    def cancel(self, server: str) -> bool:
        """Give a sign-in up; False if there is none."""


class ByCommands(Protocol):
    """What commands changed: it is known which files, not what was in them."""

    @property
    def files(self) -> Mapping[str, Literal["new", "changed", "deleted"]]:
        """The files, by their paths in the folder of the tools."""

    @property
    def is_whole(self) -> bool:
        """Whether all files of the folder could be compared each time."""


class Changes(Protocol):
    """What tools changed in this chat."""

    async def by_commands(self) -> ByCommands:
        """Return which files commands changed."""

    async def undo(self, *, only_call: bool) -> Sequence[TakenBack]:
        """Take back the changes of the newest prompt, or only of its newest call."""

    async def listed(self) -> Sequence[ChangedFile]:
        """Return every file that was changed."""
