"""Reading the open chat: jumps to questions, marks, times, wide tables, one message alone."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final

from ollm_tui.decode.clean import clean_line
from ollm_tui.frontend.notes import report_errors
from ollm_tui.frontend.session import ChatSession
from ollm_tui.protocol.errors import AIError
from ollm_tui.store.marks import MARKED
from ollm_tui.tui.chat.parts import ChatParts
from ollm_tui.tui.chat.ports import ChatAct
from ollm_tui.tui.chat.shown_messages import ShownMessages
from ollm_tui.tui.services import Say
from ollm_tui.tui.transcript import MarkRequested
from ollm_tui.tui.widgets import FLASH_S

if TYPE_CHECKING:
    from ollm_tui.commands.host import View
    from ollm_tui.tui.transcript import Block

_WRITTEN: Final = frozenset({"user", "assistant"})
_ALONE: Final = frozenset({"user", "answer", "tree", "thinking"})
_WORDS: Final = 200
"""Characters of a marked message that the list shows at most."""


class ReadingTools:
    """What helps to read a chat, on the parts of its screen."""

    def __init__(
        self, session: ChatSession, messages: ShownMessages, parts: ChatParts, say: Say
    ) -> None:
        self._session = session
        self._messages = messages
        self._parts = parts
        self._say = say
        self._shows_times = parts.transcript.reading_mode.current.times
        parts.transcript.reading_mode.listeners.append(self._reading_changed)

    def acts(self) -> Mapping[ChatAct, Callable[[], Any]]:
        """Return what the keys do."""
        return {
            "previous_question": lambda: self._step_question(-1),
            "next_question": lambda: self._step_question(1),
            "focus": self.focus,
            "tables": self._toggle_tables,
            "tables_left": lambda: self._shift_tables(-1),
            "tables_right": lambda: self._shift_tables(1),
            "times": self._toggle_times,
        }

    def views(self) -> "Mapping[View, Callable[[str], None]]":
        """Return what the commands open."""
        return {
            "focus": lambda _: self.focus(),
            "go": self.go,
            "marks": lambda _: self._list_marks(),
            "times": lambda _: self._toggle_times(),
        }

    # Questions

    @property
    def _questions(self) -> list[int]:
        blocks = self._parts.transcript.block_list.blocks
        return [index for index, block in enumerate(blocks) if block.kind == "user"]

    def go(self, text: str) -> None:
        """Jump to a question by its number, from 1."""
        questions, number = self._questions, text.strip().removeprefix("#")
        is_number = number.isascii() and number.isdigit() and len(number) < 7
        if not questions:
            self._say("No messages yet.")
        elif not is_number or not 1 <= int(number) <= len(questions):
            what = (
                "one question: /go 1" if len(questions) == 1 else f"questions 1 to {len(questions)}"
            )
            self._say(f"This chat has {what}.", "error")
        else:
            self._show(questions[int(number) - 1])

    def _step_question(self, direction: int) -> None:
        view, questions = self._parts.transcript, self._questions
        at = view.cursor_mode.cursor.index
        if at is None and direction < 0:
            at = len(view.block_list)
        elif at is None:
            at = view.block_list.find(view.scroller.in_view[0])[0]
        ahead = [one for one in questions if (one - at) * direction > 0]
        if ahead:
            self._show(ahead[0] if direction > 0 else ahead[-1])
        else:
            edge = "first" if direction < 0 else "last"
            self._hint(f"This is the {edge} question" if questions else "No messages yet")

    def _show(self, index: int) -> None:
        """Point at a block and scroll there."""
        view = self._parts.transcript
        if view.block_list.total > view.size.height:
            view.scroller.hold_row(index, 0)
        view.cursor_mode.point_at(view.block_list.blocks[index].id)

    # Marks

    def change_mark(self, wanted: MarkRequested) -> None:
        """Mark a message, or go to another one that is marked."""
        view = self._parts.transcript
        if wanted.act != "toggle":
            self._step_mark(wanted.block_id, -1 if wanted.act == "previous" else 1)
            return
        position = self._messages.position_of(wanted.block_id)
        if position is None:
            self._hint("This message cannot be marked")
            return
        block = self._messages.block_of(position)
        self._run(self._mark(position, is_marked=block not in view.bylines.marked))

    async def _mark(self, position: int, *, is_marked: bool) -> None:
        branches = self._session.runtime.branches
        if not await branches.mark(self._session.client, position, is_marked=is_marked):
            self._hint("This message is still being written")
            return
        await self.refresh()
        self._hint("Marked · /marks lists the marks" if is_marked else "Mark removed")

    def _step_mark(self, block_id: str, direction: int) -> None:
        listed = self._parts.transcript.block_list
        at = listed.index(block_id)
        marked = [listed.index(one) for one in self._parts.transcript.bylines.marked]
        ahead = [one for one in marked if (one - at) * direction > 0]
        if ahead:
            self._show(ahead[0] if direction > 0 else ahead[-1])
        else:
            where = "above" if direction < 0 else "below"
            self._hint(f"No mark {where}" if marked else "No marks yet")

    def _list_marks(self) -> None:
        messages, blocks = self._session.client.conversation.messages, self._messages.blocks()
        listed = [
            (blocks[at], message.role, clean_line(message.text[:_WORDS].strip()))
            for at, message in enumerate(messages)
            if message.metadata.get(MARKED) is True and at in blocks
        ]
        if not listed:
            self._say("No marks yet.", hint=f"{self._key('cursor.mark')} on a message marks it.")
            return
        # Loaded with the first list.
        from ollm_tui.tui.reading import MarkPicker

        self._parts.dialogs.open(MarkPicker(listed), self._chosen)

    def _chosen(self, block_id: str | None) -> None:
        listed = self._parts.transcript.block_list
        if block_id is not None and block_id in listed:
            # after the list has closed
            self._parts.transcript.call_after_refresh(self._show, listed.index(block_id))

    # Times

    def _toggle_times(self) -> None:
        mode = self._parts.transcript.reading_mode
        mode.change(times=not mode.current.times)
        client, is_shown = self._session.client, mode.current.times
        self._hint("Times are shown · /settings keeps that" if is_shown else "Times are hidden")
        if (
            is_shown
            and client.conversation.messages
            and not self._session.runtime.branches.ids(client)
        ):
            self._say("Times are saved with the messages, and this chat is not saved.")

    def _reading_changed(self) -> None:
        shows_times = self._parts.transcript.reading_mode.current.times
        if shows_times != self._shows_times:
            self._shows_times = shows_times
            self._run(self.refresh())

    async def refresh(self) -> None:
        """Show the marks of the messages, and their times if those are shown."""
        client = self._session.client
        try:
            times = await self._times()
        except AIError:  # writing to a chat that cannot be read says why
            times = []
        if client is not self._session.client:
            return
        messages = client.conversation.messages
        marked = [at for at, one in enumerate(messages) if one.metadata.get(MARKED) is True]
        blocks = self._messages.blocks() if marked or times else {}
        self._parts.transcript.bylines.show_facts(
            {blocks[at] for at in marked if at in blocks},
            {
                blocks[at]: time
                for at, time in enumerate(times[: len(messages)])
                if at in blocks and messages[at].role in _WRITTEN
            },
        )

    async def _times(self) -> Sequence[str]:
        client, branches = self._session.client, self._session.runtime.branches
        if not self._parts.transcript.reading_mode.current.times:
            return ()
        times = await branches.times(client)
        return time_labels([times.get(one, 0) for one in branches.ids(client)])

    # Tables, and one message alone

    def _toggle_tables(self) -> None:
        folds = self._parts.transcript.tables.toggle()
        keys = f"{self._key('chat.tables_left')} and {self._key('chat.tables_right')}"
        self._hint("Wide tables are folded" if folds else f"{keys} scroll wide tables")

    def _shift_tables(self, direction: int) -> None:
        if not self._parts.transcript.tables.step(direction):
            self._hint(f"No wide table here · {self._key('chat.tables')} unfolds wide tables")

    def focus(self) -> None:
        """Show the message under the cursor alone, or the newest answer."""
        view = self._parts.transcript
        block = view.cursor_mode.cursor.block or self._newest_answer()
        if block is None:
            self._hint("No answer yet")
        elif block.kind not in _ALONE:
            self._hint("Only questions, answers and thinking can be read alone")
        else:
            # A screen of its own, which many never open.
            from ollm_tui.tui.reading import FocusScreen

            copies = self._parts.services.copies_dir
            reading = view.reading_mode.current
            self._parts.dialogs.open(FocusScreen(block, self._parts.keymap, reading, copies))

    def _newest_answer(self) -> "Block | None":
        blocks = reversed(self._parts.transcript.block_list.blocks)
        kinds = {"answer", "tree"}
        return next((one for one in blocks if one.kind in kinds and one.source.size), None)

    def _key(self, key_id: str) -> str:
        return self._parts.keymap.key_for(key_id)

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        self._parts.dialogs.run(report_errors(work, self._say), "reading")

    def _hint(self, text: str) -> None:
        self._parts.hints.flash(text, FLASH_S)


def time_labels(times_ms: Sequence[int]) -> list[str]:
    """Return local times, with the date where the day changes; 0 is not known."""
    labels: list[str] = []
    day: date | None = None
    for milliseconds in times_ms:
        then = _local(milliseconds)
        if then is None:
            labels.append("")
            continue
        is_new, day = then.date() != day, then.date()
        labels.append(
            f"{then:%a} {then.day} {then:%b %Y} · {then:%H:%M}" if is_new else f"{then:%H:%M}"
        )
    return labels


def _local(milliseconds: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(milliseconds / 1000).astimezone() if milliseconds else None
    except (OverflowError, OSError, ValueError):  # an imported chat may have any number
        return None
