"""An answer held to a JSON Schema: a tree in the chat, saved and restored as such."""

import json
from pathlib import Path

import pytest

from ollm_tui.cli import main
from ollm_tui.config.flags import Flags
from ollm_tui.protocol.chat_events import StructuredAnswer
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from tests.tui.chat.test_restore import shown
from tests.tui.screens import Stage, staged, within
from tests.tui.scripted import finish, text
from tests.tui.svg import SvgSnapshot
from tests.tui.transcript.reading import press

SCHEMA: JsonObject = {"type": "object", "title": "Author", "required": ["name"]}
AUTHOR: JsonObject = {
    "name": "Goethe",
    "born": 1749,
    "living": False,
    "works": ["Faust", "Egmont"],
    "places": {"Frankfurt": {"from": 1749, "to": 1775}, "Weimar": {"from": 1775, "to": 1832}},
}


async def answered(stage: Stage) -> None:
    await stage.ask("Who wrote Faust?")
    written = json.dumps(AUTHOR)
    stage.client.give(
        text(written), StructuredAnswer(value=AUTHOR, turn=1, block="answer-1"), finish()
    )
    await stage.settle()
    await stage.settle()


async def test_the_answer_is_a_tree_that_folds(config: Path) -> None:
    async with staged(config, size=(80, 30)) as stage:
        await answered(stage)
        assert "▾ works" in stage.screen_text
        assert '[1]: "Egmont"' in stage.screen_text
        assert "{" not in stage.screen_text
        row = next(y for y, line in enumerate(stage.screen_text.splitlines()) if "▾ works" in line)
        await stage.pilot.click(offset=(6, row))
        await stage.settle()
        assert "▸ works  2 items" in stage.screen_text
        await press(stage, "alt+up", "space")
        assert '[1]: "Egmont"' in stage.screen_text
        await press(stage, "space")
        assert "▸ places  2 keys" in stage.screen_text
        await press(stage, "c")
        assert stage.app.clipboard == json.dumps(AUTHOR)


async def test_what_is_folded_is_found(config: Path) -> None:
    async with staged(config, size=(80, 30)) as stage:
        await answered(stage)
        await press(stage, "alt+up", "space")
        assert "Weimar" not in stage.screen_text
        await press(stage, "escape")
        await stage.type("/find Weimar")
        await press(stage, "enter")
        await stage.settle()
        await stage.settle()
        assert "Weimar" in stage.screen_text.replace("find Weimar", "")


async def test_a_schema_is_set_and_shown_in_the_chat(config: Path, tmp_path: Path) -> None:
    file = tmp_path / "author.json"
    file.write_text(json.dumps(SCHEMA))
    async with staged(config) as stage:
        await stage.send(f"/schema {file}")
        with within(10):  # the file is read in a thread
            while stage.client.conversation.schema is None:
                await stage.pilot.pause(0.002)
        await stage.settle()
        assert "from now on: Author." in stage.screen_text
        assert stage.client.conversation.schema == SCHEMA


async def test_a_chat_may_open_with_a_schema_which_a_new_chat_keeps(config: Path) -> None:
    async with staged(config, schema=SCHEMA, schema_file="/a/b.json") as stage:
        assert stage.client.conversation.schema == SCHEMA
        await stage.send("/new")
        await stage.settle()
        assert len(stage.runtime.clients) == 2
        assert stage.client.conversation.schema == SCHEMA
        assert stage.client.conversation.schema_file == "/a/b.json"


async def test_a_tree_looks_as_drawn(svg_snapshot: SvgSnapshot, tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", size=(80, 24)) as stage:
        await answered(stage)
        await press(stage, "alt+up")
        svg_snapshot(stage.app)


def test_a_saved_chat_shows_the_tree_again_and_what_did_not_match() -> None:
    calls, _painter = shown(
        [
            Message("user", "Who?"),
            Message("assistant", "Goethe", metadata={"schema": "invalid"}),
            Message("user", "Your answer …", metadata={"correction": "schema"}),
            Message("assistant", '{"name": "Goethe"}', metadata={"schema": "valid"}),
        ]
    )
    assert calls[4][:3] == ("note", "warning", "This answer does not match its JSON Schema.")
    assert calls[5][:3] == ("note", "info", "The model was asked to correct its answer.")
    assert calls[-1][0] == "tree"


def test_a_chat_that_is_opened_with_a_schema_knows_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Flags] = []

    def run_tui(flags: Flags, _keep: object, _first_frame: object) -> int:
        opened.append(flags)
        return 0

    monkeypatch.setattr("ollm_tui.cli.arguments.read_prompt", lambda _prompt: None)
    monkeypatch.setattr("ollm_tui.tui.terminal.check_terminal", lambda: None)
    monkeypatch.setattr("ollm_tui.tui.run_tui", run_tui)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "author.json").write_text(json.dumps(SCHEMA))
    assert main(["--schema", "author.json"]) == 0
    assert (opened[0].schema, opened[0].schema_file) == (SCHEMA, str(tmp_path / "author.json"))
