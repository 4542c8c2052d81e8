"""A transcript with a cursor that goes through its messages."""

from collections.abc import Callable, Mapping
from inspect import isawaitable
from typing import TYPE_CHECKING

from textual import events
from textual.actions import parse

from ollm_tui.tui.painters import has_copy_word
from ollm_tui.tui.transcript.block import MARGIN
from ollm_tui.tui.transcript.message_cursor import CaretMode, CursorMode, MessageCursor, Mode, Typed
from ollm_tui.tui.transcript.messages import CopyRequested
from ollm_tui.tui.transcript.reading import Reading
from ollm_tui.tui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from ollm_tui.protocol.tools import ToolOutcome


class NavigableTranscript(Transcript):
    """Takes the focus only while the cursor is on.

    A letter that means nothing here turns the cursor off and is typed where prompts are written,
    as Backspace deletes there, and so is everything that was still on its way to this widget.
    """

    def __init__(
        self,
        *,
        keys: Mapping[Mode, Mapping[str, str]],
        leave: Callable[[Typed | None], None],
        edit: Callable[[str], bool],
        show_thinking: bool = False,
        streams_thinking: bool = True,
        reading: Reading | None = None,
    ) -> None:
        """Give each mode's keys with their actions, and what to do to leave or edit a message.

        `leave` gives the focus back; `edit` puts a message into the input, if it can. Both are
        called at once, not by a message, so that no key can overtake another.
        """
        super().__init__(
            show_thinking=show_thinking, streams_thinking=streams_thinking, reading=reading
        )
        self._keys = keys
        self.show_running = self.folding.show_running
        self.show_time = self.folding.show_time
        self.cursor = MessageCursor(self.block_list)
        self.cursor_mode = CursorMode(
            cursor=self.cursor,
            painting=self.painting,
            scroller=self.scroller,
            renderer=self.renderer,
            folding=self.folding,
            post=self.post_message,
            leave=leave,
            edit=edit,
        )
        self.cursor_mode.caret = self.caret_mode = CaretMode(
            block_list=self.block_list,
            painting=self.painting,
            scroller=self.scroller,
            selection=self.selection,
            tables=self.tables,
            renderer=self.renderer,
            post=self.post_message,
            left=self.cursor_mode.caret_left,
        )

    @property
    def mode(self) -> Mode | None:
        """What the keys are for; None while they are for the input."""
        return self.cursor_mode.mode

    def allow_focus(self) -> bool:
        """Only while the cursor is on: a click never takes the focus from the input."""
        return self.mode is not None

    def _update_canvas(self) -> None:
        before = self.block_list.canvas
        super()._update_canvas()
        if self.caret_mode.caret is not None and self.block_list.canvas is not before:
            # Its row is another one now, or none.
            self.caret_mode.action_leave()

    def end_tool(
        self, block_id: str, outcome: "ToolOutcome", seconds: float | None, output: str
    ) -> None:
        """Show how a tool ended; if the cursor is on it, other keys matter now."""
        super().end_tool(block_id, outcome, seconds, output)
        if self.cursor.block is self.block_list.block(block_id) and self.mode == "cursor":
            self.cursor_mode.caret_left()

    def _cut(self, count: int) -> None:
        super()._cut(count)
        self.caret_mode.blocks_cut(count)
        self.cursor_mode.blocks_cut()

    async def _on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        mode = self.mode
        action = None if mode is None else self._keys[mode].get(event.key)
        if action is not None:
            self.caret_mode.is_shifted = "shift" in event.key.split("+")
            await self._run(action)
        elif mode is None or event.is_printable or event.key == "backspace":
            self.cursor_mode.action_leave(events.Key(event.key, event.character))

    async def _run(self, action: str) -> None:
        """Run an action of a mode, such as `cursor_step(1)` or `caret_copy`."""
        _namespace, name, parameters = parse(action)
        mode, _, own_name = name.partition("_")
        target = self.caret_mode if mode == "caret" else self.cursor_mode
        result = getattr(target, f"action_{own_name}")(*parameters)
        if isawaitable(result):
            await result

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.cursor_mode.action_leave(events.Paste(event.text))

    def on_blur(self) -> None:
        """Another widget was clicked; a terminal that loses the focus changes nothing."""
        if self.screen.focused is not None and self.screen.focused is not self:
            self.cursor_mode.turn_off()

    def on_click(self, event: events.Click) -> None:
        """Copy a code block at its word `copy`."""
        number = self.scroll_offset.y + event.y
        shown = self.block_list.row_at(number)
        if event.chain > 1 or shown is None or not has_copy_word(shown[0], event.x - MARGIN):
            return
        # Brings the Markdown painters; there are some already, or there would be no such word.
        from ollm_tui.tui.transcript.code_blocks import code_at

        _index, offset = self.block_list.find(number)
        text = code_at(shown[1], offset)
        if text is not None:
            event.prevent_default()
            self.post_message(CopyRequested(text))
