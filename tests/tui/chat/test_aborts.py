"""Esc at random moments of real answers: the screen says so, nothing is lost, the chat goes on."""

import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from ollm_tui.chat.conversation import Conversation
from ollm_tui.config.flags import Flags
from tests.support.aborting import MODULES, Census, answering, server_process, settles
from tests.support.seeds import chance_for, sampled
from tests.tui.screens import RealStage, is_ready, staged_for_real

pytestmark = pytest.mark.slow

TIMES, PARTS = 12, 2
MODELS = {"ollama": "local://tiny:latest", "openai-compatible": "openai-compatible://tiny"}
PROMPTS = {
    "connecting": "silent",
    "first byte": "silent",
    "text": "forever 2000",
    "arguments": "arguments",
}
SOON_S = 5.0


class Scene(RealStage):
    """A chat with a real server."""

    @property
    def is_busy(self) -> bool:
        return not is_ready(self.chat)

    async def soon(self, test: Callable[[], bool]) -> None:
        await self.until(test=test, within_s=SOON_S)

    @property
    def conversation(self) -> Conversation:
        return self.controller.session.client.conversation

    def last_answer(self) -> str:
        return self.conversation.last_answer() or ""

    async def saved_as_shown(self) -> bool:
        store = self.runtime.chats
        assert store is not None
        latest = await store.latest()
        assert latest is not None
        stored = await store.load(latest.id)
        return [m.message for m in stored.messages] == self.conversation.messages


@asynccontextmanager
async def scene(url: str, kind: str, folder: Path) -> AsyncIterator[Scene]:
    variable = "OLLAMA_HOST" if kind == "ollama" else "OPENAI_COMPATIBLE_HOST"
    async with staged_for_real(folder, {variable: url}, Flags(model=MODELS[kind])) as stage:
        yield Scene(stage.app, stage.pilot, stage.runtime)


async def one_abort(played: Scene, moment: str, chance: random.Random) -> None:
    """Ask in a new chat, press Esc at the moment, and wait until the screen has said so."""
    assert "topped" not in played.screen_text
    await played.send(PROMPTS[moment])
    await played.soon(lambda: played.is_busy)
    match moment:
        case "connecting":
            pass
        case "first byte":
            await anyio.sleep(chance.uniform(0, 0.02))
        case "text":
            await played.soon(lambda: "word" in played.screen_text)
        case _:
            await played.soon(lambda: "Looking." in played.screen_text)
    keys = ["escape"] * chance.choice((1, 1, 2))
    await played.pilot.press(*keys)
    await played.soon(lambda: not played.is_busy)
    await played.soon(lambda: "topped" in played.screen_text)


async def greet(played: Scene) -> None:
    """Start a new chat, and have an answer in it."""
    await played.send("/new")
    await played.soon(lambda: not played.last_answer())
    await played.send("hello")
    await played.soon(lambda: not played.is_busy and played.last_answer() == "Hello, world!")


@pytest.mark.parametrize("part", sampled(range(PARTS), 1))
@pytest.mark.parametrize("kind", [*MODELS])
async def test_esc_at_any_moment_of_a_real_answer_leaves_nothing_open(
    kind: str, part: int, tmp_path: Path
) -> None:
    chance = chance_for(20_264 + part)
    with server_process(MODULES[kind]) as url:
        async with scene(url, kind, tmp_path) as played:
            await greet(played)
            await anyio.sleep(0.2)
            before = Census.take()
            for number in range(part, TIMES, PARTS):
                moment = chance.choice([*PROMPTS])
                await one_abort(played, moment, chance)
                assert await played.saved_as_shown(), (number, moment)
                await greet(played)
                if not await settles(lambda: Census.take().is_within(before)):
                    raise AssertionError(f"{number}: {Census.take()} left of {before}")
        assert answering(url) == 0
