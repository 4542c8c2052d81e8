"""Asks whether a copy that no clipboard takes shall be written to a file."""

from pathlib import Path

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from ollm_tui.decode.clean import clean_name
from ollm_tui.tui.copies import counted_lines
from ollm_tui.tui.modals.dialog import Dialog


class SaveCopy(Dialog[bool]):
    """Gives whether to write it."""

    DEFAULT_CSS = """
    SaveCopy {
        & > Vertical { width: 70; height: auto; max-height: 96%; }
        #what { height: auto; }
    }
    """

    def __init__(self, lines: int, characters: int, folder: Path) -> None:
        super().__init__()
        self._words = (
            f"{characters:,} characters in {counted_lines(lines)} are more than terminals are known"
            f" to take as their clipboard.\n\nWrite them to a file in {short_path(folder)}? Nobody"
            " else can read it."
        )

    def compose(self) -> ComposeResult:
        """Lay out the question."""
        keys = Content.assemble(
            ("y", "bold $text-accent"),
            " write the file · ",
            ("n", "bold $text-accent"),
            " or Esc no",
        )
        with Vertical():
            yield Static("Too much for the clipboard", classes="title", markup=False)
            yield Static(Content(self._words), id="what")
            yield Static(keys, id="about")

    def on_key(self, event: events.Key) -> None:
        """Answer."""
        event.stop()
        event.prevent_default()
        if event.character == "y" or event.key == "enter":
            self.dismiss(True)
        elif event.character == "n" or event.key in {"escape", "ctrl+c"}:
            self.dismiss(False)


def short_path(path: Path) -> str:
    """Write a path as people do, with `~` for the home folder."""
    try:
        return clean_name(str(Path("~") / path.relative_to(Path.home())))
    except (ValueError, RuntimeError):  # elsewhere, or nobody's home is known
        return clean_name(str(path))
