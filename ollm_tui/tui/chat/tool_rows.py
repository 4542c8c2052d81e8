"""The rows of the tools that run: what they print, how long they take, and how each ended."""

from collections.abc import Callable

from ollm_tui.dataclass import dataclass, field
from ollm_tui.frontend.tool_text import main_argument
from ollm_tui.protocol.chat_events import ToolCallOutput, ToolCallResult, ToolCallStart
from ollm_tui.tui.chat.ports import TranscriptPort


@dataclass(slots=True)
class ToolRows:
    """The calls of one answer that have not ended, by their blocks."""

    transcript: TranscriptPort
    clock: Callable[[], float]
    answered_at: Callable[[str], float | None]
    """Returns when the user approved a call, or None, and forgets it."""
    is_asking: bool = False
    """Whether a call waits for approval: that is not the time of a tool."""
    _since: dict[str, float] = field(default_factory=dict)
    _ids: dict[str, str] = field(default_factory=dict)

    @property
    def are_running(self) -> bool:
        """Whether a call has not ended."""
        return bool(self._since)

    def call_of(self, block: str) -> str | None:
        """Return the id of the call that runs in a row; None if none does."""
        return self._ids.get(block) if block in self._since else None

    def take(self, event: ToolCallStart | ToolCallOutput | ToolCallResult) -> None:
        """Show what became of a call; nothing after its end."""
        call, block = event.call, event.block
        if isinstance(event, ToolCallStart):
            self._since[block], self._ids[block] = self.clock(), call.id
            argument = main_argument(call.args, call.raw_args)
            self.transcript.add_tool(block, call.name, argument)
        elif isinstance(event, ToolCallOutput):
            self.transcript.show_running(block, event.output)
        elif (since := self._since.pop(block, None)) is not None:
            took = self.clock() - max(since, self.answered_at(call.id) or since)
            shown = event.result.content if event.result.display is None else event.result.display
            self.transcript.end_tool(block, event.result.outcome, took, shown)

    def show_times(self) -> None:
        """Write how long each call has been running."""
        for block, since in () if self.is_asking else self._since.items():
            answered = self.answered_at(self._ids[block])
            self._since[block] = since = max(since, answered or since)
            self.transcript.show_time(block, self.clock() - since)

    def stop(self) -> None:
        """Show that what still runs was stopped."""
        for block, since in self._since.items():
            self.transcript.end_tool(block, "stopped", self.clock() - since, "")
        self.forget()

    def forget(self) -> None:
        """Forget all calls."""
        self.is_asking = False
        self._since.clear()
        self._ids.clear()
