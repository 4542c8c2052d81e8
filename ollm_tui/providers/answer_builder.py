"""One answer of any wire format, from its first piece to its one end."""

from collections.abc import Callable, Mapping, Sequence

from ollm_tui.decode.channels import AnswerPiece, CallPiece, ChannelSplitter
from ollm_tui.decode.think_pieces import PieceList, TextPiece, ThinkingPiece, WithdrawnPiece
from ollm_tui.decode.thinking import ThinkTags, ThinkTagSplitter
from ollm_tui.decode.tool_calls import ToolCallAssembler, ToolCallDelta
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonMapping
from ollm_tui.protocol.message import Timings, Usage
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    MediaDelta,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
    Withdrawn,
)
from ollm_tui.protocol.tools import ToolCall

_REASONS: Mapping[str, str] = {
    spelling: reason
    for reason, spellings in {
        "stop": "stop complete completed done finished eos eostoken eosfound endturn endofturn "
        "endoftext stopsequence stopstring stopstringfound stoptoken",
        "length": "length maxtokens maxlength maxlen maxoutputtokens maxcompletiontokens "
        "maxnewtokens maxpredictedtokensreached modellength modelcontextwindowexceeded "
        "contextlength contextlengthreached contextlengthexceeded tokenlimit lengthlimit "
        "errorlimit",
        "pause": "pause pauseturn",
        "tool_calls": "toolcalls toolcall tooluse tool functioncall functioncalls",
        "content_filter": "contentfilter contentfiltered contentpolicy safety sensitive "
        "recitation blocklist prohibitedcontent spii imagesafety guardrailintervened "
        "errortoxic moderation",
        "refusal": "refusal refused",
        "error": "error failed failure internalerror servererror networkerror "
        "insufficientsystemresource resourceexhausted malformedfunctioncall malformedtooluse "
        "malformedmodeloutput unexpectedtoolcall timelimit timeout abort aborted cancelled "
        "canceled usercancel userstopped modelunloaded",
        "": "null none unspecified notfinished",
    }.items()
    for spelling in spellings.split()
}
"""Finish reasons by their spellings, without case and signs; the empty one means none."""
_SIGNS = str.maketrans("", "", "_- .")


class AnswerBuilder:
    """Collects the pieces of one answer and returns them as events."""

    def __init__(
        self, tags: ThinkTags | None = None, on_thinking: Callable[[], object] | None = None
    ) -> None:
        """Divide the text by these tags.

        `on_thinking` is called if the server divides it, or took out what the prompt opened.
        """
        self.usage: Usage | None = None
        self.timings: Timings | None = None
        self.ended = False
        self.has_output = False
        self._lost = 0
        self._calls = ToolCallAssembler()
        channels = tags.channels if tags is not None else None
        self._splitter = ThinkTagSplitter(tags) if channels is None else ChannelSplitter(channels)
        self._has_channels = channels is not None
        self._on_thinking = on_thinking
        self._unsplit: list[str] = []
        self._pieces: PieceList[TextDelta | ThinkingDelta | Withdrawn] = PieceList()
        self._events: list[ProviderEvent] = []

    def add_text(self, delta: str) -> None:
        """Add a piece of text.

        Raises:
            LimitPassed: when there are too many calls in it, or they are too large.
        """
        if delta and not self.ended:
            self._unsplit.append(delta)
            self.has_output = True
            if self._has_channels:
                self._split_tags()  # there may be calls in it

    def add_thinking(self, delta: str) -> None:
        """Add a piece of thinking that the server sent apart from the text.

        The text after it is the answer, also if the prompt opened a block of thinking.
        """
        if delta and not self.ended:
            self._split_tags()
            self._splitter.expect_text()
            self._split_tags()  # what was held back stands before the thinking
            self._note_division()
            self._pieces.add(ThinkingDelta, delta)
            self.has_output = True

    def add_media(self, modality: str, data: bytes) -> None:
        """Add a piece of a picture, of sound or of a video."""
        if data and not self.ended:
            self._events.append(MediaDelta(modality=modality, data=data))
            self.has_output = True

    def add_signature(self, signature: str, signer: str, *, sealed: bool = False) -> None:
        """Add the signature of the thinking before it, or of a sealed block without text."""
        if not self.ended:
            self._split_tags()
            self._flush()
            self._events.append(ThinkingDelta("", 0, signature, signer, sealed))
            self.has_output = True

    def add_tool_calls(self, deltas: Sequence[ToolCallDelta]) -> None:
        """Add pieces of tool calls.

        Raises:
            LimitPassed: when there are too many calls, or they are too large.
        """
        if deltas and not self.ended:
            self._calls.feed(deltas)
            self.has_output = True

    def count_arguments(self, arguments: JsonMapping) -> None:
        """Count arguments that a decoder keeps towards the limits of `add_tool_calls`.

        Raises:
            LimitPassed: when they are too large.
        """
        self._calls.weigh(arguments)

    def measure(self, usage: Usage | None, timings: Timings | None) -> None:
        """Replace the figures that the server measured by those that are given."""
        self.usage = usage or self.usage
        self.timings = timings or self.timings

    def mark_lost_piece(self) -> None:
        """Record that a piece was unreadable: its content may be missing from a tool call."""
        self._lost += 1
        self._calls.lose_piece()

    def finish(self, raw_reason: str | None) -> None:
        """End the answer with the finish reason as the server sent it. A no-op if it has ended."""
        if self.ended:
            return
        if self._has_channels:
            self._split_tags(is_end=True)
        calls = self._finished_calls(raw_reason)
        is_whole = (known_reason(raw_reason) or "stop") == "stop" and not calls
        self._split_tags(is_end=True, ended_well=is_whole)
        self._flush()
        self._events += [ToolCallEvent(call) for call in calls]
        reason = _reason_with_calls(known_reason(raw_reason), has_calls=bool(calls))
        self._end(
            Finish(
                reason,
                self.usage,
                self.timings,
                raw_reason=raw_reason or None,
                lost_pieces=self._lost,
            )
        )

    def fail(self, error: AIError) -> None:
        """End the answer with an error; its text is kept, unfinished tool calls are not."""
        if self.ended:
            return
        self._split_tags(is_end=True)
        self._flush()
        if self.has_output and error.retryable:
            error.retryable = False  # a repetition would repeat the first words
        self._end(ErrorEvent(error, usage=self.usage))

    def fail_without_retry(self, error: AIError) -> None:
        """End the answer with an error that the server sent inside it."""
        error.retryable = False
        self.fail(error)

    def take_events(self) -> list[ProviderEvent]:
        """Return the events since the last call."""
        self._split_tags()
        self._flush()
        events, self._events = self._events, []
        return events

    def _finished_calls(self, raw_reason: str | None) -> list[ToolCall]:
        was_cut = known_reason(raw_reason) == "length"
        if was_cut:
            self._calls.lose_piece()  # its arguments may be missing, not empty
        calls = self._calls.finish()
        # A call that the token limit cut cannot be repaired by the model: the limit comes again.
        return [] if was_cut and any(call.args is None for call in calls) else calls

    def _split_tags(self, *, is_end: bool = False, ended_well: bool = False) -> None:
        """Search the text added since the last call for thinking tags."""
        pieces: list[AnswerPiece] = [*self._splitter.feed("".join(self._unsplit))]
        self._unsplit.clear()
        if is_end:
            last = self._splitter.finish(ended_well=ended_well)
            if any(isinstance(piece, WithdrawnPiece) for piece in last):
                self._note_division()  # nothing in the text ended the block
            pieces += last
        for piece in pieces:
            match piece:
                case WithdrawnPiece():
                    self._pieces.put(Withdrawn())
                case ThinkingPiece(text=text):
                    self._pieces.add(ThinkingDelta, text)
                case TextPiece(text=text):
                    self._pieces.add(TextDelta, text)
                case CallPiece(number=number, name=name, text=text):
                    self._calls.feed([ToolCallDelta(index=number, name=name, arguments=text)])

    def _note_division(self) -> None:
        if self._on_thinking is not None:
            self._on_thinking()
            self._on_thinking = None

    def _flush(self) -> None:
        self._events += self._pieces.take()

    def _end(self, event: Finish | ErrorEvent) -> None:
        self.ended = True
        self._events.append(event)


def known_reason(raw: str | None) -> str | None:
    """Return our name for a server's finish reason; an unknown one stays as it is."""
    if not raw:
        return None
    plain = raw.lower().removeprefix("finish_reason_").translate(_SIGNS)
    return _REASONS.get(plain, raw) or None


def _reason_with_calls(reason: str | None, *, has_calls: bool) -> str:
    reason = reason or "stop"
    if reason == "tool_calls" and not has_calls:
        return "stop"
    return "tool_calls" if reason == "stop" and has_calls else reason
