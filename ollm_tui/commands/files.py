"""What commands may ask about files of the user: profiles, exports, snippets and instructions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ollm_tui.chat.conversation import Conversation, Preset
from ollm_tui.dataclass import dataclass


class SavedProfile(Protocol):
    """A profile that was written."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def left_out(self) -> Sequence[str]:
        """Settings of the chat that a profile cannot hold."""


class Profiles(Protocol):
    """The profiles of the settings: presets for chats."""

    def listed(self) -> Mapping[str, str]:
        """Return the names, each with a line about the profile; reads no file."""

    async def load(self, name: str) -> Preset:
        """Return what a profile says of a chat; `none` is the settings without one.

        Raises:
            AIError: there is none of this name, or it cannot be used.
        """

    async def save(
        self, name: str, conversation: Conversation, *, replaces: bool = False
    ) -> SavedProfile:
        """Write the settings of a chat as a profile.

        Raises:
            AIError: it cannot be written, or there is one and `replaces` is False.
        """


class Exports(Protocol):
    """The open chat in the formats of an export: `md`, `json` or `html`."""

    async def text(self, form: str) -> str:
        """Return the chat as text.

        Raises:
            AIError: it is empty, or cannot be read.
        """

    async def write(self, form: str, path: Path | None, *, replaces: bool) -> Path:
        """Write the chat to a file, by default to one named by its title; return its path.

        Raises:
            AIError: it cannot be written; CONFLICT if there is a file and `replaces` is False.
        """


class Snippets(Protocol):
    """Texts of the user's own, in files."""

    def listed(self) -> Mapping[str, str]:
        """Return the names, each with its first line; reads no file."""

    async def insert(self, name: str, arguments: str) -> None:
        """Put one into the draft, filled with arguments.

        Raises:
            AIError: there is none, or it cannot be read; the same below.
        """

    async def add(self, name: str, text: str) -> None:
        """Write a new one; an empty text is written in the user's editor."""

    async def edit(self, name: str) -> None:
        """Change one in the user's editor."""

    async def remove(self, name: str) -> None:
        """Remove one after a question."""


class Memory(Protocol):
    """Notes that last over chats."""

    @property
    def is_used(self) -> bool:
        """Whether this chat has them in its system prompt."""

    @property
    def tokens(self) -> int:
        """About how many tokens they are, as they were read last."""

    async def listed(self) -> Sequence[str]:
        """Read them.

        Raises:
            AIError: they cannot be read, or below not be written so.
        """

    async def add(self, text: str) -> None:
        """Add one."""

    async def replace(self, number: int, text: str | None) -> None:
        """Change one, counted from 1; None removes it."""

    def use(self, *, is_on: bool) -> None:
        """Give them to this chat and to new ones, or no more.

        Raises:
            AIError: this chat cannot have them.
        """


@dataclass(frozen=True, slots=True)
class InstructionEntry:
    """Instructions from a file: `AGENTS.md`, or a skill."""

    name: str
    about: str
    tokens: int
    """An estimate."""
    is_used: bool
    """Whether the chat has them."""
    is_file: bool = False
    """Whether it is an `AGENTS.md`."""


class Instructions(Protocol):
    """Instructions from files for the open chat."""

    def known(self) -> Sequence[InstructionEntry]:
        """Return what was listed last; reads no file."""

    async def listed(self) -> Sequence[InstructionEntry]:
        """Look what there is."""

    async def add(self, name: str) -> InstructionEntry:
        """Put instructions into the system prompt.

        Raises:
            AIError: there are none of that name, or they cannot be used.
        """

    def remove(self, name: str | None) -> Sequence[str]:
        """Take those of a name, or all, out of the system prompt; return their names."""
