"""What is asked of a transcript and a status bar, so that a test can stand in for them."""

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from ollm_tui.protocol.message import Usage
from ollm_tui.tui.transcript.painters.tool_call import ToolOutcome
from ollm_tui.tui.transcript.transcript import NoteKind

if TYPE_CHECKING:
    from ollm_tui.protocol.blocks import MediaData

TurnState: TypeAlias = Literal[
    "waiting", "thinking", "answering", "tools", "asking", "ready", "stopped", "error", "refused"
]


class TranscriptFace(Protocol):
    """What the presenter asks of a transcript."""

    def add_user(self, block_id: str, text: str) -> None:
        """Show a prompt."""

    def remove_from(self, block_id: str) -> None:
        """Take away a block and all after it."""

    def add_thinking(self, block_id: str) -> None:
        """Open a block of reasoning."""

    def add_answer(self, block_id: str) -> None:
        """Open a block of the answer."""

    def append(self, block_id: str, delta: str) -> None:
        """Add to an open block."""

    def finish(self, block_id: str, summary: str | None = None) -> None:
        """Close a block; a summary folds it."""

    def add_tool(self, block_id: str, name: str, main_argument: str = "") -> None:
        """Show that a tool runs."""

    def end_tool(
        self, block_id: str, outcome: ToolOutcome, seconds: float | None, output: str
    ) -> None:
        """Show how it ended."""

    def add_picture(
        self,
        block_id: str,
        data: "MediaData | None",
        mime_type: str | None = None,
        url: str | None = None,
        label: str = "",
    ) -> None:
        """Show a picture, or the link to one."""

    def add_note(
        self, block_id: str, text: str, kind: NoteKind = "info", hint: str | None = None
    ) -> None:
        """Show a sentence of the app's own."""


class StatusFace(Protocol):
    """What the presenter asks of a status bar."""

    def show_turn(self, state: TurnState) -> None:
        """Say what the answer is doing."""

    def show_speed(self, tokens_per_s: float | None) -> None:
        """Say how fast the answer comes; None takes the figure away."""

    def show_usage(self, usage: Usage) -> None:
        """Say what the server counted."""

    def show_room(self, used: int, limit: int) -> None:
        """Say what was counted before asking, and how much there is room for."""
