"""The tree of a chat as a full screen: one row for each stretch between two forks."""

import time
from collections.abc import Callable, Collection, Sequence
from typing import ClassVar, Final, Literal, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.chat_words import shown_title, when
from ollm_tui.protocol.model import ModelRef
from ollm_tui.store.deletions import KEPT_DAYS
from ollm_tui.store.tree import Extent, Stretch
from ollm_tui.tui.dialogs import Dialog, Passage, YesNoDialog
from ollm_tui.tui.keys import Keymap
from ollm_tui.tui.widgets import cut, fit

TreeAct: TypeAlias = Literal["open", "fork", "delete", "undelete"]
MIN_TEXT_WIDTH: Final = 20
"""Cells that the first words keep before a column goes."""
MAX_LEVELS: Final = 8
"""Forks that are indented; deeper ones stay below each other."""
_ONE_BRANCH: Final = "This chat has one branch. Edit a message or ask again to begin another one."
_KEYS: Final = ("tree.open", "tree.fork", "tree.delete", "tree.undelete", "tree.close")


@dataclass(frozen=True, slots=True)
class TreeChoice:
    """What to do with a stretch of the tree."""

    act: TreeAct
    message_id: str
    """The first message of the stretch."""
    end_id: str
    """The last one."""


def line_content(line: Stretch, width: int, now_ms: int, *, is_shown: bool) -> Content:
    """Write one row in `width` cells; what does not fit is left out from the right."""
    facts = [counted(line.messages, "message").rjust(12), when(line.created_ms, now_ms).rjust(11)]
    indent = "  " * (min(line.level, MAX_LEVELS) - 1)
    branch = f"{indent}{'└' if line.is_last else '├'} " if line.level else ""
    head = f"{branch}{_writer(line)}: "
    room = width - 2
    while facts and room - len(head) - sum(len(fact) + 2 for fact in facts) < MIN_TEXT_WIDTH:
        facts.pop()
    room -= sum(len(fact) + 2 for fact in facts)
    words = clean_line(line.words).strip() or "no text"
    return Content.assemble(
        ("● " if is_shown else "  ", "$text-success"),
        fit(cut(head + words, max(0, room)), max(0, room)),
        ("".join(f"  {fact}" for fact in facts), "$text-muted"),
    )


def _writer(line: Stretch) -> str:
    if line.role == "user":
        return "you"
    ref = ModelRef.parse(line.model or "")
    return cut(clean_name(ref.model if ref else line.model or line.role), 16)


class DeleteMessages(YesNoDialog):
    """Returns whether to delete a message with all that follows it."""

    def __init__(self, extent: Extent, *, clock: Callable[[], float] = time.monotonic) -> None:
        what = counted(extent.messages, "message")
        super().__init__(
            "Delete this chat?" if extent.is_chat else f"Delete {what} on all branches?",
            f"{'It' if extent.is_chat else 'They'} can be restored for {KEPT_DAYS} days.",
            Passage(what if extent.is_chat else "In", shown_title(extent.title)),
            yes="delete",
            no="or Esc keep " + ("it" if extent.is_chat else "them"),
            clock=clock,
        )


class _Stretches(OptionList):
    """A list that ends at its ends: the row after the last one is not the first."""

    def action_cursor_down(self) -> None:
        """Mark the next row."""
        if self.highlighted is None or self.highlighted < self.option_count - 1:
            super().action_cursor_down()

    def action_cursor_up(self) -> None:
        """Mark the previous row."""
        if self.highlighted:
            super().action_cursor_up()


class ShowTree(Dialog[TreeChoice | None]):
    """Gives what to do with a branch; the one that is shown is marked."""

    AUTO_FOCUS = "OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [*Keymap().bindings("tree")]
    DEFAULT_CSS = """
    ShowTree {
        & > Vertical { width: 100%; max-width: 100%; height: 100%; max-height: 100%; }
    }
    """

    def __init__(
        self,
        lines: Sequence[Stretch],
        shown: Collection[str],
        key_for: Callable[[str], str],
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        *,
        note: str = "",
        marked: str | None = None,
    ) -> None:
        """Show stretches; `note` says what was done, and the one with `marked` is marked."""
        super().__init__()
        self._note = note
        self._first = next((at for at, one in enumerate(lines) if one.message_id == marked), None)
        self._lines = lines
        self._shown = shown
        self._key_for = key_for
        self._now_ms = now_ms

    def compose(self) -> ComposeResult:
        """Lay out the rows and the line about them."""
        with Vertical():
            yield Static("Branches of this chat", classes="title", markup=False)
            yield _Stretches(compact=True, markup=False)
            yield Static("", id="about", markup=False)

    def on_resize(self) -> None:
        """Write the rows for the new width."""
        self.call_after_refresh(self._show_rows)

    def _show_rows(self) -> None:
        if not self.has_its_parts:
            return
        listed, now_ms = self.query_one(OptionList), self._now_ms()
        marked = listed.highlighted
        width = max(8, listed.size.width - 2)
        with self.app.batch_update():
            listed.clear_options()
            listed.add_options(
                Option(line_content(line, width, now_ms, is_shown=line.message_id in self._shown))
                for line in self._lines
            )
            listed.highlighted = self._first_marked if marked is None else marked
        keys = {key.id: key for key in Keymap().of_scopes("tree")}
        about = " · ".join(f"{self._key_for(one)} {keys[one].label}" for one in _KEYS)
        one_branch = _ONE_BRANCH if len(self._lines) == 1 else ""
        rows = [row for row in (self._note, one_branch, f"{about} · ● shown") if row]
        self.query_one("#about", Static).update(Content("\n".join(rows)))

    @property
    def _first_marked(self) -> int:
        if self._first is not None:
            return self._first
        shown = [at for at, line in enumerate(self._lines) if line.message_id in self._shown]
        return shown[-1] if shown else 0

    @on(OptionList.OptionSelected)
    def _open(self) -> None:
        self.action_choose("open")

    def action_choose(self, act: TreeAct) -> None:
        """Return what to do with the marked stretch."""
        index = self.query_one(OptionList).highlighted
        if index is not None:
            line = self._lines[index]
            self.dismiss(TreeChoice(act, line.message_id, line.end_id))
