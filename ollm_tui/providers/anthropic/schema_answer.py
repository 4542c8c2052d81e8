"""An answer that a server holds to a schema by having a tool called: its arguments are the text."""

import io

from ollm_tui.decode import LimitPassed
from ollm_tui.decode.json_fields import as_object, string
from ollm_tui.decode.json_guard import dump_json
from ollm_tui.decode.thinking import ThinkTags
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.providers.anthropic.from_wire import AnthropicStream
from ollm_tui.providers.http_faults import Endpoint

ANSWER = "answer"
MAX_ASIDE_CHARS = 4 * 1024 * 1024
"""What is kept of text until it is clear whether it is the answer."""


class SchemaAnswerStream(AnthropicStream):
    """Turn the bytes of one such answer into events, with exactly one end.

    Text beside the call is no part of the answer, unless no call comes.
    """

    def __init__(self, place: Endpoint, signer: str, tags: ThinkTags | None = None) -> None:
        super().__init__(place, signer, tags)
        self._answer_at: int | None = None
        self._aside = io.StringIO()

    def _begin(self, index: int, block: JsonObject) -> None:
        match string(block, "type"), string(block, "name"):
            case "text", _:
                self._saw_answer = True
                self._newest = index
                self._put_aside(string(block, "text") or "")
            case "tool_use", name if name == ANSWER:
                self._saw_answer = True
                self._newest = self._answer_at = index
                if whole := as_object(block.get("input")):
                    self._answer.text(dump_json(whole))
            case _:
                super()._begin(index, block)

    def _go_on(self, index: int, delta: JsonObject) -> None:
        match string(delta, "type"):
            case "text_delta":
                self._put_aside(string(delta, "text") or "")
            case "input_json_delta" if index == self._answer_at:
                self._answer.text(string(delta, "partial_json") or "")
            case _:
                super()._go_on(index, delta)

    def _put_aside(self, text: str) -> None:
        self._aside.write(text)
        if self._aside.tell() > MAX_ASIDE_CHARS:
            raise LimitPassed(f"the server sent text longer than {MAX_ASIDE_CHARS} characters")

    def _complete(self) -> None:
        if self._answer_at is None:
            self._answer.text(self._aside.getvalue())
        elif self._reason == "tool_use":
            self._reason = "end_turn"
        super()._complete()
