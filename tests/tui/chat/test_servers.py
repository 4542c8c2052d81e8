"""MCP servers in the chat: prompts as commands, resources as attachments."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ollm_tui.config.flags import Flags
from tests.tui.screens import RealStage, staged_for_real

FAULTS = Path(__file__).parents[2] / "support" / "mcp_faults.py"
ENVIRON = {"OLLAMA_HOST": "http://127.0.0.1:9"}


@asynccontextmanager
async def with_server(
    folder: Path, mode: str, more: str = "", asks: str = ""
) -> AsyncIterator[RealStage]:
    """Run the app with one server, and without a model."""
    (folder / "config").mkdir()
    words = ("-I", str(FAULTS), mode, str(folder / "record"), *([asks] if asks else []))
    args = ", ".join(f"'{one}'" for one in words)
    (folder / "config" / "config.toml").write_text(
        f"[mcp_servers.box]\ncommand = '{sys.executable}'\nargs = [{args}]\n{more}"
    )
    async with staged_for_real(folder, ENVIRON, Flags(), size=(80, 24)) as stage:
        assert stage.runtime.mcp is not None
        server = stage.runtime.mcp.all["box"]
        await stage.until(test=lambda: server.state == "ready")
        if mode == "offers":
            await stage.until(test=lambda: len(server.catalogue.prompts) > 0)
        yield stage


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


async def test_a_prompt_is_a_command_whose_words_come_into_the_input(tmp_path: Path) -> None:
    async with with_server(tmp_path, "offers") as stage:
        composer = stage.chat.composer
        composer.insert("/box:gr")
        await stage.until("/box:greet_people ", "Greets.")
        await stage.pilot.press("ctrl+c")
        composer.insert("/box:greet_people who=A")
        await stage.until("Alan", "Ada")
        await stage.pilot.press("down", "enter", "enter")
        await stage.until("Greet A", "in a plain tone.")
        assert composer.draft.startswith("Greet A")
        assert stage.controller.session.client.conversation.messages == []
        await stage.pilot.press("ctrl+c")

        await stage.send("/box:greet_people")
        await stage.until("box:greet_people needs 1 argument", "who: Whom to greet.")
        await stage.pilot.press(*"Ada", "enter")
        await stage.until("Greet Ada in a plain tone.")
        await stage.pilot.press("ctrl+c")

        await stage.send("/box:hostile")
        await stage.until("Look␛[2J here⟦U+200B⟧⟦U+200F⟧⟦U+2062⟧⟦U+2066⟧⟦U+E0041⟧", "Assistant:")


async def test_a_resource_is_attached_by_its_name(tmp_path: Path) -> None:
    async with with_server(tmp_path, "offers") as stage:
        composer = stage.chat.composer
        composer.insert("see @box:notes://tod")
        await stage.until("box:notes://today", "Today: What is due.")
        await stage.pilot.press("enter")
        await stage.until(test=lambda: "Buy tea␇" in composer.value)
        await stage.until("Attached notes://today · 29 B · about")
        composer.insert("@box:notes://pix")
        await stage.until("box:notes://pixel")
        await stage.pilot.press("enter")
        await stage.until("Image #1 · notes://pixel · png · 1 x 1")
        composer.insert("@box:notes://day/")
        await stage.until("box:notes://day/monday")
        await stage.pilot.press("enter")
        await stage.until(test=lambda: "on notes://day/monday" in composer.value)


async def test_a_resource_that_cannot_be_read_is_one_sentence_and_the_draft_stays(
    tmp_path: Path,
) -> None:
    async with with_server(tmp_path, "offers") as stage:
        composer = stage.chat.composer
        composer.insert("see @box:notes://lar")
        await stage.until("box:notes://large")
        await stage.pilot.press("enter")
        await stage.until("300 kB; text up to 200 kB")
        assert composer.value == "see @box:notes://large"


async def test_enter_that_was_meant_for_something_else_does_not_send_a_prompt(
    tmp_path: Path,
) -> None:
    async with with_server(tmp_path, "offers") as stage:
        composer = stage.chat.composer
        await stage.send("/box:greet_people Ada")
        await stage.until("Greet Ada in a plain tone.")
        await stage.pilot.press("enter")
        assert composer.draft == "Greet Ada in a plain tone.\n"
