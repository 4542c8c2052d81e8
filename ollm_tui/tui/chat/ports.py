"""What the presenter uses of a transcript and a status bar, so that it knows no widget."""

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    # the status bar needs only the states, and that before the first frame
    from ollm_tui.protocol.blocks import MediaData
    from ollm_tui.protocol.message import Usage
    from ollm_tui.protocol.tools import ToolOutcome
    from ollm_tui.tui.transcript import NoteKind

TurnState: TypeAlias = Literal[
    "ready",
    "loading",
    "reading",
    "compacting",
    "waiting",
    "thinking",
    "answering",
    "tools",
    "drawing",
    "making",
    "command",
    "asking",
    "stopped",
    "error",
    "refused",
]

ChatAct: TypeAlias = Literal[
    "new_chat",
    "next_recent",
    "dictate",
    "insert",
    "cancel",
    "find",
    "edit_draft",
    "paste_picture",
    "previous_question",
    "next_question",
    "focus",
    "tables",
    "tables_left",
    "tables_right",
    "times",
]
"""What a key of the chat does, besides opening a view."""


class TranscriptPort(Protocol):
    """The transcript as the presenter uses it."""

    def add_user(self, block_id: str, text: str) -> None:
        """Show a prompt."""

    def remove_from(self, block_id: str, *, only: bool = False) -> None:
        """Remove a block and all after it, or with `only` what it shows alone."""

    def add_thinking(self, block_id: str, *, hidden: bool = False) -> None:
        """Open a block of thinking; a hidden one is folded."""

    def add_answer(self, block_id: str, whole: str | None = None) -> None:
        """Open a block of the answer, or show a `whole` one."""

    def append(self, block_id: str, delta: str) -> None:
        """Add to an open block."""

    def finish(self, block_id: str, summary: str | None = None, *, is_tree: bool = False) -> None:
        """Close a block; a summary folds it, and an answer that is JSON becomes a tree."""

    def add_tool(
        self, block_id: str, name: str, main_argument: str = "", *, is_command: bool = False
    ) -> None:
        """Show that a tool runs, or a command of the user."""

    def show_running(self, block_id: str, output: str) -> None:
        """Show the end of what a tool has printed so far."""

    def show_time(self, block_id: str, seconds: float) -> None:
        """Show how long a tool has been running."""

    def end_tool(
        self, block_id: str, outcome: "ToolOutcome", seconds: float | None, output: str
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
        self, block_id: str, text: str, kind: "NoteKind" = "info", hint: str | None = None
    ) -> None:
        """Show a sentence of the program."""


class StatusPort(Protocol):
    """The status bar as the presenter uses it."""

    def show_turn(self, state: TurnState) -> None:
        """Show what the answer is doing."""

    def show_speed(self, tokens_per_s: float | None) -> None:
        """Show how fast the answer comes; None removes the figure."""

    def show_first_token(self, seconds_text: str) -> None:
        """Show how long the first token took; an empty text removes it."""

    def show_progress(self, progress: str) -> None:
        """Show how far a drawing is, such as `step 3 of 20`; an empty text removes it."""

    def show_usage(self, usage: "Usage") -> None:
        """Show what the server counted."""

    def show_room(self, used: int, limit: int) -> None:
        """Show what was counted before sending, and the size of the window; both in tokens."""
