"""Readers for calls that a model writes as text: ReAct, and calls that leaked into the answer."""

from collections.abc import Callable, Iterable, Sequence

from ollm_tui.chat.react import correction
from ollm_tui.decode.leaked_calls import LeakedCall, LeakedCallDetector, LeakedPiece
from ollm_tui.decode.react_draft import ReActCall
from ollm_tui.decode.react_text import ReActParser, ReActPiece
from ollm_tui.decode.think_output import TextPiece, ThinkingPiece
from ollm_tui.decode.tool_args import new_call_id
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.provider_events import (
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
)
from ollm_tui.protocol.tools import ToolCall, ToolSchema


class ReActReader:
    """Thoughts become thinking, the final answer the answer, an action a call."""

    def __init__(self, new_id: Callable[[int], str] = new_call_id) -> None:
        self._parser = ReActParser()
        self._new_id = new_id
        self._found = 0

    @property
    def correction(self) -> str | None:
        """What to tell the model when its turn can be neither run nor shown."""
        problem = self._parser.problem
        return None if problem is None or problem == "bad_input" else correction(problem)

    def feed(self, event: ProviderEvent) -> Sequence[ProviderEvent]:
        """Read text; everything else passes."""
        match event:
            case TextDelta(delta=delta, index=0):
                return [self._event(piece) for piece in self._parser.feed(delta)]
            case _:
                return (event,)

    def finish(self, *, complete: bool) -> Sequence[ProviderEvent]:
        """Give what was held back, with the call last."""
        return [self._event(piece) for piece in self._parser.finish(complete=complete)]

    def _event(self, piece: ReActPiece) -> ProviderEvent:
        match piece:
            case TextPiece(text=text):
                return TextDelta(text)
            case ThinkingPiece(text=text):
                return ThinkingDelta(text)
            case ReActCall():
                return ToolCallEvent(
                    ToolCall(
                        id=self._next_id(),
                        name=piece.name,
                        args=piece.args,
                        raw_args=piece.raw_input,
                    )
                )

    def _next_id(self) -> str:
        self._found += 1
        return self._new_id(self._found)


class LeakedCallReader:
    """A native call that the model printed as text is a call; all other text stays text."""

    correction: str | None = None

    def __init__(
        self,
        offered: Iterable[ToolSchema],
        fits: Callable[[str, JsonObject], bool],
        new_id: Callable[[int], str] = new_call_id,
    ) -> None:
        self._detector = LeakedCallDetector(offered, fits)
        self._new_id = new_id
        self._found = 0

    def feed(self, event: ProviderEvent) -> Sequence[ProviderEvent]:
        """Look at text; reasoning and real calls pass."""
        match event:
            case TextDelta(delta=delta, index=0):
                return [self._event(piece) for piece in self._detector.feed(delta)]
            case _:
                return (event,)

    def finish(self, *, complete: bool) -> Sequence[ProviderEvent]:
        """Give what was held back, as call or text."""
        return [self._event(piece) for piece in self._detector.finish(complete=complete)]

    def _event(self, piece: LeakedPiece) -> ProviderEvent:
        match piece:
            case TextPiece(text=text):
                return TextDelta(text)
            case LeakedCall():
                return ToolCallEvent(ToolCall(id=self._next_id(), name=piece.name, args=piece.args))

    def _next_id(self) -> str:
        self._found += 1
        return self._new_id(self._found)
