"""Read the calls that a model writes as text, between a provider and its turn.

If a piece of the text was lost, such a call has no arguments: it is not run, the model is told.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final

from ollm_tui.chat.react import correction
from ollm_tui.decode.json_guard import dump_or_reason
from ollm_tui.decode.leaked_forms import ToolTag
from ollm_tui.decode.react import ReActParser, ReActPiece
from ollm_tui.decode.react_call import ReActCall
from ollm_tui.decode.think_pieces import TextPiece, ThinkingPiece
from ollm_tui.decode.tool_calls import new_call_id
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.provider_events import (
    End,
    Finish,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
    Withdrawn,
)
from ollm_tui.protocol.tools import ToolCall, ToolSchema

if TYPE_CHECKING:
    from ollm_tui.decode.leaked_calls import LeakedPiece

_CUT: Final = frozenset({"abort", "length", "content_filter", "refusal", "error"})
"""Finish reasons that the model did not choose: the last piece may be incomplete."""


def is_cut(end: End) -> bool:
    """Whether the answer ended before the model was done."""
    return not isinstance(end, Finish) or end.reason in _CUT


class AnswerReader:
    """Turns calls in the text of an answer into call events; one per answer.

    This one, for native calls and for no tools, passes everything on unchanged.
    """

    @property
    def correction(self) -> str | None:
        """The correction for a call that cannot be read, or None if there is no problem."""
        return None

    def feed(self, event: ProviderEvent) -> Sequence[ProviderEvent]:
        """Take one event, but not an end, and return the events to pass on."""
        return (event,)

    def finish(self, end: End) -> Sequence[ProviderEvent]:
        """Return what was held back; how the answer ended tells whether a call in it is whole."""
        return ()

    def is_cut(self, end: Finish) -> bool:
        """Whether a call of the answer may be incomplete, so that none is run."""
        return is_cut(end)


class AnswerStart:
    """Drops the blank lines between the end of the thinking and the answer.

    Servers that separate the two leave them at the beginning of the text. White space is held back
    until the first other character, whose line keeps its indent.
    """

    def __init__(self) -> None:
        self._is_after_thinking = False
        self._indent: list[str] = []
        """White space of the newest line, in pieces: some models send nothing else for minutes."""

    def feed(self, event: ProviderEvent) -> ProviderEvent:
        """Take the next event; text that is all held back becomes an empty piece."""
        match event:
            case ThinkingDelta(index=0, delta=delta) if delta:
                self._is_after_thinking = True
                self._indent.clear()
            case Withdrawn(index=0):
                self._is_after_thinking = False
                self._indent.clear()
            case TextDelta(index=0) if self._is_after_thinking:
                return replace(event, delta=self._begun(event.delta))
            case _:
                pass
        return event

    def _begun(self, delta: str) -> str:
        words = delta.lstrip()
        blank = delta.removesuffix(words) if words else delta
        _, line_end, indent = blank.rpartition("\n")
        if line_end:
            self._indent.clear()
        self._indent.append(indent)
        if not words:
            return ""
        self._is_after_thinking = False
        text = "".join((*self._indent, words))
        self._indent.clear()
        return text


class ReActReader(AnswerReader):
    """Thoughts become thinking, the final answer the answer, an action a call."""

    def __init__(self, new_id: Callable[[int], str] = new_call_id) -> None:
        self._parser = ReActParser()
        self._ids = map(new_id, count(1))

    @property
    def correction(self) -> str | None:
        """The correction for a turn that can be neither run nor shown."""
        problem = self._parser.problem
        return None if problem is None or problem == "bad_input" else correction(problem)

    def feed(self, event: ProviderEvent) -> Sequence[ProviderEvent]:
        """Read text; everything else passes."""
        match event:
            case TextDelta(delta=delta, index=0):
                return [self._event(piece) for piece in self._parser.feed(delta)]
            case Withdrawn(index=0):
                self._parser = ReActParser()
            case _:
                pass
        return (event,)

    def finish(self, end: End) -> Sequence[ProviderEvent]:
        """Return what was held back, with the call last."""
        complete = isinstance(end, Finish) and not self.is_cut(end)
        pieces = self._parser.finish(complete=complete)
        return [_doubted(self._event(piece), end) for piece in pieces]

    def is_cut(self, end: Finish) -> bool:
        """Decide by the reason; a cut after an observation loses nothing."""
        return is_cut(end) and not (self._parser.stopped and end.reason == "length")

    def _event(self, piece: ReActPiece) -> ProviderEvent:
        match piece:
            case TextPiece(text=text):
                return TextDelta(text)
            case ThinkingPiece(text=text):
                return ThinkingDelta(text)
            case ReActCall():
                call_id, raw = next(self._ids), piece.raw_input
                return ToolCallEvent(
                    ToolCall(id=call_id, name=piece.name, args=piece.args, raw_args=raw)
                )


class LeakedCallReader(AnswerReader):
    """A native call that the model printed as text is a call; all other text stays text."""

    def __init__(
        self,
        offered: Iterable[ToolSchema],
        fits: Callable[[str, JsonObject], bool],
        new_id: Callable[[int], str] = new_call_id,
        own_tags: Iterable[ToolTag] = (),
    ) -> None:
        # Loaded only where tools are offered.
        from ollm_tui.decode.leaked_calls import LeakedCallDetector

        self._new_detector = partial(LeakedCallDetector, tuple(offered), fits, tuple(own_tags))
        self._detector = self._new_detector()
        self._ids = map(new_id, count(1))
        self._calls: list[ProviderEvent] = []

    def feed(self, event: ProviderEvent) -> Sequence[ProviderEvent]:
        """Search text; thinking and native calls pass."""
        match event:
            case TextDelta(delta=delta, index=0):
                return self._text_of(self._detector.feed(delta))
            case Withdrawn(index=0):
                self._detector = self._new_detector()
                self._calls.clear()
            case _:
                pass
        return (event,)

    def finish(self, end: End) -> Sequence[ProviderEvent]:
        """Return what was held back: text, then the calls."""
        text = self._text_of(self._detector.finish(complete=not is_cut(end)))
        return [*text, *(_doubted(call, end) for call in self._calls)]

    def _text_of(self, pieces: "Iterable[LeakedPiece]") -> list[ProviderEvent]:
        """Return the text and hold the calls back: only the end tells whether anything was lost."""
        text: list[ProviderEvent] = []
        for piece in pieces:
            match piece:
                case TextPiece(text=words):
                    text.append(TextDelta(words))
                case leaked:
                    call = ToolCall(id=next(self._ids), name=leaked.name, args=leaked.args)
                    self._calls.append(ToolCallEvent(call))
        return text


def _doubted(event: ProviderEvent, end: End) -> ProviderEvent:
    """Remove the arguments of a call if a piece of the answer was lost."""
    if not (isinstance(event, ToolCallEvent) and isinstance(end, Finish) and end.lost_pieces):
        return event
    call = event.call
    raw = call.raw_args or dump_or_reason(call.args or {})
    return replace(event, call=replace(call, args=None, raw_args=raw))
