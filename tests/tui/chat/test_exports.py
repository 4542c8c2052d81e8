"""The open chat goes to a file or to the clipboard, and the chat says which."""

from pathlib import Path

from ollm_tui.config.new_file import NameTaken
from tests.tui.chat.test_branches import command
from tests.tui.screens import staged
from tests.tui.scripted import ScriptedRuntime


async def test_a_chat_is_written_and_a_file_that_exists_is_kept(tmp_path: Path) -> None:
    runtime = ScriptedRuntime()
    async with staged(tmp_path / "config.toml", runtime, size=(80, 60)) as stage:
        await stage.ask("why?")
        stage.client.answer("Because.")
        await stage.settle()
        await command(stage, "/export")
        assert runtime.exports.asked == [("md", None, False)]
        assert "Saved why.md." in stage.screen_text
        runtime.exports.refuses = NameTaken(Path("a[b].html"))
        await command(stage, "/export a[b].html")
        shown = " ".join(stage.screen_text.split())
        assert "a[b].html exists already. To replace it: /export html a[b].html replace" in shown
