"""What tools may do without a question, and when a key counts as an answer to one; no screen."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import anyio.to_thread

from ollm_tui.dataclass import dataclass

if TYPE_CHECKING:
    from ollm_tui.frontend.grants import FolderGrants, Grant
    from ollm_tui.protocol.tools import CallPreview, ToolEffect

SHELL: Final = "shell"
"""The tool whose commands permissions cover by their words."""
PermissionMode: TypeAlias = Literal["ask", "reads", "all"]


@dataclass(frozen=True, slots=True)
class _Mode:
    next: PermissionMode
    suffix: str
    """What follows the number of tools in the status line."""
    sentence: str


_MODES: Final[Mapping[PermissionMode, _Mode]] = {
    "ask": _Mode("reads", "", "Every tool call needs approval."),
    "reads": _Mode(
        "all", ", auto-approve reads", "Read-only tools run without asking in this chat."
    ),
    "all": _Mode("ask", ", auto-approve all", "All tools run without asking in this chat."),
}


class Permissions:
    """What runs without a question: the mode of the open chat, and permissions for it or a folder.

    Commands of a model are covered by their words only, and some calls by nothing.
    """

    def __init__(self) -> None:
        self.mode: PermissionMode = "ask"
        self.folder: FolderGrants | None = None
        """Keeps permissions for the folder of the tools; None keeps none."""
        self._chat: list[Grant] = []
        self._kept: tuple[Grant, ...] = ()

    @property
    def word(self) -> str:
        """The mode as a suffix for the number of tools; empty if every call asks."""
        return _MODES[self.mode].suffix

    @property
    def sentence(self) -> str:
        """The mode as a sentence."""
        return _MODES[self.mode].sentence

    def forget(self) -> None:
        """Reset for another chat; what was allowed for the folder stays."""
        self.mode = "ask"
        self._chat.clear()

    def cycle(self) -> str:
        """Switch to the next mode and return a sentence about it."""
        self.mode = _MODES[self.mode].next
        return self.sentence

    async def refresh(self) -> None:
        """Read the permissions for the folder, which another window may have changed."""
        if self.folder is not None:
            self._kept = await anyio.to_thread.run_sync(self.folder.read)

    def grant(self, name: str, effect: "ToolEffect", preview: "CallPreview | None" = None) -> None:
        """Allow a tool with this effect, or exactly the command shown, until the chat is left."""
        # imported with the first permission
        from ollm_tui.frontend.grants import grant_of

        grant = grant_of(name, effect, preview)
        if grant not in self._chat:
            self._chat.append(grant)

    async def keep(self, name: str, effect: "ToolEffect", preview: "CallPreview | None") -> bool:
        """Allow the same in this folder; for the chat alone, and False, if it cannot be kept."""
        if self.folder is not None:
            with suppress(OSError):
                await anyio.to_thread.run_sync(self.folder.add, name, effect, preview)
                await self.refresh()
                return True
        self.grant(name, effect, preview)
        return False

    def allow_commands(self, words: tuple[str, ...]) -> None:
        """Allow commands of a model that fit a pattern, until the chat is left."""
        # imported with the first permission
        from ollm_tui.frontend.grants import Grant

        self._chat.append(Grant(SHELL, "run", words))

    async def listed(self) -> "Sequence[Grant]":
        """Return all permissions, those of the chat first."""
        await self.refresh()
        return (*self._chat, *self._kept)

    async def revoke(self, grant: object) -> None:
        """Take a permission back.

        Raises:
            AIError: it is kept in a file that cannot be written.
        """
        self._chat = [one for one in self._chat if one != grant]
        if self.folder is not None and grant in self._kept:
            await anyio.to_thread.run_sync(self.folder.remove, grant)
            await self.refresh()

    def allows(self, name: str, effect: "ToolEffect", preview: "CallPreview | None" = None) -> bool:
        """Return whether a call of this tool runs without asking; some are always asked about."""
        if preview is not None and preview.follows_up:
            return True
        if preview is not None and (preview.has_untrusted_input or not preview.may_last):
            return False
        if self.mode == "all" or (self.mode == "reads" and effect == "read"):
            return True
        return any(one.covers(name, effect, preview) for one in (*self._chat, *self._kept))


def granted_words(name: str, preview: "CallPreview | None") -> str:
    """Return what a permission for further calls covers: a tool, a command or a host."""
    if preview is not None and preview.is_command:
        return "this command"
    return preview.host if preview is not None and preview.host else name


def can_grant(preview: "CallPreview | None") -> bool:
    """Return whether a call may be allowed together with further ones."""
    if preview is None:
        return True
    return preview.may_last and (not preview.is_command or preview.argv is not None)


ARMED_AFTER_S: Final = 0.4
HELD_S: Final = 1.0
"""A held key has repeated by then: keyboards wait 0.25 to 0.7 s before they repeat."""


class Arming:
    """Decides when a dialog may take a key for an answer; pure.

    The user who is typing when a dialog opens has not read it. Answers count only after the dialog
    was visible for a while and typing has paused for as long; a letter without a meaning shows that
    typing goes on. All times are seconds of one clock.
    """

    def __init__(self, answered_at: float | None = None) -> None:
        """Start; `answered_at` is when the last dialog was answered: its key may still be held."""
        self._armed_at: float | None = None
        self._earliest = 0.0 if answered_at is None else answered_at + HELD_S

    def shown(self, now: float) -> None:
        """Start the wait, because the dialog is visible now."""
        if self._armed_at is None:
            self._armed_at = max(self._earliest, now + ARMED_AFTER_S)

    def is_armed(self, now: float) -> bool:
        """Return whether an answer counts."""
        return self._armed_at is not None and now >= self._armed_at

    def typed(self, now: float) -> None:
        """Restart the wait, because of a key or a paste that is no answer."""
        if self._armed_at is not None:
            self._armed_at = max(self._armed_at, now + ARMED_AFTER_S)

    def waits_for(self, now: float) -> float:
        """Return the seconds that are left to wait."""
        return ARMED_AFTER_S if self._armed_at is None else max(0.0, self._armed_at - now)
