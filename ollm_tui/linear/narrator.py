"""What happens in an answer, said once and in order."""

import time
from collections.abc import Callable
from typing import Final, assert_never

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.figures import finish_note, left_out_note, seconds
from ollm_tui.frontend.web_results import spoken_result
from ollm_tui.linear.answer_text import LinearText
from ollm_tui.protocol import chat_events as chat
from ollm_tui.protocol.errors import AIError, ErrorCode

_MAX_RESULT_LENGTH: Final = 200
"""Characters of what a failed tool said."""
_PHASES: Final = {
    "loading": "Loading the model",
    "reading": "Reading the prompt",
    "compacting": "Summarising the older messages",
}


@dataclass(slots=True)
class Narrator:
    """Takes the events of answers, one after another, and says what they are."""

    say: Callable[[str], None]
    reads_thinking: bool = True
    """Whether thinking is read out, or only how long it took."""
    clock: Callable[[], float] = time.monotonic
    failed: bool = False
    """Whether the newest prompt ended in an error."""
    can_go_on: bool = False
    """Whether the newest prompt ran out of turns."""
    state: str = "Ready"
    """What is going on, in a word or two."""
    _is_over: bool = True
    _text: LinearText | None = None
    _since: float | None = None
    """When the thinking began."""
    _tools: dict[str, float] = field(default_factory=dict)
    _no_answer: chat.NoAnswer | None = None
    _left_out: tuple[int, str, tuple[str, ...]] | None = None
    _mentioned: set[str] = field(default_factory=set)

    def begin(self, model: str) -> None:
        """Say that a prompt was sent."""
        self.failed = self.can_go_on = self._is_over = False
        self._text, self._since, self._no_answer = None, None, None
        self._tools.clear()
        self._mentioned.clear()
        self._enter(f"Waiting for {clean_name(model)}")

    def _enter(self, state: str) -> None:
        """Say a state that was not the one before."""
        if state != self.state:
            self.state = state
            self.say(f"{state}.")

    def stop(self) -> None:
        """Say at once that the answer was stopped; what still comes is not read."""
        if not self._is_over:
            self._close()
            self._end("Stopped")
            self.say("Stopped.")

    def fail(self, error: AIError) -> None:
        """Say why there is no complete answer."""
        if self._is_over:
            return
        if error.known_code is ErrorCode.ABORTED:
            self.stop()
            return
        self._close()
        self.failed = True
        self._end("Ready")
        self.say(error_line(error))

    def _end(self, state: str) -> None:
        self._is_over, self.state = True, state

    def apply(self, event: chat.ChatEvent) -> None:
        """Say what an event is; nothing after the end."""
        if self._is_over:
            return
        match event:
            case chat.TextDelta() | chat.ThinkingDelta():
                self._write(event)
            case chat.Withdrawn():
                self._withdraw()
            case chat.ToolCallStart() | chat.ToolCallResult():
                self._tool(event)
            case chat.ToolCallOutput():
                pass  # it is read out when it is complete
            case chat.PromptProgress():
                self._enter(_PHASES[event.phase])
            case (
                chat.Compacted() | chat.ContextWarning() | chat.PicturesLeftOut() | chat.Retrying()
            ):
                self._warn(event)
            case chat.MediaDelta():
                self._media(event)
            case _:
                self._turn(event)

    def _turn(
        self,
        event: chat.NoAnswer
        | chat.StructuredAnswer
        | chat.TurnComplete
        | chat.Finish
        | chat.ErrorEvent,
    ) -> None:
        match event:
            case chat.NoAnswer():
                self._no_answer = event
            case chat.StructuredAnswer() | chat.TurnComplete():
                self._close()
            case chat.Finish():
                self._finish(event)
            case chat.ErrorEvent():
                self.fail(event.error)
            case _:
                assert_never(event)

    # Text

    def _write(self, event: chat.TextDelta | chat.ThinkingDelta) -> None:
        is_thinking = isinstance(event, chat.ThinkingDelta)
        if is_thinking != (self._since is not None) or self._text is None:
            self._close()
            self._text = LinearText()
            self._since = self.clock() if is_thinking else None
            self._enter("Thinking" if is_thinking else "Answering")
        if isinstance(event, chat.ThinkingDelta) and (event.hidden or not self.reads_thinking):
            return
        self._read(self._text.feed(event.delta))

    def _read(self, lines: list[str]) -> None:
        if lines:
            self.say("\n".join(lines))

    def _close(self) -> None:
        """Say the rest of a block, and how long thinking took."""
        if self._text is not None:
            self._read(self._text.finish())
            self._text = None
        if self._since is not None:
            self.say(f"Thought for {seconds(self.clock() - self._since)}.")
            self._since = None

    def _withdraw(self) -> None:
        was_thinking = self._since is not None
        self._close()
        self.state = ""
        what = "the answer, not thinking" if was_thinking else "thinking, not the answer"
        self.say(f"The text above was {what}. It follows again.")

    # Tools

    def _tool(self, event: chat.ToolCallStart | chat.ToolCallResult) -> None:
        self._close()
        name = clean_name(event.call.name)
        if isinstance(event, chat.ToolCallStart):
            self._tools[event.block] = self.clock()
            self.state = f"Running the tool {name}"
            return
        since = self._tools.pop(event.block, None)
        if since is None:
            return
        self.state = "Waiting"
        outcome = event.result.outcome
        if outcome == "done":
            output = event.result.display or event.result.content
            self.say("\n".join([f"{name} is done.", *spoken_result(event.call.name, output)]))
        elif outcome == "failed":
            why = event.result.display or event.result.content
            self.say(f"{name} failed: {clean_line(why[:_MAX_RESULT_LENGTH])}")
        elif outcome == "stopped":
            self.say(f"{name} was cancelled.")

    # Remarks

    def _warn(
        self,
        event: chat.Compacted | chat.ContextWarning | chat.PicturesLeftOut | chat.Retrying,
    ) -> None:
        match event:
            case chat.Compacted():
                self.say(event.message)
            case chat.PicturesLeftOut(count=count, model=model, kinds=kinds):
                if self._left_out != (count, model, kinds):  # once for the same files and model
                    self._left_out = (count, model, kinds)
                    self.say(f"Warning: {left_out_note(count, model, kinds)}")
            case chat.Retrying():
                again = f"Retrying in {seconds(event.wait_s)}." if event.wait_s else "Trying again."
                self.say(f"{event.why} {event.instead or again}")
            case chat.ContextWarning(used=used, limit=limit):
                self._once(
                    f"Warning: the chat uses about {used:,} of the model's {limit:,} tokens. "
                    "/context shows how to make room."
                )

    def _media(self, event: chat.MediaDelta) -> None:
        if event.step is not None and event.total_steps and event.step < event.total_steps:
            self._once(f"Drawing, {counted(event.total_steps, 'step')}.")
        else:
            kind = {"image": "A picture", "video": "A video", "audio": "Music"}
            what = kind.get(event.modality, event.modality.capitalize())
            self._once(f"{what} is there. It is saved with the chat; /save writes it to a file.")

    def _once(self, sentence: str) -> None:
        if sentence not in self._mentioned:
            self._mentioned.add(sentence)
            self.say(sentence)

    def _finish(self, event: chat.Finish) -> None:
        if event.reason == "abort":
            self.stop()
            return
        self._close()
        self._end("Ready")
        if event.reason == "max_turns":
            self.can_go_on = True
            turns = counted(event.turn, "turn")
            self.say(
                f"Warning: the limit of {turns} with tools was reached, and the model wants to "
                "continue. /continue lets it, /continue 3 for three turns, /continue wrap has it "
                "answer now, /continue stop leaves it."
            )
        elif text := finish_note(event.reason, self._no_answer):
            self.say(f"Warning: {text}")


def error_line(error: AIError) -> str:
    """Return an error with its next step."""
    message = error.message
    ended = message if message.endswith((".", "!", "?", "…")) else f"{message}."
    return without_marks(f"Error: {ended} {error.hint or ''}".rstrip())


def without_marks(sentence: str) -> str:
    """Return a sentence of the program without the marks around what can be typed."""
    return sentence.replace("`", "")
