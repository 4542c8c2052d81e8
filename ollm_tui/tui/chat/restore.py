"""A saved chat shown as it was left, and its blocks as plain text."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ollm_tui.chat.command_output import command_of
from ollm_tui.chat.compaction import compaction_text
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.figures import TOKEN_WORDS
from ollm_tui.frontend.tool_text import main_argument, saved_outcome, saved_output
from ollm_tui.protocol.blocks import (
    MEDIA,
    AudioContent,
    Block,
    DocumentContent,
    ImageContent,
    MediaContent,
    TextContent,
    ThinkingContent,
    UnknownContent,
    VideoContent,
)
from ollm_tui.protocol.message import CHECKED, COMPACTION, SUMMARY, Message, is_compaction
from ollm_tui.tui.chat.made_media import media_words
from ollm_tui.tui.chat.ports import TranscriptPort
from ollm_tui.tui.transcript import NoteKind


def block_words(block: Block) -> str:
    """Return the text of one block, or its type in brackets."""
    match block:
        case TextContent() | ThinkingContent():
            return block.text
        case UnknownContent():
            return f"[{block.type}] {json.dumps(block.data, ensure_ascii=False)}"
        case AudioContent() | VideoContent() | DocumentContent():
            return media_words(block)
        case _:
            return f"[{block.type}]"


def prompt_words(content: Sequence[Block]) -> str:
    """Return the text of a question; its files are named only where the text leaves room."""
    if len(content) == 1 and isinstance(content[0], TextContent):
        return content[0].text
    files = [block for block in content if isinstance(block, MEDIA)]
    if any(map(_is_between_words, zip(content, content[1:], content[2:], strict=False))):
        tokens = [f"[{TOKEN_WORDS[one.type]} #{number}]" for number, one in enumerate(files, 1)]
        return drafted(content, tokens)
    words = [block_words(block) for block in content if not isinstance(block, MEDIA)]
    # A question without words would have no row that says who attached the file.
    return "\n".join(word for word in words if word) or "\n".join(f"[{one.type}]" for one in files)


def drafted(content: Sequence[Block], tokens: Sequence[str]) -> str:
    """Return text with tokens in the places of its files, set apart by spaces."""
    names = iter(tokens)
    are_files = [isinstance(block, MEDIA) for block in content]
    draft = ""
    for number, block in enumerate(content):
        if number and (
            all(are_files[:number])
            or all(are_files[number:])
            or all(are_files[number - 1 : number + 1])
        ):
            draft += " "
        draft += next(names) if are_files[number] else block_words(block)
    return draft


def _is_between_words(blocks: tuple[Block, Block, Block]) -> bool:
    before, file, after = blocks
    if not isinstance(file, MEDIA):
        return False
    return block_words(before)[-1:].isspace() or block_words(after)[:1].isspace()


_ENDS: Final[Mapping[str, tuple[str, NoteKind]]] = {
    "stopped": ("Stopped", "stopped"),
    "failed": ("The answer failed here.", "warning"),
    "interrupted": ("ollm quit before the answer was complete.", "warning"),
}


def show_summary(transcript: TranscriptPort, block: str, message: Message, words: str) -> None:
    """Show what stands for messages that are no longer sent, folded to what it is a summary of."""
    transcript.add_thinking(block)
    transcript.append(block, compaction_text(message))
    transcript.finish(block, f"{words}, which the model reads instead")


@dataclass(slots=True)
class HistoryPainter:
    """Shows messages, each block under its own id."""

    transcript: TranscriptPort
    next_id: Callable[[], str]
    _position: int = 0
    _sent_from: int = 0
    """Where the last message stands that took the place of others."""
    _calls: dict[str, str] = field(default_factory=dict)
    prompt: tuple[str, str] | None = None
    """The block and the text of the newest question."""
    attached: tuple[MediaContent, ...] = ()
    """What is attached to it."""
    questions: dict[str, int] = field(default_factory=dict)
    """The position of each question among the messages, by its block."""
    first_blocks: dict[int, str] = field(default_factory=dict)
    """The first block of each message, by its position."""

    def show(self, messages: Sequence[Message]) -> None:
        """Show them all; a call that has no result was stopped."""
        for position, message in enumerate(messages):
            self._position = position
            match message.role:
                case "user":
                    self._user(message, position)
                case "assistant":
                    self._assistant(message)
                case "tool":
                    self._result(message)
                case "system":
                    pass
                case _:
                    self._note(message.text)
        for block in self._calls.values():
            self.transcript.end_tool(block, "stopped", None, "")

    def _new_block(self) -> str:
        block = self.next_id()
        self.first_blocks.setdefault(self._position, block)
        return block

    def _user(self, message: Message, position: int) -> None:
        if correction := message.metadata.get("correction"):
            what = "correct its answer" if correction == CHECKED else "repeat a malformed tool call"
            self._note(f"The model was asked to {what}.")
            return
        if (command := command_of(message)) is not None:
            row = self._new_block()
            self.transcript.add_tool(row, command.command, is_command=True)
            self.transcript.end_tool(row, command.outcome, command.seconds, command.output)
            return
        if is_compaction(message):
            self._compaction(message, position)
            return
        attached = tuple(each for each in message.content if isinstance(each, MEDIA))
        text = prompt_words(message.content)
        block = self._new_block()
        self.transcript.add_user(block, text)
        self.prompt, self.attached = (block, text), attached
        self.questions[block] = position
        for file in attached:
            show_media(self.transcript, self._new_block(), file)

    def _compaction(self, message: Message, position: int) -> None:
        """Show what stands for the messages above, which are no longer sent."""
        above = counted(position - self._sent_from, "message")
        self._sent_from = position
        if message.metadata.get(COMPACTION) != SUMMARY:
            is_one = above.startswith("1 ")
            self._note(f"The {above} above {'is' if is_one else 'are'} no longer sent.")
            return
        show_summary(self.transcript, self._new_block(), message, f"summary of the {above} above")

    def _assistant(self, message: Message) -> None:
        checked = message.metadata.get(CHECKED)
        for block in message.content:
            self._part(block, is_tree=checked == "valid")
        if checked == "invalid":
            self._note("This answer does not match its JSON Schema.", "warning")
        for call in message.tool_calls:
            row = self._new_block()
            self.transcript.add_tool(row, call.name, main_argument(call.args, call.raw_args))
            self._calls[call.id] = row
        ended = message.metadata.get("ended")
        if isinstance(ended, str) and ended in _ENDS:
            self._note(*_ENDS[ended])

    def _part(self, block: Block, *, is_tree: bool) -> None:
        row = self._new_block()
        match block:
            case ThinkingContent():
                self.transcript.add_thinking(row)
                self.transcript.append(row, block.text)
                self.transcript.finish(row, "thought")
            case TextContent():
                self.transcript.add_answer(row, block.text)
                if is_tree:
                    self.transcript.finish(row, is_tree=True)
            case ImageContent() | AudioContent() | VideoContent() | DocumentContent():
                show_media(self.transcript, row, block)
            case _:
                self.transcript.add_note(row, block_words(block))

    def _result(self, message: Message) -> None:
        row = self._calls.pop(message.tool_call_id or "", None)
        if row is None:
            self._note(message.text)
            return
        self.first_blocks[self._position] = row
        self.transcript.end_tool(row, saved_outcome(message), None, saved_output(message))

    def _note(self, text: str, kind: NoteKind = "info") -> None:
        self.transcript.add_note(self._new_block(), text, kind)


def show_media(transcript: TranscriptPort, block_id: str, block: MediaContent) -> None:
    """Show a picture of a message, or what a sound, video or document is."""
    if isinstance(block, ImageContent):
        transcript.add_picture(block_id, block.data, block.mime_type, block.url, block.name or "")
    else:
        transcript.add_note(block_id, media_words(block))
