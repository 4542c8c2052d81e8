"""The commands that only the chat in lines has: what keys do on the screen."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Command, offered
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.counted import counted
from ollm_tui.linear.chat import LinearChat
from ollm_tui.linear.host import LinearHost

_REFUSED: Final = frozenset({"theme", "stats", "focus", "queue"})
KEYS_HELP: Final = (
    "While an answer comes: Escape or Ctrl+C stops it, Enter says what is going on, and any letter "
    "begins a message that is sent afterwards. At the prompt: Up brings back earlier messages, Tab "
    "completes commands, a line that ends with a backslash goes on in the next one, Ctrl+C clears "
    "the line, Ctrl+D quits. An empty line reads what arrived meanwhile."
)


@dataclass(frozen=True, slots=True)
class LinearCommands:
    """Makes the commands for one chat."""

    chat: LinearChat
    host: LinearHost

    def all(self) -> tuple[Command, ...]:
        """Return them."""
        return (
            Command("read", (), "[N]", "Read the last answer again, or message N.", self._read),
            Command(
                "mark",
                (),
                "[N]",
                "Mark the last answer, or message N.",
                self._mark,
            ),
            Command("state", ("status",), "", "Say the model, the chat and its size.", self._state),
        )

    async def _read(self, _host: CommandHost, argument: str) -> None:
        reading = self.chat.reading
        if (at := reading.position(argument)) is not None:
            await reading.read([at])

    async def _mark(self, _host: CommandHost, argument: str) -> None:
        await self.chat.reading.mark(argument)

    async def _state(self, _host: CommandHost, _argument: str) -> None:
        session = self.chat.session
        shown = self.chat.runtime.catalog.shown_address(session.ref) if session.ref else "none"
        count = len(session.client.conversation.messages)
        lines = [f"Model: {shown}.", f"This chat: {counted(count, 'message')}."]
        room = self.chat.runtime.room(session.client.conversation)
        if room is not None:
            lines.append(f"Context: {room.used:,} of {room.limit:,} tokens.")
        if tools := session.client.conversation.tools:
            lines.append(f"Tools: {', '.join(tools)}.")
        if running := session.client.jobs.running:
            lines.append(f"In the background: {counted(running, 'command')}.")
        if files := self.chat.attachments.kinds.total():
            lines.append(f"Attached: {counted(files, 'file')}.")
        self.chat.write("\n".join(lines))


def without_screen(commands: Sequence[Command]) -> tuple[Command, ...]:
    """Offer no command that needs a screen or a voice; typed in full, it says what else does it."""
    return tuple(
        replace(one, is_offered=lambda _host: False) if one.name in _REFUSED else one
        for one in commands
    )


def help_lines(commands: Callable[[], Sequence[Command]], host: LinearHost) -> list[str]:
    """Return what can be typed, a line for each command."""
    return [
        KEYS_HELP,
        "Commands:",
        *(f"{one.signature}: {one.help}" for one in offered(commands(), host)),
    ]
