"""How full a chat's context is, asked at any moment of it."""

from pathlib import Path

from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths
from ollm_tui.runtime.compose import load_runtime
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
