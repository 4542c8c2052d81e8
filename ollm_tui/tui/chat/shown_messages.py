"""Which block of the transcript shows which message of the open chat."""

from collections.abc import Mapping
from itertools import islice
from typing import Final

from ollm_tui.chat.prompt import is_question
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.session import ChatSession
from ollm_tui.protocol.chat_events import Compacted
from ollm_tui.protocol.message import is_compaction
from ollm_tui.tui.chat.presenter import TurnPresenter
from ollm_tui.tui.chat.restore import show_summary
from ollm_tui.tui.transcript import Block, NavigableTranscript

_OF_ANSWERS: Final = frozenset({"thinking", "answer", "tree", "tool"})


@dataclass(slots=True)
class ShownMessages:
    """Finds messages by their blocks, and blocks by the positions of their messages.

    A chat that was opened has the block of every message. Of answers that came since, only the
    first message is known: all their blocks belong to it.
    """

    session: ChatSession
    presenter: TurnPresenter
    transcript: NavigableTranscript
    _first_blocks: Mapping[int, str] = field(default_factory=dict)
    _summaries: dict[str, int] = field(default_factory=dict)
    """Those that were made before an answer, by their blocks: they are shown within it."""

    def __post_init__(self) -> None:
        self.presenter.compacted = self._put_before

    def recall(self) -> None:
        """Show the messages of the open chat as they were left."""
        messages = self.session.client.conversation.messages
        self._summaries = {}
        self._first_blocks = self.presenter.recall(messages)

    def show(self, message_id: str) -> bool:
        """Scroll to a message and point at it; return False if it is not on this branch."""
        position = self.session.runtime.position_of(self.session.client, message_id)
        block = self._first_blocks.get(position) if position is not None else None
        view = self.transcript
        if block is None or block not in view.block_list:
            return False
        if view.block_list.total > view.size.height:
            view.scroller.hold_row(view.block_list.index(block), 0)
        view.cursor_mode.point_at(block)
        return True

    def block_of(self, position: int) -> str | None:
        """Return the first block of a message, or None if none is known."""
        questions = {at: block for block, at in self.presenter.questions.items()}
        blocks = self.transcript.block_list
        for block in (questions.get(position), self._first_blocks.get(position)):
            if block is not None and block in blocks:
                return block
        question = questions.get(position - 1)
        if question is None or question not in blocks:
            return None
        after = blocks.blocks[blocks.index(question) + 1 :]
        return next((block.id for block in after if self._is_of_answer(block)), None)

    def _is_of_answer(self, block: Block) -> bool:
        return block.kind in _OF_ANSWERS and block.id not in self._summaries

    def blocks(self) -> Mapping[int, str]:
        """Return the first block of every message that is known, by its position."""
        listed, questions = self.transcript.block_list, self.presenter.questions
        first = {at: block for at, block in self._first_blocks.items() if block in listed}
        first |= {at: block for block, at in questions.items() if block in listed}
        for block, at in questions.items():
            if at + 1 not in first and at + 1 < self._count and block in listed:
                after = islice(listed.blocks, listed.index(block) + 1, None)
                answer = next((one.id for one in after if self._is_of_answer(one)), None)
                first |= {at + 1: answer} if answer is not None else {}
        return {at: block for at, block in first.items() if at < self._count}

    def position_of(self, block_id: str) -> int | None:
        """Return the position of the message of a block, or None if none is known."""
        blocks, questions = self.transcript.block_list, self.presenter.questions
        if block_id not in blocks:
            return None
        if block_id in questions:
            return questions[block_id]
        if block_id in self._summaries:
            return self._summaries[block_id]
        firsts: dict[str, int] = {}
        for position, first in self._first_blocks.items():
            firsts[first] = min(position, firsts.get(first, position))
        for block in reversed(blocks.blocks[: blocks.index(block_id) + 1]):
            if block.id in questions:
                answer = questions[block.id] + 1
                return answer if answer < self._count else None
            if block.id in firsts and firsts[block.id] < self._count:
                return firsts[block.id]
        return None

    def end_of(self, position: int) -> int:
        """Return the position of the last message of an answer; that of a question is its own."""
        messages = self.session.client.conversation.messages
        if is_question(messages[position]):
            return position
        while position + 1 < len(messages) and not is_question(messages[position + 1]):
            position += 1
        return position

    def _put_before(self, event: Compacted) -> None:
        """Take note of a message that was put before others, and show it if it is a summary."""
        place, messages = event.position, self.session.client.conversation.messages
        blocks = self._first_blocks.items()
        self._first_blocks = {at + (at >= place): block for at, block in blocks}
        self._summaries = {one: at + (at >= place) for one, at in self._summaries.items()}
        if event.kind == "summary" and place < len(messages) and is_compaction(messages[place]):
            block = f"summary-{len(self._summaries)}"
            self._summaries[block] = place
            words = f"summary of {counted(event.messages, 'earlier message')}"
            show_summary(self.transcript, block, messages[place], words)

    @property
    def _count(self) -> int:
        return len(self.session.client.conversation.messages)
