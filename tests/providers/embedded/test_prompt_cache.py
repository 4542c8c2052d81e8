"""What of a chat the engine reads again: the new part, whatever was asked in between."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import Finish, PromptProgress
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.providers.embedded.provider import EmbeddedProvider
from tests.providers.answers import answer, end_of, text_of
from tests.support.engine import MODEL, embedded, needs_engine

pytestmark = [pytest.mark.engine, needs_engine]

LONG = "The quick brown fox jumps over the lazy dog. " * 30
"""1,350 tokens of the scripted model, each a byte."""
FRAME = 120
"""More than its template writes around a question, and an answer of eight tokens. That is read
again, since the model writes in other tokens than it reads."""


async def ask(
    provider: EmbeddedProvider, messages: Sequence[Message], most: int = 8
) -> tuple[str, int]:
    """Return the answer, and how many tokens of the prompt were read for it."""
    options = GenerationOptions(max_tokens=most, num_ctx=4096)
    events = await answer(provider, Request(model=MODEL, messages=messages, options=options))
    assert isinstance(end_of(events), Finish), end_of(events)
    first = next(event for event in events if isinstance(event, PromptProgress))
    return text_of(events), first.total - first.done


def user(text: str) -> Message:
    return Message("user", text)


def said(text: str) -> Message:
    return Message("assistant", text)


async def test_a_chat_is_never_read_twice(model_folder: Path) -> None:
    async with embedded(model_folder) as (provider, _):
        first = [user(LONG)]
        text, read = await ask(provider, first)
        assert read > len(LONG)

        second = [*first, said(text), user("And then?")]
        text, read = await ask(provider, second)
        assert read < FRAME

        # a title: it continues the chat
        _, read = await ask(provider, [*second, said(text), user("Write a title.")])
        assert read < FRAME

        # a summary: another prompt, in which nothing is the same
        summary = [Message("system", "You summarise."), user("Summarise: " + LONG[:600])]
        _, read = await ask(provider, summary)
        assert 600 < read < 600 + 2 * FRAME

        third = [*second, said(text), user("And now?")]
        text, read = await ask(provider, third)
        assert read < FRAME

        # an edit that keeps what is before it
        edited = [*second[:-1], user("Why is that?")]
        text, read = await ask(provider, edited)
        assert read < FRAME

        # another chat, and back
        _, read = await ask(provider, [user("Other. " + LONG)])
        assert read > len(LONG)
        _, read = await ask(provider, [*edited, said(text), user("More?")])
        assert read < FRAME
