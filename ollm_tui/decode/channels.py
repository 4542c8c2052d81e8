"""Divide text whose messages each name their channel, as gpt-oss writes it ("harmony").

    <|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>…

The recipient of a message, if it has one, stands before the channel or behind it; one below
`calls_to` is a tool, and the message holds its arguments. Text outside of messages is the answer:
most servers read the channels themselves.
"""

from typing import Final, Literal, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.stream_search import (
    PrefixMatcher,
    Run,
    Scanner,
    TagSearch,
    Words,
    word_start,
)
from ollm_tui.decode.think_pieces import ThinkOutput, ThinkPiece
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.request import ThinkingChannels

MAX_HEADER_LENGTH: Final = 512
"""Characters between the beginning of a message and its text; more of them are no header."""
_RECIPIENT: Final = lazy_re(r"\bto=([^\s<]+)")
_WORD: Final = lazy_re(r"\w+")
_TO: Final = "to="


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A piece of the arguments of a call; the first has the name of the tool."""

    number: int
    name: str | None
    text: str


AnswerPiece: TypeAlias = ThinkPiece | CallPiece
_Kind: TypeAlias = Literal["text", "thinking", "call"]


class ChannelSplitter:
    """Turn chunks of text into pieces of answer, thinking and calls."""

    def __init__(self, tags: ThinkingChannels) -> None:
        self._tags = tags
        recipient = (Words((_TO,)), Run(r"^\s<", 200), Run(r"\s", 8), Words((tags.channel,)))
        self._header_starts = PrefixMatcher([(Words((tags.start, tags.channel)),), recipient])
        self._header_ends = TagSearch((tags.text, *tags.ends))
        self._message_ends = TagSearch((tags.start, tags.channel, *tags.ends))
        self._scanner = Scanner(self._between)
        self._blanks: list[str] = []
        self._header = ""
        self._has_messages = False
        self._kind: _Kind = "text"
        self._call_number = -1
        self._output = ThinkOutput(
            thinking_separator="\n\n", text_separator="\n\n", closed_blocks_only=False
        )
        self._calls: list[CallPiece] = []

    def feed(self, chunk: str) -> list[AnswerPiece]:
        """Return the pieces that are certain after this chunk."""
        self._scanner.feed(chunk)
        return self._take()

    def expect_text(self) -> None:
        """A no-op: text outside of messages is the answer."""

    def finish(self, *, ended_well: bool = False) -> list[AnswerPiece]:
        """Return what was held back; a header without a text is dropped."""
        del ended_well  # the channel says what a message is, also if it was cut
        self._scanner.feed("", final=True)
        if self._scanner.step == self._between and not self._has_messages:
            self._output.text("".join(self._blanks))
        self._blanks.clear()
        return self._take()

    def _take(self) -> list[AnswerPiece]:
        calls, self._calls = self._calls, []
        return [*self._output.emitted.take(), *calls]

    def _between(self, text: str, at: int, final: bool) -> int:
        """Outside of messages: read white space, up to the beginning of a header or a word."""
        if (word := word_start(text, at)) > at:
            self._blanks.append(text[at:word])
            return word
        begins = self._header_starts.test(text, at, final=final)
        if begins is None:
            return at
        blanks, self._header = "".join(self._blanks), ""
        self._blanks.clear()
        if begins:
            self._scanner.step = self._in_header
            return at
        if self._has_messages:
            self._begin("text")
        else:
            self._output.text(blanks)
        self._scanner.step = self._in_message
        return at

    def _in_header(self, text: str, at: int, final: bool) -> int:
        """Read up to the text of the message."""
        start, end = self._header_ends.search(text, at, final=final)
        most = at + MAX_HEADER_LENGTH - len(self._header)
        self._header += text[at : min(start, most)]
        if start > most:
            self._begin("text")
            self._output.text(self._header)
            self._scanner.step = self._in_message
            return most
        if text[start:end] == self._tags.text:
            self._begin_message(self._header)
        elif end > start:
            self._scanner.step = self._between
        return end

    def _in_message(self, text: str, at: int, final: bool) -> int:
        """Read the text of a message up to its end, or to the beginning of another one."""
        start, end = self._message_ends.search(text, at, final=final)
        self._add(text[at:start])
        if end == start:
            return end
        if self._kind == "thinking":
            self._output.close_block()
        self._kind, self._has_messages = "text", True
        self._scanner.step = self._between
        return end if text[start:end] in self._tags.ends else start

    def _begin_message(self, header: str) -> None:
        channel = _WORD.search(header.partition(self._tags.channel)[2])
        recipient = _RECIPIENT.search(header)
        calls_to = self._tags.calls_to
        if calls_to and recipient is not None and recipient[1].startswith(calls_to):
            self._call_number += 1
            self._calls.append(CallPiece(self._call_number, recipient[1][len(calls_to) :], ""))
            self._begin("call")
        else:
            is_thinking = channel is not None and channel[0] in self._tags.thinking
            self._begin("thinking" if is_thinking else "text")
        self._scanner.step = self._in_message

    def _begin(self, kind: _Kind) -> None:
        self._kind, self._has_messages = kind, True
        if kind != "call":
            self._output.open_block("")
        if kind == "text":  # an empty block, so that it stands apart from the text before it
            self._output.close_block()

    def _add(self, text: str) -> None:
        match self._kind:
            case "text":
                self._output.text(text)
            case "thinking":
                self._output.thinking(text)
            case "call" if text:
                self._calls.append(CallPiece(self._call_number, None, text))
