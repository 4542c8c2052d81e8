"""How full a chat's context is, asked at any moment of it."""

from pathlib import Path

import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths
from ollm_tui.protocol.errors import AIError
from ollm_tui.runtime.compose import load_runtime
from ollm_tui.tokens.limits import (
    ContextRemedy,
    DropAttachments,
    LeaveOutTurns,
    Plan,
    SendEverything,
)
from tests.support.fake_ollama import fake_ollama
from tests.support.http_server import serve


async def test_a_chat_is_measured_before_and_after_its_first_question(tmp_path: Path) -> None:
    paths = AppPaths(*(tmp_path / kind for kind in ("config", "data", "state", "cache")))
    async with serve(fake_ollama) as server:
        load = load_runtime(Flags(), {"OLLAMA_HOST": server.url}, paths)
        async with load() as runtime:
            client = runtime.new_client("local://tiny:latest")
            client.conversation.system_prompt = "Be brief."
            empty = await runtime.measure(client.conversation)
            assert [what for what, _tokens in empty.parts] == ["system prompt and tools"]
            assert empty.ways == ()
            async with client.chat("hello") as events:
                assert [event async for event in events]
            asked = await runtime.measure(client.conversation)
    names = [what for what, _tokens in asked.parts]
    assert names == ["system prompt and tools", "questions", "answers"]
    assert sum(tokens for _what, tokens in asked.parts) == asked.used > empty.used


async def test_a_chat_without_a_model_is_refused_with_the_reason(tmp_path: Path) -> None:
    paths = AppPaths(*(tmp_path / kind for kind in ("config", "data", "state", "cache")))
    async with load_runtime(Flags(), {}, paths)() as runtime:
        with pytest.raises(AIError, match=r"^No model is selected\.") as caught:
            await runtime.measure(runtime.new_client().conversation)
    assert caught.value.hint == "Choose one to chat with."


PLAN = Plan(kept=(), left_out=(), turns_left_out=1, used=0, freed=0, fits=True)


@pytest.mark.parametrize("way", [LeaveOutTurns(1, PLAN), DropAttachments(1, 4, fits=True)])
async def test_what_was_left_out_can_be_sent_again(tmp_path: Path, way: ContextRemedy) -> None:
    paths = AppPaths(*(tmp_path / kind for kind in ("config", "data", "state", "cache")))
    async with serve(fake_ollama) as server:
        load = load_runtime(Flags(), {"OLLAMA_HOST": server.url}, paths)
        async with load() as runtime:
            client = runtime.new_client("local://tiny:latest")
            for prompt in ("hello", "hello again"):
                async with client.chat(prompt) as events:
                    assert [event async for event in events]
            before = await runtime.measure(client.conversation)
            runtime.apply_remedy(client.conversation, way)
            left_out = await runtime.measure(client.conversation)
            runtime.apply_remedy(client.conversation, SendEverything())
            after = await runtime.measure(client.conversation)
    assert left_out.ways == (SendEverything(),)
    assert left_out.used < before.used or isinstance(way, DropAttachments)
    assert after == before
