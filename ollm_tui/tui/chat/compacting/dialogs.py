"""The dialogs around a compaction: writing the summary, reading it, and changing its words."""

import time
from collections.abc import Awaitable, Callable
from typing import ClassVar, Final, TypeAlias

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static, TextArea

from ollm_tui.chat.compaction import Compaction
from ollm_tui.chat.summary import SummaryProgress
from ollm_tui.decode.clean import clean, clean_name
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.tui.dialogs import WAITING, ArmedDialog, Dialog, Passage, Reading, named_keys
from ollm_tui.tui.widgets import from_editor, to_editor

WriteSummary: TypeAlias = Callable[[AbortSignal, SummaryProgress], Awaitable[Compaction]]
_LOOK_EVERY_S: Final = 0.25
_LAST_WORDS: Final = 300
"""Characters of a growing summary that are shown."""
_ROWS_AROUND: Final = 16


class SummaryWriting(Dialog[Compaction | AIError | None]):
    """Shows how a summary is written; returns it, why there is none, or None if it was stopped."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "stop", "Stop", show=False, priority=True)
    ]
    DEFAULT_CSS = """
    SummaryWriting {
        & > Vertical { width: 70; height: auto; max-height: 96%; }
        #progress { height: 1; margin-bottom: 1; }
        #words { height: 5; color: $text-muted; }
    }
    """

    def __init__(self, write: WriteSummary, model: str) -> None:
        super().__init__()
        self._write = write
        self._model = model
        self._signal = AbortSignal()
        self._progress = SummaryProgress()
        self._begun = time.monotonic()

    def compose(self) -> ComposeResult:
        """Lay out the progress and the last words."""
        with Vertical():
            yield Static("Summarising the older messages", classes="title")
            yield Static(id="progress")
            yield Static(id="words")
            yield Static(Content("Esc stop; the chat stays as it is"), id="about")

    def on_mount(self) -> None:
        """Begin to write."""
        self._show()
        self.set_interval(_LOOK_EVERY_S, self._show)
        self.run_worker(self._run())

    async def _run(self) -> None:
        try:
            result: Compaction | AIError = await self._write(self._signal, self._progress)
        except AIError as error:
            result = error
        if not self._signal.aborted:
            self.dismiss(result)

    def _show(self) -> None:
        if self.has_its_parts:
            waited = f"{time.monotonic() - self._begun:.0f} s"
            done = f"{100 * self._progress.share:.0f} % read"
            parts = [clean_name(self._model), waited, done] if self._progress.part else [waited]
            self.query_one("#progress", Static).update(Content(" · ".join(parts)))
            words = clean(self._progress.text[-_LAST_WORDS:])
            self.query_one("#words", Static).update(Content(words))

    def action_stop(self) -> None:
        """Stop the model at once."""
        self._signal.abort()
        self.dismiss(None)


class CompactionQuestion(ArmedDialog[str | None]):
    """Shows what would take the place of messages; returns the letter that was chosen, or None.

    `y` is chosen only once all of it was shown.
    """

    DEFAULT_CSS = """
    CompactionQuestion {
        & > Vertical { width: 80; height: auto; max-height: 96%; }
        #what { height: auto; margin-bottom: 1; }
        &.-low #what { margin-bottom: 0; }
    }
    """

    def __init__(
        self,
        title: str,
        words: str,
        shown: Passage,
        letters: tuple[tuple[str, str], ...],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask; `letters` are what can be pressed, with what each does."""
        super().__init__(clock=clock)
        self._title = title
        self._words = words
        self._passage = shown
        self._letters = letters

    def compose(self) -> ComposeResult:
        """Lay out the figures, and the text to be read."""
        with Vertical():
            yield Static(Content(self._title), classes="title")
            yield Static(Content(self._words), id="what")
            yield Reading([self._passage], margin=_ROWS_AROUND)
            yield Static(Content(WAITING), id="about")

    def keys(self) -> Content:
        """Return the letters; `y` only once all was shown."""
        letters = [one for one in self._letters if one[0] not in self.CONSENTS or self.is_read]
        return named_keys(*letters, ("n", "or Esc cancel"))

    def answer(self, event: events.Key) -> bool:
        """Answer by a letter."""
        if event.character == "n":
            self.dismiss(None)
            return True
        if event.character not in dict(self._letters):
            return False
        self.dismiss(event.character)
        return True

    def refuse(self) -> None:
        """Close it and change nothing."""
        self.dismiss(None)


class EditSummary(Dialog[str | None]):
    """Returns the summary in other words, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", "Cancel", show=False, priority=True),
        Binding("enter", "save", "Save", show=False, priority=True),
        Binding("ctrl+j,shift+enter,alt+enter", "newline", "New line", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    EditSummary {
        & > Vertical { width: 84; height: auto; max-height: 96%; }
        TextArea, TextArea:focus {
            border: none; height: auto; min-height: 3; max-height: 14; padding: 0 1;
            background: $panel;
        }
        &.-low TextArea { max-height: 8; }
    }
    """

    def __init__(self, summary: str) -> None:
        super().__init__()
        self._summary = summary

    def compose(self) -> ComposeResult:
        """Lay out the editor and its keys."""
        with Vertical():
            yield Static("Edit the summary", classes="title")
            yield TextArea(to_editor(self._summary), compact=True, show_line_numbers=False)
            yield Static(Content("Enter done · Ctrl+J new line · Esc cancel"), id="about")

    def on_mount(self) -> None:
        """Put the cursor at the end of the text."""
        area = self.query_one(TextArea)
        area.move_cursor(area.document.end)

    def action_newline(self) -> None:
        """Begin a new line."""
        self.query_one(TextArea).insert("\n")

    def action_save(self) -> None:
        """Return the text, unless it is empty."""
        text = from_editor(self.query_one(TextArea).text).strip()
        if text:
            self.dismiss(text)
        else:
            self.remark("A summary has words")
