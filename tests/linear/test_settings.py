"""The settings as lists: a value is changed and reset in the file, and a key is never typed."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ollm_tui.config.load import load_config
from ollm_tui.config.paths import AppPaths
from ollm_tui.config.settings_file import SettingsFile
from ollm_tui.linear.settings import SettingsView
from tests.linear.test_questions import Answered, Typist

TEXT = """# mine
[chat]
max_turns = 5 # few

[providers.work]
base_url = "https://llm.example.com/v1"
api_key = "sk-verysecret-123456789"
"""


async def shown(folder: Path, words: str, *typed: str) -> tuple[list[str], str]:
    paths = AppPaths(*(folder / kind for kind in ("config", "data", "state", "cache")))
    paths.config_dir.mkdir(exist_ok=True)
    paths.config_file.write_text(TEXT, "utf-8")
    paths.config_file.chmod(0o600)
    typist = Typist(*typed)

    def say(text: str, _kind: str = "info", hint: str | None = None) -> None:
        typist.say(f"{text} {hint or ''}".rstrip())

    chat: Any = SimpleNamespace(
        runtime=SimpleNamespace(settings=SettingsFile(load_config(paths, {}), paths)),
        questions=Answered(typist),
        say=say,
        write=typist.say,
    )
    await SettingsView(chat).show(words)
    return typist.heard, paths.config_file.read_text("utf-8")


async def test_a_value_is_changed_and_the_comment_stays(tmp_path: Path) -> None:
    heard, written = await shown(tmp_path, "max_turns", "1", "1", "7")
    assert "max_turns = 7 # few" in written
    assert heard[-1] == "Saved chat.max_turns. It acts when ollm starts again."
    assert any(line.startswith("1. chat.max_turns, 5, from ") for line in heard)


async def test_a_wrong_value_is_refused_with_a_sentence(tmp_path: Path) -> None:
    heard, written = await shown(tmp_path, "max_turns", "1", "1", "1000")
    assert written == TEXT
    assert heard[-1].startswith("Error: ")
    assert "at most 100" in heard[-1]


async def test_a_value_is_reset(tmp_path: Path) -> None:
    _heard, written = await shown(tmp_path, "max_turns", "1", "2")
    assert "max_turns" not in written


async def test_a_key_is_neither_read_out_nor_typed(tmp_path: Path) -> None:
    heard, written = await shown(tmp_path, "work api_key", "1", "1")
    assert heard[-1] == "Keys are not typed here. In a shell: ollm keys set NAME"
    assert "verysecret" not in "\n".join(heard)
    assert written == TEXT
