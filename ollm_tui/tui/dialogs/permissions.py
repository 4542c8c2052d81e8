"""What a person has allowed in the open chat, so that not every call asks."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    # known to whoever asks; the first frame does without it
    from ollm_tui.protocol.tools import ToolEffect

PermissionMode: TypeAlias = Literal["ask", "reads", "all"]
_NEXT: Final[Mapping[PermissionMode, PermissionMode]] = MappingProxyType(
    {"ask": "reads", "reads": "all", "all": "ask"}
)
_SHORT: Final[Mapping[PermissionMode, str]] = MappingProxyType(
    {"ask": "", "reads": ", auto-approve reads", "all": ", auto-approve all"}
)
_WORDS: Final[Mapping[PermissionMode, str]] = MappingProxyType(
    {
        "ask": "Every tool call needs approval.",
        "reads": "Read-only tools run without asking in this chat.",
        "all": "All tools run without asking in this chat.",
    }
)


class Permissions:
    """The mode of one chat and the tools allowed for as long as it is open."""

    def __init__(self) -> None:
        self.mode: PermissionMode = "ask"
        self._granted: set[tuple[str, ToolEffect]] = set()

    @property
    def word(self) -> str:
        """Say the mode beside a count of tools; asking is what is expected and needs no word."""
        return _SHORT[self.mode]

    def forget(self) -> None:
        """Begin another chat: nothing is allowed there yet."""
        self.mode = "ask"
        self._granted.clear()

    def cycle(self) -> str:
        """Go to the next mode and say in a sentence what it means."""
        self.mode = _NEXT[self.mode]
        return _WORDS[self.mode]

    def grant(self, name: str, effect: "ToolEffect") -> None:
        """Allow one tool, with the effect that was shown, until the chat is left."""
        self._granted.add((name, effect))

    def allows(self, name: str, effect: "ToolEffect") -> bool:
        """Tell whether a call of this tool runs without asking."""
        if self.mode == "all" or (self.mode == "reads" and effect == "read"):
            return True
        return (name, effect) in self._granted
