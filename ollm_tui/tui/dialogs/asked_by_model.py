"""A question of the model: read, then answered in a field. It allows nothing, whatever is typed."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Final

import anyio
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from ollm_tui.decode.clean import clean_name
from ollm_tui.tui.dialogs.armed import WAITING, ArmedDialog, named_keys
from ollm_tui.tui.dialogs.reading import Passage, Reading
from ollm_tui.tui.widgets import TextField

if TYPE_CHECKING:
    from ollm_tui.tools.prepared import UserQuestion

_KEYS_THAT_SCROLL: Final = frozenset({"up", "down", "pageup", "pagedown"})
MAX_ANSWER_LENGTH: Final = 10_000


class ModelQuestionDialog(ArmedDialog[str | None]):
    """Returns what the user typed; None for no answer."""

    DEFAULT_CSS = """
    ModelQuestionDialog {
        & > Vertical { height: auto; max-height: 96%; }
        .title { margin-bottom: 0; }
        #effect { color: $text-muted; margin-bottom: 1; }
        #answer { margin: 1 0 0 0; }
    }
    """
    CONSENTS: ClassVar[frozenset[str]] = frozenset()

    def __init__(
        self,
        question: "UserQuestion",
        *,
        clock: Callable[[], float] = time.monotonic,
        answered_at: float | None = None,
    ) -> None:
        super().__init__(clock=clock, answered_at=answered_at)
        self._has_choices = bool(question.choices)
        rows = [f"{at}. {clean_name(one)}" for at, one in enumerate(question.choices, 1)]
        self._passages = [Passage("it asks", question.text, is_prose=True)]
        if rows:
            heading = "type the number of one, or your own answer"
            self._passages.append(Passage(heading, "\n".join(rows), is_prose=True))
        self._answered = anyio.Event()
        self._typed: str | None = None

    async def typed(self) -> str | None:
        """Wait for the answer."""
        await self._answered.wait()
        return self._typed

    def compose(self) -> ComposeResult:
        """Lay out the question and the field."""
        about = "Your answer goes to the model. It allows nothing."
        with Vertical():
            yield Static(Content("The model has a question"), classes="title")
            yield Static(Content(about), id="effect")
            yield Reading(self._passages)
            yield TextField(placeholder=self._placeholder, id="answer", compact=True, disabled=True)
            yield Static(Content(WAITING), id="about")

    @property
    def _placeholder(self) -> str:
        return "A number, or your own answer" if self._has_choices else "Your answer"

    def on_mount(self) -> None:
        """Close at once if the answer was stopped before."""
        if self._answered.is_set():
            self.dismiss(None)

    def on_unmount(self) -> None:
        """Give no answer if there was none."""
        self._answered.set()

    def keys(self) -> Content:
        """Return the keys that answer."""
        return named_keys(("Enter", "answers"), ("Esc", "no answer"))

    @property
    def handles_keys(self) -> bool:
        """Whether keys are for the dialog: until typing has paused."""
        return self.query_one("#answer", Input).disabled

    def _show_keys(self) -> None:
        """Open the field once it may be typed into."""
        super()._show_keys()
        field = self.query_one("#answer", Input)
        if field.disabled:
            field.disabled = False
            self.set_focus(field)

    def on_key(self, event: events.Key) -> None:
        """Scroll while the field has the keys."""
        if not self.handles_keys and event.key in _KEYS_THAT_SCROLL:
            event.stop()
            event.prevent_default()
            self._scroll(event.key)
        else:
            super().on_key(event)

    def answer(self, event: events.Key) -> bool:
        """Take no key: the field does."""
        del event
        return False

    def refuse(self) -> None:
        """Close without an answer."""
        self._close(None)

    @on(Input.Submitted, "#answer")
    def _enter(self, event: Input.Submitted) -> None:
        if event.value.strip():
            self._close(event.value.strip()[:MAX_ANSWER_LENGTH])
        else:
            self.remark("Type an answer, or press Esc for none")

    def _close(self, typed: str | None) -> None:
        if not self._answered.is_set():
            self._typed = typed
            self._answered.set()
            if self.is_attached:
                self.dismiss(typed)
