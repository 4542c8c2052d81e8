"""An answer that a server holds to a schema by having a tool called: its arguments are the text."""

from ollm_tui.decode.json_guard import dump_json
from ollm_tui.decode.think_tags import ThinkTags
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.providers.anthropic.from_wire import AnthropicStream
from ollm_tui.providers.fields import as_object, string
from ollm_tui.providers.http_faults import Place

ANSWER = "answer"


class SchemaAnswerStream(AnthropicStream):
    """Turn the bytes of one such answer into events, with exactly one end.

    Text beside the call is no part of the answer, unless no call comes.
    """

    def __init__(self, place: Place, signer: str, tags: ThinkTags | None = None) -> None:
        super().__init__(place, signer, tags)
        self._answer_at: int | None = None
        self._aside: list[str] = []

    def _begin(self, index: int, block: JsonObject) -> None:
        match string(block, "type"), string(block, "name"):
            case "text", _:
                self._saw_answer = True
                self._newest = index
                self._aside.append(string(block, "text") or "")
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
                self._aside.append(string(delta, "text") or "")
            case "input_json_delta" if index == self._answer_at:
                self._answer.text(string(delta, "partial_json") or "")
            case _:
                super()._go_on(index, delta)

    def _complete(self) -> None:
        if self._answer_at is None:
            self._answer.text("".join(self._aside))
        elif self._reason == "tool_use":
            self._reason = "end_turn"
        super()._complete()
