"""Aborts at random moments leave nothing open and lose nothing."""

from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.protocol.message import Message
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from tests.chat.aborting import PROMPTS, abort_rig, many_aborts
from tests.support.aborting import MODULES, answering, server_process
from tests.support.providers import ScriptedProvider
from tests.support.seeds import chance_for, in_parts

pytestmark = pytest.mark.slow

TIMES, PARTS = 500, 5


@in_parts(PARTS)
async def test_aborts_at_random_moments_leave_one_end_and_nothing_open(
    tmp_path: Path, part: int
) -> None:
    chance = chance_for(20_263 + part)
    with (
        server_process(MODULES["ollama"]) as one,
        server_process(MODULES["openai-compatible"]) as two,
    ):
        urls = {"ollama": one, "openai-compatible": two}
        async with abort_rig(urls, tmp_path, chance) as rig:
            hit = await many_aborts(rig, TIMES // PARTS, chance)
        assert (answering(one), answering(two)) == (0, 0)
    assert all(hit[moment] for moment in PROMPTS)


class Waiting:
    """A journal whose first write takes a while."""

    def __init__(self) -> None:
        self.begun = anyio.Event()
        self.kept: list[str] = []

    async def begin(self, message: Message) -> str:
        self.begun.set()
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        self.kept.append(message.text)
        return str(len(self.kept))

    async def update(self, message_id: str, message: Message) -> None: ...

    async def finish(self, message_id: str, message: Message) -> None: ...

    async def branch(self, kept: int, messages: Sequence[Message]) -> None: ...

    def rewind(self, kept: int) -> None: ...


async def test_a_question_whose_saving_is_cancelled_is_saved_all_the_same() -> None:
    provider, journal = ScriptedProvider(), Waiting()
    registry = ProviderRegistry()
    registry.register(provider)
    parts = ChatParts(router=Router(registry, ModelCatalog(registry)))
    client = ChatClient(parts, Conversation(model="scripted://m"), journal=journal)
    with anyio.CancelScope() as scope:
        async with client.chat("hi"):
            await journal.begun.wait()
            scope.cancel()
            await anyio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    assert [message.text for message in client.conversation.messages] == journal.kept == ["hi"]
