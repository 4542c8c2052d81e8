"""Drafts are kept for each chat, over a crash too, and are gone once they are sent."""

import os
import stat
from pathlib import Path

import anyio
import pytest

from ollm_tui.tui.composer import NEW, DraftFolder, drafts
from ollm_tui.tui.composer.drafts import MAX_BYTES
from tests.tui.screens import Stage, staged, within

LONG = "\n".join(f"line {number}" for number in range(240))


def test_a_draft_is_a_private_file_and_an_empty_one_is_none(tmp_path: Path) -> None:
    folder = DraftFolder(tmp_path / "drafts")
    assert folder.read("c1") == ""
    folder.write("c1", "one\ntwo é\n")
    assert folder.read("c1") == "one\ntwo é\n"
    [file] = (tmp_path / "drafts").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert folder.read("../drafts/c1") == ""
    for text in ("  \n", "x" * (MAX_BYTES + 1)):
        folder.write("c1", text)
        assert folder.read("c1") == ""


def test_nothing_is_left_of_a_draft_of_a_new_chat_that_was_sent(tmp_path: Path) -> None:
    folder = DraftFolder(tmp_path / "drafts")
    for _time in range(2):
        folder.write(NEW, "a question")
        assert len(list((tmp_path / "drafts").iterdir())) == 2  # with its lock
        folder.write(NEW, "")
        assert list((tmp_path / "drafts").iterdir()) == []


def test_drafts_of_new_chats_go_to_the_next_program_once_theirs_has_ended(tmp_path: Path) -> None:
    first, second, third = (DraftFolder(tmp_path) for _ in range(3))
    first.write(NEW, "of the first")
    second.write(NEW, "of the second")
    assert third.adopt() == ""  # both still run
    for folder in (first, second):
        folder.close()
    assert third.adopt() == "of the second"
    assert DraftFolder(tmp_path).adopt() == "of the first"
    assert third.adopt() == ""  # it is its own by now
    third.close()
    fourth = DraftFolder(tmp_path)
    assert fourth.adopt() == "of the second"
    fourth.close()


def test_only_so_many_are_kept_and_broken_ones_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "MAX_KEPT", 2)
    folder = DraftFolder(tmp_path)
    for age, name in enumerate(("newest", "middle", "oldest")):
        folder.write(name, name)
        os.utime(tmp_path / f"{name}.md", (1000 - age, 1000 - age))
    (tmp_path / "middle.md").write_bytes(b"\xff\xfe")
    os.utime(tmp_path / "middle.md", (999, 999))
    folder.adopt()
    assert [folder.read(name) for name in ("newest", "middle", "oldest")] == ["newest", "", ""]
    assert len(list(tmp_path.glob("*.md"))) == 2


class Kept:
    """The drafts of an app, with the chat that is open."""

    def __init__(self, stage: Stage, chat: str | None) -> None:
        self.stage, self.chat = stage, chat
        self.keeper = stage.controller.writing.drafts
        self.keeper.chat = lambda: self.chat

    async def saved(self, text: str) -> None:
        self.keeper.look()
        folder, chat = self.keeper.folder, self.chat
        assert folder is not None
        assert chat is not None
        with within(20):
            while folder.read(chat) != text:
                await anyio.sleep(0.002)

    async def go_to(self, chat: str | None) -> str:
        def go() -> None:
            self.chat = chat

        self.keeper.change(go)
        await self.stage.settle()
        with within(20):
            while not self.keeper._has_arrived:
                await anyio.sleep(0.002)
        return self.stage.chat.composer.draft


async def test_each_chat_has_its_own_draft(config: Path, tmp_path: Path) -> None:
    async with staged(config, drafts_dir=tmp_path / "drafts") as stage:
        kept, composer = Kept(stage, "c1"), stage.chat.composer
        composer.insert_pasted(LONG)
        await kept.saved(LONG)
        draft = composer.draft
        assert await kept.go_to("c2") == ""
        composer.insert("for the second")
        await kept.saved("for the second")
        assert await kept.go_to("c1") == draft
        assert composer.value == LONG
        assert await kept.go_to("c2") == "for the second"
        await stage.pilot.press("enter")
        await kept.saved("")
    async with staged(config, drafts_dir=tmp_path / "drafts") as stage:
        kept = Kept(stage, None)
        assert await kept.go_to("c2") == ""
        assert await kept.go_to("c1") == draft  # folded again
        assert stage.chat.composer.value == LONG


async def test_what_was_sent_is_no_draft_when_its_chat_is_shown_anew(
    config: Path, tmp_path: Path
) -> None:
    async with staged(config, drafts_dir=tmp_path / "drafts") as stage:
        kept = Kept(stage, "c1")
        await kept.go_to("c1")
        stage.chat.composer.insert("/branch")
        await kept.saved("/branch")
        stage.chat.composer.load_draft("")
        assert await kept.go_to("c1") == ""


@pytest.mark.parametrize("between", [NEW, None])
async def test_what_began_a_new_chat_is_no_draft_of_the_one_before(
    config: Path, tmp_path: Path, between: str | None
) -> None:
    async with staged(config, drafts_dir=tmp_path / "drafts") as stage:
        kept = Kept(stage, "c1")
        await kept.go_to("c1")
        stage.chat.composer.insert("/new")
        await kept.saved("/new")
        stage.chat.composer.load_draft("")
        kept.chat = between  # and back before the next look at the input
        assert await kept.go_to("c1") == ""


async def test_the_last_draft_is_written_as_the_app_ends(config: Path, tmp_path: Path) -> None:
    folder = DraftFolder(tmp_path / "drafts")
    async with staged(config, drafts_dir=tmp_path / "drafts") as stage:
        kept = Kept(stage, "c1")
        await kept.go_to("c1")
        stage.chat.composer.insert("/quit")
        await kept.saved("/quit")
        stage.chat.composer.load_draft("")
    assert folder.read("c1") == ""
    async with staged(config, drafts_dir=tmp_path / "drafts") as stage:
        await Kept(stage, "c1").go_to("c1")
        stage.chat.composer.insert("half a sent")
    assert folder.read("c1") == "half a sent"


async def test_a_draft_that_is_being_saved_as_the_app_ends_is_written(
    config: Path, tmp_path: Path
) -> None:
    folder = DraftFolder(tmp_path / "drafts")
    async with staged(config, drafts_dir=tmp_path / "drafts") as stage:
        kept = Kept(stage, "c1")
        await kept.go_to("c1")
        stage.chat.composer.insert("/quit")
        await kept.saved("/quit")
        stage.chat.composer.load_draft("")
        async with kept.keeper._file:  # saving waits for it, and is cancelled first
            kept.keeper.look()
            await stage.settle()
            for worker in [w for w in stage.app.workers if w.group == "draft"]:
                worker.cancel()
            await stage.settle()
    assert folder.read("c1") == ""


async def test_a_chat_that_is_not_saved_keeps_no_draft(config: Path, tmp_path: Path) -> None:
    folder = tmp_path / "drafts"
    async with staged(config, drafts_dir=folder) as stage:
        kept = Kept(stage, NEW)
        stage.chat.composer.insert("secret")
        await kept.saved("secret")
        kept.chat = None
        kept.keeper.look()
        await stage.settle()
        with within(20):
            while list(folder.glob("*.md")):
                await anyio.sleep(0.002)
        stage.chat.composer.insert(" words")
        kept.keeper.look()
        await stage.settle()
        assert list(folder.glob("*.md")) == []
        assert await kept.go_to("c1") == ""
        kept.keeper.look()
        await stage.settle()
        assert list(folder.glob("*.md")) == []
        await stage.pilot.press("up")
        assert stage.chat.composer.draft == "secret words"
