"""Private chats: nothing of them is kept."""

from pathlib import Path

from ollm_tui.config.flags import Flags
from tests.support.fake_ollama import fake_ollama
from tests.support.http_server import serve
from tests.tui.chat.test_chat_tree import ask, texts
from tests.tui.chats.test_screen import opened, pressed, runtime
from tests.tui.screens import staged, staged_for_real
from tests.tui.scripted import ScriptedRuntime


async def test_a_private_chat_is_saved_nowhere_until_it_is_left(tmp_path: Path) -> None:
    async with serve(fake_ollama) as server:
        flags = Flags(model="local://tiny", private=True)
        async with staged_for_real(tmp_path, {"OLLAMA_HOST": server.url}, flags) as stage:
            await stage.until("ollm   Private", "This chat is private: it is not saved")
            await ask(stage, "echo secret")
            assert texts(stage)[-1] == "secret"
            assert stage.runtime.chats is not None
            assert await stage.runtime.chats.list() == ()
            await stage.send("/new")
            await stage.until("ollm   Private")
            await stage.send("/system Tell no secret.")
            await ask(stage, "echo another")
            assert await stage.runtime.chats.list() == ()
            await stage.send("/private off")
            await stage.until("This chat is saved.")
            assert "Private" not in stage.screen_text
            await ask(stage, "echo kept")
            assert [one.title for one in await stage.runtime.chats.list()] == ["echo kept"]
            assert stage.runtime.recent_models() == ("local://tiny:latest",)
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"kept" in kept
    assert b"secret" not in kept
    assert b"another" not in kept


async def test_prompts_of_a_private_chat_are_forgotten_with_it(tmp_path: Path) -> None:
    history = tmp_path / "prompts.jsonl"
    async with staged(tmp_path / "config.toml", ScriptedRuntime(), history=history) as stage:
        await stage.ask("before")
        stage.client.answer("yes")
        await stage.settle()
        await stage.send("/private")
        await stage.settle()
        assert "Private" in stage.screen_text
        await stage.ask("secret")
        stage.client.answer("yes")
        await stage.settle()
        await stage.pilot.press("up")
        assert stage.chat.composer.text == "secret"
        await stage.pilot.press("ctrl+c")
        await stage.send("/private")
        await stage.settle()
        assert stage.shown.count("This chat is private") == 2
        await stage.send("/private off")
        await stage.settle()
        await stage.pilot.press("up", "up", "up", "up", "up")
        assert "secret" not in stage.chat.composer.text
        assert "secret" not in history.read_text("utf-8")
        assert "before" in history.read_text("utf-8")


async def test_opening_a_saved_chat_ends_a_private_one(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", runtime(), is_private=True) as stage:
        await opened(stage)
        await pressed(stage, "enter")
        assert "Why is the sky blue?" in stage.shown
        assert not stage.controller.session.is_private
        assert "Private" not in stage.screen_text
