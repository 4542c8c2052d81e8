"""Titles are made behind an answer, and give way to the next prompt."""

from collections.abc import Mapping
from pathlib import Path

import anyio

from ollm_tui.config.flags import Flags
from tests.support.fake_ollama import OllamaServer
from tests.support.http_server import Reply, serve
from tests.tui.chat.test_chat_tree import ask, texts
from tests.tui.screens import staged_for_real


class Titling(OllamaServer):
    """Answers a request for a title when it is let; the prompt makes it a greeting."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.goes_on = anyio.Event()

    async def chat(self, name: str, body: Mapping[str, object], reply: Reply) -> object:
        messages = body["messages"]
        assert isinstance(messages, list)
        if str(messages[-1]["content"]).startswith("Write a title"):
            self.asked += 1
            await self.goes_on.wait()
        return await super().chat(name, body, reply)


async def test_a_title_is_made_and_the_next_prompt_does_not_wait_for_it(tmp_path: Path) -> None:
    ollama = Titling()
    async with serve(ollama) as server:
        flags, environ = Flags(model="local://tiny"), {"OLLAMA_HOST": server.url}
        async with staged_for_real(tmp_path, environ, flags, titles=True) as stage:
            await ask(stage, "echo one")
            await stage.until("ollm   echo one", test=lambda: ollama.asked == 1)
            await ask(stage, "echo two")  # before there is a title
            assert texts(stage)[-1] == "two"
            await stage.until(test=lambda: ollama.asked == 2)
            ollama.goes_on.set()
            await stage.until("ollm   Hello, world")
            assert stage.runtime.chats is not None
            assert [one.title for one in await stage.runtime.chats.list()] == ["Hello, world!"]
            await ask(stage, "echo three")
            assert len(texts(stage)) == 6
            assert ollama.asked == 2
            await stage.send("/rename Mine")
            await stage.until("ollm   Mine")
        async with staged_for_real(tmp_path, environ, Flags(goes_on=True), titles=True) as stage:
            await stage.until("ollm   Mine")


async def test_a_title_of_a_model_is_there_when_the_chat_is_opened_again(tmp_path: Path) -> None:
    ollama = Titling()
    ollama.goes_on.set()
    async with serve(ollama) as server:
        flags, environ = Flags(model="local://tiny"), {"OLLAMA_HOST": server.url}
        async with staged_for_real(tmp_path, environ, flags, titles=True) as stage:
            await ask(stage, "echo one")
            await stage.until("ollm   Hello, world")
            chat = (await stage.runtime.chats.list())[0].id if stage.runtime.chats else ""
        async with staged_for_real(tmp_path, environ, Flags(chat=chat), titles=True) as stage:
            await stage.until("ollm   Hello, world")
            await ask(stage, "echo two")
            assert ollama.asked == 1
