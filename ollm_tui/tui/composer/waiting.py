"""The prompts and commands that wait for their turn, in order, and the dialog that changes that."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Final, Literal, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ollm_tui.commands.parse import ShellLine, as_typed
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_line
from ollm_tui.tui.dialogs import Dialog
from ollm_tui.tui.keys import Keymap
from ollm_tui.tui.widgets import cut

_MAX_LENGTH: Final = 300
"""Characters of a prompt that are looked at; no row shows as many."""
_KEYS: Final = ("queue.edit", "queue.earlier", "queue.later", "queue.drop", "queue.close")
QueueAct: TypeAlias = Literal["edit", "drop", "earlier", "later"]


@dataclass(frozen=True, slots=True, eq=False)
class WaitingPrompt:
    """One prompt or command; two of the same words are two."""

    text: str

    @property
    def typed(self) -> str:
        """It as it was typed."""
        return f"!{self.text}" if isinstance(self.text, ShellLine) else as_typed(self.text)


@dataclass(slots=True)
class WaitingPrompts:
    """A queue whose order can be changed; `changed` is told of all that waits after each change."""

    changed: Callable[[Sequence[str]], None]
    items: list[WaitingPrompt] = field(default_factory=list)
    also: Callable[[], None] | None = None
    """Called after each change while the dialog is open."""

    def add(self, text: str) -> None:
        """Append a prompt."""
        self.items.append(WaitingPrompt(text))
        self._tell()

    def first(self) -> str:
        """Take the first prompt out, to be sent."""
        item = self.items.pop(0)
        self._tell()
        return item.text

    def take(self, item: WaitingPrompt) -> str | None:
        """Take one out, as it was typed; None if it was sent meanwhile."""
        if item not in self.items:
            return None
        self.items.remove(item)
        self._tell()
        return item.typed

    def take_all(self) -> str:
        """Take all out, as one text for the input."""
        text = "\n\n".join(item.typed for item in self.items)
        self.items.clear()
        self._tell()
        return text

    def move(self, item: WaitingPrompt, step: int) -> None:
        """Move one by some places, as far as there are any."""
        if item in self.items:
            index = self.items.index(item)
            self.items.remove(item)
            self.items.insert(max(0, index + step), item)
            self._tell()

    def _tell(self) -> None:
        self.changed(tuple(item.text for item in self.items))
        if self.also is not None:
            self.also()


class QueueDialog(Dialog[WaitingPrompt | None]):
    """Lists what waits; it follows the queue while it is open. Returns what is to be edited."""

    AUTO_FOCUS = "OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [*Keymap().bindings("queue")]
    DEFAULT_CSS = """
    QueueDialog {
        & > Vertical { width: 76; height: auto; max-height: 90%; }
        OptionList, OptionList:focus { height: auto; max-height: 14; }
    }
    """

    def __init__(self, waiting: WaitingPrompts, keymap: Keymap) -> None:
        super().__init__()
        self._waiting = waiting
        self._keymap = keymap
        self._rows: list[WaitingPrompt] = []

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        hints = self._keymap.hints_of(*_KEYS)
        with Vertical():
            yield Static(Content("Waiting messages"), classes="title")
            yield OptionList(compact=True, markup=False)
            yield Static(
                Content(" · ".join(f"{one.label} {one.description}" for one in hints)), id="about"
            )

    def on_mount(self) -> None:
        """Follow the queue, with the first message marked."""
        self._waiting.also = self._show

    def on_unmount(self) -> None:
        """Follow it no more."""
        self._waiting.also = None
        super().on_unmount()

    def on_resize(self) -> None:
        """Write the rows for the new width."""
        self.call_after_refresh(self._show)

    def _show(self) -> None:
        if not self.has_its_parts:
            return
        if not self._waiting.items:
            self.dismiss(None)
            return
        listed, marked = self.query_one(OptionList), self._marked
        index = listed.highlighted or 0
        self._rows = list(self._waiting.items)
        if marked in self._rows:
            index = self._rows.index(marked)
        width = max(8, listed.size.width - 2)
        with self.app.batch_update():
            listed.clear_options()
            listed.add_options(
                [
                    Option(
                        Content(
                            cut(f"{number}. {clean_line(row.typed[:_MAX_LENGTH].strip())}", width)
                        )
                    )
                    for number, row in enumerate(self._rows, 1)
                ]
            )
            listed.highlighted = min(index, len(self._rows) - 1)

    @property
    def _marked(self) -> WaitingPrompt | None:
        index = self.query_one(OptionList).highlighted
        return self._rows[index] if index is not None and index < len(self._rows) else None

    @on(OptionList.OptionSelected)
    def _edit(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._rows[event.option_index])

    def action_arrange(self, act: QueueAct) -> None:
        """Edit or drop the marked message, or move it."""
        item = self._marked
        if item is None:
            return
        match act:
            case "edit":
                self.dismiss(item)
            case "drop":
                self._waiting.take(item)
            case "earlier":
                self._waiting.move(item, -1)
            case "later":
                self._waiting.move(item, 1)
