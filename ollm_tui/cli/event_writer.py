"""Chat events on standard output: as text, or as JSON lines."""

import json
from collections.abc import Mapping
from typing import TypeAlias, assert_never

from ollm_tui.cli.output import ERROR, OK, SCHEMA_MISMATCH, STOPPED, TURN_LIMIT, Output
from ollm_tui.decode.clean import Cleaner
from ollm_tui.frontend.figures import ELSEWHERE, WHOLE, left_out_note, seconds
from ollm_tui.protocol import chat_events as chat
from ollm_tui.protocol.codec import event_to_json
from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.model import ModelRef
from ollm_tui.protocol.tools import ToolCall

SHOWN_RESULT = 200
"""Characters of a tool's result that are worth a line."""


_FILTERED = "The server's content filter ended the answer."
_ENDINGS: Mapping[str, str] = {
    "length": "The answer was cut at the token limit.",
    "content_filter": _FILTERED,
    "refusal": _FILTERED,
    "pause": "The server paused before the end of the answer.",
    "max_turns": "Stopped at the limit of turns with tools, which --max-turns N sets.",
    "error": "The server ended the answer with an error.",
}


class TextWriter:
    """The answer as text; a line end always closes it, however it ends.

    An answer to a JSON Schema is written once it matches, and nothing is if none does.
    """

    def __init__(self, output: Output, *, is_structured: bool = False) -> None:
        """Write an answer; `is_structured`: it must match a JSON Schema."""
        self._output = output
        self._cleaner = Cleaner()
        self._held_return = ""
        self._at_line_start = True
        self._is_thinking = False
        self._has_text = False
        """Whether text of this turn was written."""
        self._no_answer: chat.NoAnswer | None = None
        self._media_reported: set[str] = set()
        self._is_structured = is_structured

    def set_model(self, ref: ModelRef | None) -> None:
        """A no-op: standard output carries the answer alone."""

    def event(self, event: chat.ChatEvent) -> None:
        """Write what of an event belongs on the screen."""
        match event:
            case chat.TextDelta() | chat.StructuredAnswer():
                self._answer(event)
            case chat.TurnComplete():
                self._has_text = False
            case chat.ThinkingDelta():
                self._thinking(event)
            case chat.Withdrawn():
                self._withdraw()
            case chat.Retrying(attempt=attempt, wait_s=wait_s, error=error):
                at_once = WHOLE if error.code == ErrorCode.UNSUPPORTED_FEATURE else ELSEWHERE
                again = f"Retrying in {seconds(wait_s)} ({attempt})." if wait_s else at_once
                self._output.note(f"{event.why} {event.instead or again}")
            case (
                chat.PromptProgress()
                | chat.ContextWarning()
                | chat.Compacted()
                | chat.PicturesLeftOut()
                | chat.MediaDelta()
                | chat.NoAnswer()
                | chat.ToolCallOutput()
            ):
                self._remark(event)
            case chat.Finish(reason=reason):
                self._close()
                self._ending(reason)
            case chat.ErrorEvent(error=error):
                self._close()
                self._output.error(error.message, error.hint)
            case chat.ToolCallStart() | chat.ToolCallResult():
                self._tool(event)
            case _:
                assert_never(event)

    def _answer(self, event: chat.TextDelta | chat.StructuredAnswer) -> None:
        self._end_thinking()
        if isinstance(event, chat.TextDelta):
            if not self._is_structured:
                self._has_text = True
                self._text(event.delta)
        elif self._is_structured:
            self._output.json(event.value, indent=2, is_answer=True)

    def _thinking(self, event: chat.ThinkingDelta) -> None:
        if not event.hidden:
            self._is_thinking = True
            self._output.thinking(event.delta)

    def _withdraw(self) -> None:
        """Say what the text that was written is: it follows as something else."""
        if self._is_thinking:
            self._end_thinking()
            if self._output.is_watched:
                self._output.note("The text above was the answer, not thinking.")
        elif self._has_text:
            self._has_text = False
            self._close()
            self._output.note("The text above was thinking, not the answer.")

    def _tool(self, event: chat.ToolCallStart | chat.ToolCallResult) -> None:
        self._end_thinking()
        name = event.call.name
        if isinstance(event, chat.ToolCallStart):
            self._output.note(f"{name} {shown_arguments(event.call)}")
        else:
            result = event.result
            self._output.note(f"{name} {result.outcome}: {result.content[:SHOWN_RESULT]}")

    def _remark(
        self,
        event: chat.PromptProgress
        | chat.ContextWarning
        | chat.Compacted
        | chat.PicturesLeftOut
        | chat.MediaDelta
        | chat.NoAnswer
        | chat.ToolCallOutput,
    ) -> None:
        match event:
            case chat.ContextWarning(used=used, limit=limit):
                self._output.note(f"The conversation uses {used} of {limit} tokens.")
            case chat.Compacted():
                self._output.note(event.message)
            case chat.PicturesLeftOut(count=count, model=model, kinds=kinds):
                self._output.note(left_out_note(count, model, kinds))
            case chat.MediaDelta(modality=modality) if modality not in self._media_reported:
                self._media_reported.add(modality)
                self._output.note(f"The model sends {modality}, which cannot be shown here.")
            case chat.NoAnswer():
                self._no_answer = event  # the ending has the sentence, unless there is more
            case _:
                pass  # a further piece of what was mentioned, or a step before the answer

    def _text(self, delta: str) -> None:
        text = self._held_return + delta
        # A return at the end may belong to a line feed that has not arrived.
        self._held_return = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r").replace("\r\n", "\n")
        self._write(self._cleaner.feed(text))

    def _write(self, text: str) -> None:
        if text:
            self._at_line_start = text.endswith("\n")
            self._output.answer(text)

    def _end_thinking(self) -> None:
        if self._is_thinking:
            self._is_thinking = False
            self._output.thinking("\n\n")

    def _close(self) -> None:
        self._end_thinking()
        self._write(self._cleaner.feed(self._held_return) + self._cleaner.finish())
        self._held_return = ""
        if not self._at_line_start:
            self._write("\n")

    def _ending(self, reason: str) -> None:
        if sentence := _ENDINGS.get(reason):
            self._output.note(sentence)
        elif self._no_answer is not None:
            self._output.note(self._no_answer.message)


class JsonWriter:
    """Every event as one line of JSON."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._ref: ModelRef | None = None

    def set_model(self, ref: ModelRef | None) -> None:
        """Set the model that the last line names."""
        self._ref = ref

    def event(self, event: chat.ChatEvent) -> None:
        """Write one line, the last with who answered; what went wrong also goes to stderr."""
        line = event_to_json(event)
        if self._ref is not None and isinstance(event, chat.Finish | chat.ErrorEvent):
            line |= {"provider": self._ref.provider, "model": self._ref.model}
        is_answer = isinstance(event, chat.TextDelta | chat.ThinkingDelta | chat.StructuredAnswer)
        self._output.json(line, is_answer=is_answer)
        if isinstance(event, chat.NoAnswer):
            self._output.note(event.message)
        if isinstance(event, chat.ErrorEvent):
            self._output.error(event.error.message, event.error.hint)


EventWriter: TypeAlias = TextWriter | JsonWriter


def shown_arguments(call: ToolCall) -> str:
    """Return what a call was given, as it will run."""
    return call.raw_args if call.args is None else json.dumps(call.args, ensure_ascii=False)


def code_of(event: chat.ChatEvent) -> int:
    """Return the exit code that an event means; the first other than 0 is that of the prompt."""
    match event:
        case chat.ErrorEvent(error=error) if error.code == ErrorCode.SCHEMA_MISMATCH:
            return SCHEMA_MISMATCH
        case chat.ErrorEvent() | chat.NoAnswer() | chat.Finish(reason="error"):
            return ERROR
        case chat.Finish(reason="abort"):
            return STOPPED
        case chat.Finish(reason="max_turns"):
            return TURN_LIMIT
        case _:
            return OK
