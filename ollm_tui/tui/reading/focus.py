"""One message alone on the screen, to read, copy and select; Esc returns to the chat."""

from pathlib import Path
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from ollm_tui.tui.dialogs import SUSPEND
from ollm_tui.tui.keys import Keymap
from ollm_tui.tui.terminal import ClipboardCopier
from ollm_tui.tui.transcript import (
    Block,
    CopyRequested,
    KeyRefused,
    LinkClicked,
    NavigableTranscript,
    Reading,
    SelectionCopyRequested,
    TranscriptSelection,
    Typed,
)
from ollm_tui.tui.widgets import FLASH_S, HintLine

BLOCK: Final = "alone"
LOOK_EVERY_S: Final = 0.1
"""How often an answer that is still being written is looked at."""
_NAMED: Final = ("focus.back", "focus.copy", "focus.select", "focus.next_code", "focus.tables")


class FocusScreen(TranscriptSelection[None]):
    """Shows a message that may still grow."""

    DEFAULT_CSS = """
    FocusScreen {
        & > Transcript { width: 100%; }
        &:nocolor > .screen--selection { text-style: reverse; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [SUSPEND, *Keymap().bindings("focus")]

    def __init__(
        self, block: Block, keymap: Keymap, reading: Reading, copies: Path | None = None
    ) -> None:
        """Show a block of a transcript; `copies` is the folder for what no clipboard takes."""
        super().__init__()
        self._block = block
        self._shown = 0
        self._keymap = keymap
        self._copying = ClipboardCopier(self, copies)
        self.hints = HintLine()
        self.transcript = NavigableTranscript(
            keys={"cursor": {}, "caret": keymap.actions("caret")},
            leave=self._stay,
            edit=lambda _block: False,
            show_thinking=True,
            reading=reading,
        )

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield self.transcript
        yield self.hints

    def on_mount(self) -> None:
        """Show what there is, and what comes."""
        view, kind, text = self.transcript, self._block.kind, self._block.source.text
        self._shown = len(text)
        if kind == "user":
            view.add_user(BLOCK, text)
            view.folding.toggle(BLOCK, only_open=True)
        elif kind == "thinking":
            view.add_thinking(BLOCK)
        else:
            view.add_answer(BLOCK)
        if kind != "user":
            view.append(BLOCK, text)
        if self._block.finished:
            view.finish(BLOCK, self._block.summary, is_tree=kind == "tree")
        else:
            self.set_interval(LOOK_EVERY_S, self._grow)
        keys = self._keymap.hints_of(*_NAMED)
        self.hints.stand(" · ".join(f"{key.label} {key.description}" for key in keys))
        view.scroller.hold_row(0, 0)
        self._put_cursor()

    def _grow(self) -> None:
        """Show what was added to the message meanwhile."""
        source = self._block.source
        if not self.transcript.block_list.block(BLOCK).finished:
            if source.size > self._shown:
                text = source.text
                self.transcript.append(BLOCK, text[self._shown :])
                self._shown = len(text)
            if self._block.finished:
                self.transcript.finish(BLOCK, self._block.summary)

    def _put_cursor(self) -> None:
        self.transcript.cursor_mode.put_on(BLOCK)
        self.set_focus(self.transcript)

    def _stay(self, _typed: Typed | None) -> None:
        """Keep the keys here: there is no input to type into."""
        self.call_later(self._put_cursor)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the keys to the caret while there is one."""
        is_own = action in {"line", "page", "edge", "copy", "select", "code", "sideways", "back"}
        if is_own and self.transcript.mode == "caret":
            return False
        return super().check_action(action, parameters)

    # Keys

    def action_line(self, direction: int) -> None:
        """Scroll a line."""
        self.transcript.scroll_relative(y=direction, animate=False)

    def action_page(self, direction: int) -> None:
        """Scroll a page, with two rows of it kept."""
        self.action_line(direction * max(1, self.transcript.size.height - 2))

    def action_edge(self, direction: int) -> None:
        """Scroll to the top or the end."""
        view = self.transcript
        (view.scroll_home if direction < 0 else view.scroll_end)(animate=False)

    async def action_copy(self) -> None:
        """Copy the message, or the code block."""
        await self.transcript.cursor_mode.action_copy()

    async def action_select(self) -> None:
        """Put a caret into the text."""
        await self.transcript.cursor_mode.action_select()

    async def action_code(self, direction: int) -> None:
        """Go to another code block."""
        await self.transcript.cursor_mode.action_code(direction)

    def action_tables(self) -> None:
        """Fold wide tables, or let them scroll sideways."""
        folds = self.transcript.tables.toggle()
        self._flash("Wide tables are folded" if folds else "Left and Right scroll wide tables")

    def action_sideways(self, direction: int) -> None:
        """Move wide tables."""
        if not self.transcript.tables.step(direction):
            self._flash("No wide table here")

    def action_back(self) -> None:
        """Return to the chat."""
        self.dismiss(None)

    # What the transcript asks for

    @on(CopyRequested)
    def _copy(self, event: CopyRequested) -> None:
        self._copying.text(event.text)

    @on(SelectionCopyRequested)
    def _copy_selection(self, event: SelectionCopyRequested) -> None:
        self._copying.rows(self.transcript.selection.rows(event.selection))

    @on(KeyRefused)
    def _show_why(self, event: KeyRefused) -> None:
        self._flash(event.reason)

    @on(LinkClicked)
    def _refuse_link(self) -> None:
        self._flash("Links open in the chat")

    def say_of_copy(self, words: str, *, is_error: bool = False) -> None:
        """Show where a copy was saved."""
        self._flash(f"! {words}" if is_error else words)

    def _flash(self, words: str) -> None:
        self.hints.flash(words, FLASH_S)
