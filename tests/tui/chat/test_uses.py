"""A chat counts once as a use of each model that answered in it."""

import json
from pathlib import Path

from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths
from ollm_tui.frontend.session import ChatSession
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelRef
from ollm_tui.runtime.compose import load_runtime
from tests.support.fake_ollama import fake_ollama
from tests.support.http_server import serve
from tests.tui.screens import staged
from tests.tui.scripted import ScriptedRuntime

TINY = ModelRef("local", "tiny:latest")


async def test_the_real_runtime_keeps_the_uses_for_the_next_run(tmp_path: Path) -> None:
    paths = AppPaths(*(tmp_path / kind for kind in ("config", "data", "state", "cache")))
    async with serve(fake_ollama) as server:
        environ = {"OLLAMA_HOST": server.url}
        async with load_runtime(Flags(), environ, paths)() as runtime:
            chat = ChatSession(runtime)
            chat.set_model(TINY)
            await chat.count_use()
            assert not (paths.data_dir / "registry.json").exists(), "nothing was asked yet"
            for _ in range(2):
                async with chat.client.chat("hello") as events:
                    assert [event async for event in events]
                await chat.count_use()
            runtime.model_registry.note_installed([])
            assert runtime.model_registry.search("tiny:latest") == [], "used is not installed"
        async with load_runtime(Flags(), environ, paths)() as runtime:
            chat = ChatSession(runtime)
            chat.set_model(TINY)
            async with chat.client.chat("hello") as events:
                assert [event async for event in events]
            await chat.count_use()
    uses = json.loads((paths.data_dir / "registry.json").read_text("utf-8"))["uses"]
    assert {name: use["count"] for name, use in uses.items()} == {str(TINY): 2}


async def test_the_first_answer_of_a_chat_counts_and_no_other(config: Path) -> None:
    runtime = ScriptedRuntime()
    async with staged(config, runtime) as stage:
        for _ in range(2):
            await stage.ask("hello")
            stage.client.answer("hi")
            await stage.settle()
        assert runtime.model_registry.uses == ["local://qwen3:8b"]
        await stage.ask("/new")
        await stage.settle()
        assert len(runtime.model_registry.uses) == 1, "a chat without an answer is none"
        await stage.ask("hello")
        stage.client.fail(AIError(ErrorCode.SERVICE_UNAVAILABLE, "It is gone."))
        await stage.settle()
        assert len(runtime.model_registry.uses) == 1
        await stage.ask("hello")
        stage.client.answer("hi")
        await stage.settle()
        assert runtime.model_registry.uses == ["local://qwen3:8b"] * 2
