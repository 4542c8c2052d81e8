"""What commands may ask about tools that act: what they changed, and what they may do."""

from collections.abc import Sequence
from typing import Literal, Protocol


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


class Changes(Protocol):
    """What tools changed in this chat."""

    async def undo(self, *, only_call: bool) -> Sequence[TakenBack]:
        """Take back the changes of the newest prompt, or only of its newest call."""

    async def listed(self) -> Sequence[ChangedFile]:
        """Return every file that was changed."""
