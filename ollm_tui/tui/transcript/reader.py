"""A transcript that somebody can go through by keys."""

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from textual import events

from ollm_tui.tui.transcript.block import MARGIN, Block, BlockKind
from ollm_tui.tui.transcript.message_cursor import MessageCursor
from ollm_tui.tui.transcript.painters.copy_word import copies
from ollm_tui.tui.transcript.reader_caret import CaretReader
from ollm_tui.tui.transcript.reader_messages import AgainWanted, CopyWanted, Moved, Refused
from ollm_tui.tui.transcript.source import ToolSource

Mode: TypeAlias = Literal["cursor", "caret"]
Typed: TypeAlias = events.Key | events.Paste


class NavigableTranscript(CaretReader):
    """Takes the focus only while the cursor is on.

    Modes: off <-> cursor (on a message) <-> caret (in its text); caret -> off. A letter that means
    nothing here turns it off and is typed where prompts are written, as Backspace deletes there,
    and so is everything that was still on its way to this widget.
    """

    def __init__(
        self,
        *,
        keys: Mapping[Mode, Mapping[str, str]],
        leave: Callable[[Typed | None], None],
        edit: Callable[[str], bool],
        show_thinking: bool = False,
        streams_thinking: bool = True,
    ) -> None:
        """Give each mode's keys with their actions, and what to do to leave or edit a message.

        `leave` gives the focus back; `edit` puts a message into the input, if it can. Both are
        called at once, not by a message, so that no key can overtake another.
        """
        super().__init__(show_thinking=show_thinking, streams_thinking=streams_thinking)
        self._keys = keys
        self._leave = leave
        self._edit = edit
        self.cursor = MessageCursor(self.shelf)

    @property
    def mode(self) -> Mode | None:
        """What the keys are for; None while they are for the input."""
        if self.cursor.block is None:
            return None
        return "cursor" if self.caret is None else "caret"

    def allow_focus(self) -> bool:
        """A click never takes the focus from the input."""
        return self.mode is not None

    def go_through(self, direction: int) -> bool:
        """Put the cursor on the newest message, or move it; False when there is none."""
        self.take_caret()
        moved = self.cursor.step(direction)
        if self.cursor.block is not None:
            self._show_cursor()
        return moved or self.mode is not None

    def turn_off(self) -> None:
        """Take the cursor away."""
        if self.mode is None:
            return
        self.take_caret()
        self.cursor.block = None
        self.marks.remove(self.cursor)
        self.refresh()
        self.post_message(Moved(None))

    def _show_cursor(self) -> None:
        if self.cursor not in self.marks:
            self.marks.append(self.cursor)
        if (index := self.cursor.index) is not None:
            self.show_block(index)
        self.refresh()
        self.post_message(Moved(self._hints()))

    def _hints(self) -> str:
        block = self.cursor.block
        if self.caret is not None:
            return "caret"
        if block is None or block.kind is BlockKind.ERROR:
            return "message"
        if block.kind is BlockKind.USER:
            return "question"
        return "foldable" if block.has_header or block.kind is BlockKind.TOOL else "answer"

    def _cut(self, count: int) -> None:
        super()._cut(count)
        if self.cursor.block is not None and self.cursor.index is None:
            self.turn_off()
            self._leave(None)

    # Keys

    async def _on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        mode = self.mode
        action = None if mode is None else self._keys[mode].get(event.key)
        if action is not None:
            self.is_shifted = "shift" in event.key.split("+")
            await self.run_action(action)
        elif mode is None or event.is_printable or event.key == "backspace":
            self._type_on(events.Key(event.key, event.character))

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self._type_on(events.Paste(event.text))

    def _type_on(self, event: Typed) -> None:
        self.turn_off()
        self._leave(event)

    def on_blur(self) -> None:
        """Another widget was clicked; a terminal that looks away changes nothing."""
        if self.screen.focused is not None and self.screen.focused is not self:
            self.turn_off()

    def action_cursor_step(self, direction: int) -> None:
        """Go to the next message."""
        self.go_through(direction)

    def action_cursor_edge(self, direction: int) -> None:
        """Go to the first or the last message."""
        self.cursor.edge(direction)
        self._show_cursor()

    async def action_cursor_code(self, direction: int) -> None:
        """Go to the next code block of the answer."""
        # Brings the Markdown painters, which no first screen needs.
        from ollm_tui.tui.transcript.code_steps import CodeSteps

        block, index = await self._painted_message()
        if block is None or index is None:
            return
        self.cursor.code = self.cursor.code or CodeSteps(block)
        found = self.cursor.code.step(direction)
        if found is not None:
            self.show_rows(index, block.lead + found.first, block.lead + found.end)
        elif not self.cursor.code.count:
            self.post_message(Refused(self._why_no_code(index)))
        self.refresh()

    async def _painted_message(self) -> tuple[Block | None, int | None]:
        """The message under the cursor and its index; code is found in painted rows alone."""
        if (index := self.cursor.index) is not None:
            await self.paint_block(index)
        return self.cursor.block, self.cursor.index

    def _why_no_code(self, index: int) -> str:
        if self._canvas is None or self._queue.lacks(self._canvas, index):
            return "This message is still being drawn"
        return "This message has no code block"

    async def action_cursor_copy(self) -> None:
        """Copy the code block, or the message, as it came."""
        code = self.cursor.code
        if code is None or not code.is_on:
            if (block := self.cursor.block) is not None:
                self.post_message(CopyWanted(_wanted_text(block)))
            return
        await self._painted_message()
        # Never the whole message in place of a part that was chosen.
        text = code.text
        self.post_message(
            Refused("This code block is still being drawn") if text is None else CopyWanted(text)
        )

    def on_click(self, event: events.Click) -> None:
        """Copy a code block at the word that says so."""
        found = self.shelf.row_at(self.scroll_offset.y + event.y)
        if event.chain > 1 or found is None or not copies(found[0], event.x - MARGIN):
            return
        # Brings the Markdown painters; there are some already, or there would be no such word.
        from ollm_tui.tui.transcript.code_steps import code_at

        _index, offset = self.shelf.find(self.scroll_offset.y + event.y)
        text = code_at(found[1], offset)
        if text is not None:
            event.prevent_default()
            self.post_message(CopyWanted(text))

    def action_cursor_fold(self) -> None:
        """Fold or unfold the message."""
        block = self.cursor.block
        if block is None or not (block.has_header or block.kind is BlockKind.TOOL):
            self.post_message(Refused("Only thinking, tools and long messages fold"))
            return
        self.toggle_fold(block.id)
        self._show_cursor()

    def action_cursor_edit(self) -> None:
        """Put a message of one's own into the input, to be sent in other words."""
        block = self.cursor.block
        if block is None or block.kind is not BlockKind.USER:
            self.post_message(Refused("Only your own messages can be edited"))
        elif self._edit(block.id):
            self.action_cursor_leave()

    def action_cursor_again(self) -> None:
        """Ask the question of this message once more."""
        question = self.cursor.question()
        if question is None:
            self.post_message(Refused("There is no question here"))
        else:
            self.post_message(AgainWanted(question.id))

    async def action_cursor_select(self) -> None:
        """Put the caret where the message begins."""
        index = self.cursor.index
        if index is None:
            return
        if await self.put_caret(index):
            self.post_message(Moved(self._hints()))
        else:
            self.post_message(Refused("No text to select"))

    def action_caret_leave(self) -> None:
        """Go back to the message."""
        super().action_caret_leave()
        self.post_message(Moved(self._hints() if self.mode else None))

    def action_cursor_leave(self) -> None:
        """Go back to the input."""
        self.turn_off()
        self._leave(None)


def _wanted_text(block: Block) -> str:
    source = block.source
    return source.output if isinstance(source, ToolSource) and source.output else source.text
