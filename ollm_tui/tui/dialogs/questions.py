"""Questions that any feature asks: yes or no, one of a few, a line, or whether to save a copy."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Resize
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ollm_tui.config.paths import home_folder
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.tui.dialogs.armed import WAITING, ArmedDialog, named_keys
from ollm_tui.tui.dialogs.dialog import Dialog
from ollm_tui.tui.dialogs.filter_list import fill_list
from ollm_tui.tui.dialogs.reading import Passage, Reading
from ollm_tui.tui.widgets import TextField

_ROWS_AROUND: Final = 15


class YesNoDialog(ArmedDialog[bool]):
    """Returns whether `y` was pressed; Enter is no answer, as it may be meant for the input.

    `words` is the question, `about` what it is about; `yes` and `no` name what each letter does.
    """

    DEFAULT_CSS = """
    YesNoDialog {
        & > Vertical { width: 70; height: auto; max-height: 96%; }
        #what { height: auto; margin-bottom: 1; }
        &.-low #what { margin-bottom: 0; }
    }
    """

    def __init__(
        self,
        title: str,
        words: str,
        about: Passage,
        *,
        yes: str,
        no: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(clock=clock)
        self._title = title
        self._words = words
        self._about = about
        self._yes = yes
        self._no = no

    def compose(self) -> ComposeResult:
        """Lay out the question."""
        with Vertical():
            yield Static(Content(self._title), classes="title")
            yield Static(Content(self._words), id="what")
            yield Reading([self._about], margin=_ROWS_AROUND)
            yield Static(Content(WAITING), id="about")

    def keys(self) -> Content:
        """Return the keys that answer."""
        yes = [("y", self._yes)] if self.is_read else []
        return named_keys(*yes, ("n", self._no))

    def answer(self, event: events.Key) -> bool:
        """Answer by one of the two letters."""
        if event.character not in {"y", "n"}:
            return False
        self.dismiss(event.character == "y")
        return True

    def refuse(self) -> None:
        """Answer with no."""
        self.dismiss(False)


@dataclass(frozen=True, slots=True)
class ChoiceRow:
    """One row of `ChoiceDialog`."""

    id: str
    title: str
    reach: str = ""
    """The key that does the same."""
    refusal: str | None = None
    """Why it is disabled; foreign text."""


class ChoiceDialog(Dialog[str | None]):
    """A few rows to choose from; returns the id of one. Disabled rows show why they are."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", "Close", show=False, priority=True)
    ]
    DEFAULT_CSS = """
    ChoiceDialog {
        & > Vertical { width: 72; height: auto; max-height: 90%; }
        OptionList, OptionList:focus { height: auto; max-height: 16; }
    }
    """

    def __init__(self, heading: str, choices: Sequence[ChoiceRow], about: str) -> None:
        super().__init__()
        self._heading = heading
        self._choices = choices
        self._about = about

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        with Vertical():
            yield Static(Content(clean_line(self._heading)), classes="title")
            yield OptionList(compact=True, markup=False)
            yield Static(Content(self._about), id="about")

    def on_resize(self, _event: Resize) -> None:
        """Write the lines for the new width."""
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        listed = self.query_one(OptionList)
        marked, width = listed.highlighted_option, max(8, listed.size.width - 2)
        options = [
            Option(_line(one, width), id=one.id, disabled=one.refusal is not None)
            for one in self._choices
        ]
        fill_list(listed, options, marked.id if marked else None)

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)


def _line(choice: ChoiceRow, width: int) -> Content:
    room = max(4, width - len(choice.reach) - 2)
    title = Content(choice.title).truncate(room, ellipsis=True, pad=True)
    line = Content.assemble(title, "  ", (choice.reach, "$text-muted"))
    if choice.refusal is None:
        return line
    return Content.assemble(line, "\n  ", (clean_line(choice.refusal), "$text-muted"))


class LineEntry(Dialog[str | None]):
    """Returns the line that was typed, or None. A problem of the former try is shown above it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", "Cancel", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    LineEntry {
        & > Vertical { height: auto; max-height: 90%; }
        #problem { height: auto; max-height: 4; margin-bottom: 1; color: $text-error; }
        #problem { display: none; }
        #problem.-shown { display: block; }
        &.-low #problem { margin-bottom: 0; max-height: 2; }
    }
    """

    def __init__(
        self, title: str, draft: str, about: str, *, placeholder: str = "", problem: str = ""
    ) -> None:
        super().__init__()
        self._title = title
        self._draft = draft
        self._about = about
        self._placeholder = placeholder
        self._problem = problem

    def compose(self) -> ComposeResult:
        """Lay out the problem, the input and its keys."""
        with Vertical():
            yield Static(Content(clean_line(self._title)), classes="title")
            yield Static(Content(clean_line(self._problem)), id="problem")
            yield TextField(clean_line(self._draft), placeholder=self._placeholder, compact=True)
            yield Static(Content(clean_line(self._about)), id="about")

    def on_mount(self) -> None:
        """Put the cursor at the end of the text."""
        self.query_one("#problem").set_class(bool(self._problem), "-shown")
        field = self.query_one(Input)
        field.cursor_position = len(field.value)

    @on(Input.Submitted)
    def _enter(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())


class SaveCopyDialog(YesNoDialog):
    """Returns whether to save a copy to a file."""

    def __init__(self, lines: int, characters: int, folder: Path) -> None:
        super().__init__(
            "Too large for the clipboard",
            f"{characters:,} characters in {counted(lines, 'line')} are more than most"
            " terminals accept as their clipboard.\n\nSave them to a file? Only you can read it.",
            Passage("In the folder", short_path(folder)),
            yes="save to a file",
            no="or Esc no",
        )


def short_path(path: Path) -> str:
    """Return a path with `~` for the home folder."""
    try:
        home = home_folder()
        return clean_name(str(Path("~") / path.relative_to(home) if home else path))
    except ValueError:  # not in the home folder
        return clean_name(str(path))
