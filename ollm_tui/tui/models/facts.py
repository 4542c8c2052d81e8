"""The lines below the table of models: problems, what is in memory, what is being done."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static


class ModelFacts(Vertical):
    """Shows cleaned lines; what has nothing to say takes no room."""

    DEFAULT_CSS = """
    ModelFacts {
        height: auto;
        & > Static { display: none; height: auto; max-height: 5; padding: 0 2; }
        & > Static.-shown { display: block; }
        #problems { color: $text-warning; }
        #memory { color: $text-muted; }
        #said.-error { color: $text-error; }
        &:ansi #memory { text-style: dim; }
    }
    """

    def compose(self) -> ComposeResult:
        """Lay out the lines."""
        yield Static("", id="problems", markup=False)
        yield Static("", id="memory", markup=False)
        yield Static("", id="said", markup=False)

    def show_problems(self, lines: Sequence[str]) -> None:
        """Say who gave no list, and what to do about it."""
        self._show("#problems", lines)

    def show_memory(self, lines: Sequence[str]) -> None:
        """Say what is in memory."""
        self._show("#memory", lines)

    def show_said(self, lines: Sequence[str], *, is_error: bool) -> None:
        """Say what is being done, or how it ended."""
        self.query_one("#said").set_class(is_error, "-error")
        self._show("#said", lines)

    def _show(self, where: str, lines: Sequence[str]) -> None:
        line = self.query_one(where, Static)
        line.set_class(bool(lines), "-shown")
        line.update(Content("\n".join(lines)))
