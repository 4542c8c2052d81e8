"""Decoders that only some answers of a wire format go through, under names of their own."""

import re
from collections import deque
from collections.abc import Callable, Mapping

from ollm_tui.protocol.provider_events import ProviderEvent
from ollm_tui.protocol.request import GenerationOptions
from ollm_tui.providers.answer_decoder import AnswerDecoder
from ollm_tui.providers.anthropic.llamacpp import SchemaAnswerDecoder
from ollm_tui.providers.openai_compatible.from_wire import OpenAIDecoder
from ollm_tui.providers.openai_compatible.kobold import KoboldStream
from tests.support.fakes import recording
from tests.support.frames import ENDPOINT

SCHEMA, KOBOLD = "an answer by a schema", "kobold"
ENDED = GenerationOptions(stop=("END",), max_tokens=1000)
"""Options with which `length` is what a stop sequence looks like."""


class KoboldDecoder(OpenAIDecoder):
    """The events of chat completions, each as `KoboldStream` passes it on."""

    def __init__(self) -> None:
        super().__init__(ENDPOINT)
        self._waiting = deque[ProviderEvent]()
        self._stream = KoboldStream(self, ENDED)

    def __aiter__(self) -> "KoboldDecoder":
        return self

    async def __anext__(self) -> ProviderEvent:
        return self._waiting.popleft()

    def feed(self, chunk: bytes) -> list[ProviderEvent]:
        return self._passed_on(super().feed(chunk))

    def finish(self) -> list[ProviderEvent]:
        return self._passed_on(super().finish())

    def _passed_on(self, events: list[ProviderEvent]) -> list[ProviderEvent]:
        self._waiting += events
        passed = [self._next() for _ in events]
        assert not (self.ended and self._stream.may_be_generating), "it would be told to stop"
        return passed

    def _next(self) -> ProviderEvent:
        step = self._stream.__anext__()
        try:
            step.send(None)
        except StopIteration as done:
            event: ProviderEvent = done.value
            return event
        raise AssertionError("nothing here waits")


FURTHER: Mapping[str, tuple[str, Callable[[], AnswerDecoder]]] = {
    SCHEMA: ("anthropic", lambda: SchemaAnswerDecoder(ENDPOINT, "scripted://m")),
    KOBOLD: ("openai-compatible", KoboldDecoder),
}
"""Each with the wire format that it reads."""


async def further_recording(name: str, prompt: str) -> bytes:
    """Give what a fake server streams to a prompt; calls of a schema are to the answer's tool."""
    body = await recording(FURTHER[name][0], prompt)
    return re.sub(rb'"name": "weather"', b'"name": "answer"', body) if name == SCHEMA else body
