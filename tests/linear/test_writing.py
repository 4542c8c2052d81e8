"""Longer messages: the editor's text is kept or sent, and snippets ask for what is open."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ollm_tui.linear import writing as module
from ollm_tui.linear.writing import Writing
from tests.linear.stage import heard_chat


class Program:
    """An editor that writes a text into its file, and how it ends."""

    def __init__(self, command: tuple[str, ...], *_more: object) -> None:
        self.path = Path(command[-1])

    text, code = "One\ntwo\n", 0
    has_ended = False

    def start(self) -> None:
        self.path.write_text(self.text)

    async def wait(self) -> int:
        return self.code

    def end(self) -> None:
        Program.has_ended = True


class Stage:
    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, *typed: str | None, **program: Any
    ) -> None:
        monkeypatch.setattr(module, "ForegroundProgram", type("Fake", (Program,), program))
        paths = SimpleNamespace(snippets_dir=folder / "snippets")
        self.chat = heard_chat(*typed, paths=paths)
        self.chat.send = self.send
        self.chat.questions.lend = self.lend
        self.sent: list[str] = []
        self.writing = Writing(self.chat, {"EDITOR": "/bin/sh"})

    async def send(self, text: str) -> None:
        self.sent.append(text)

    async def lend(self, use: Callable[[], Awaitable[int]]) -> int:
        return await use()


async def test_what_the_editor_leaves_is_sent_after_a_yes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(tmp_path, monkeypatch, "send")
    await stage.writing.edit()
    assert stage.sent == ["One\ntwo"]
    assert "The message has 2 lines." in stage.chat.heard
    assert Program.has_ended


async def test_without_a_yes_it_is_kept_for_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(tmp_path, monkeypatch, None, "send", text="")
    stage.writing._kept = "A draft"
    await stage.writing.edit()
    assert stage.sent == []
    assert stage.chat.heard[-1] == "The message is empty."
    stage = Stage(tmp_path, monkeypatch, None, text="A long one\n")
    await stage.writing.edit()
    assert stage.chat.heard[-1] == "Kept."
    assert stage.writing._kept == "A long one"


async def test_a_text_of_an_editor_that_failed_is_kept_and_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(tmp_path, monkeypatch, code=1)
    await stage.writing.edit()
    assert stage.sent == []
    assert stage.writing._kept == "One\ntwo"
    assert stage.chat.heard[-1].startswith("Warning: ")
    assert stage.chat.heard[-1].endswith("/editor opens what it saved.")


async def test_a_snippet_of_one_line_waits_at_the_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(tmp_path, monkeypatch, "{{b}}", "")
    snippets = stage.writing.snippets
    await snippets.add("hi", "Say {{a}} to {{b}}")
    await snippets.insert("hi", "")
    assert stage.chat.next_line == "Say {{b}} to {{b}}"  # what is filled in is not filled again
    assert stage.sent == []


async def test_a_longer_snippet_is_read_before_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(tmp_path, monkeypatch, "send", "yes")
    snippets = stage.writing.snippets
    await snippets.add("two", "One\x1b[31m\ntwo")
    await snippets.insert("two", "")
    assert [*stage.chat.heard[1:4], stage.sent] == [
        "Snippet:",
        "One␛[31m",
        "two",
        ["One\x1b[31m\ntwo"],
    ]
    await snippets.remove("two")
    assert stage.chat.heard[-1] == "Removed the snippet “two”."
    assert not list((tmp_path / "snippets").iterdir())
