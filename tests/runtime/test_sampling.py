"""Answers of a model for a server: its messages alone, without tools, and never without an end."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.mcp.requests import SamplingAnswer, SamplingRequest
from ollm_tui.protocol.chat_events import ChatEvent, ErrorEvent, Finish, TextDelta
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.runtime.tools.sampling import Sampling

REQUEST = SamplingRequest(
    "box",
    (Message("user", "One."), Message("assistant", "Two."), Message("user", "Three.")),
    40,
    "Be brief.",
    0.5,
    ("END",),
)


class Model:
    def __init__(self, *events: ChatEvent) -> None:
        self.events = events
        self.conversation = Conversation()
        self.asked: list[tuple[Message, ChatOptions]] = []

    def unsaved(self, conversation: Conversation) -> ChatClient:
        self.conversation = conversation
        return cast("ChatClient", self)

    @asynccontextmanager
    async def chat(
        self, prompt: Message, options: ChatOptions, _signal: Any
    ) -> AsyncIterator[AsyncIterator[ChatEvent]]:
        self.asked.append((prompt, options))
        yield _each(self.events)

    async def answer(self) -> SamplingAnswer:
        return await Sampling(self.unsaved).answer("some://model", REQUEST)


async def _each(events: Sequence[ChatEvent]) -> AsyncIterator[ChatEvent]:
    for event in events:
        yield event


def text(words: str) -> TextDelta:
    return TextDelta(delta=words, turn=1, block="b1")


async def test_the_model_gets_the_messages_of_the_server_and_nothing_else() -> None:
    model = Model(text("Fo"), text("ur."), Finish(reason="length", turn=1))
    assert await model.answer() == SamplingAnswer("Four.", "some://model", is_cut=True)
    sent = model.conversation
    assert (sent.model, sent.system_prompt, sent.tools) == ("some://model", "Be brief.", ())
    assert [one.text for one in sent.messages] == ["One.", "Two."]
    options = sent.options
    assert (options.max_tokens, options.temperature, options.stop) == (40, 0.5, ("END",))
    [(prompt, asked)] = model.asked
    assert (prompt.text, asked.tools) == ("Three.", ())


async def test_a_failure_is_one_and_so_is_an_empty_answer() -> None:
    failure = AIError(ErrorCode.SERVICE_UNAVAILABLE, "The server broke.")
    with pytest.raises(AIError, match="broke"):
        await Model(ErrorEvent(error=failure)).answer()
    with pytest.raises(AIError, match="gave no answer"):
        await Model(Finish(reason="stop", turn=1)).answer()
