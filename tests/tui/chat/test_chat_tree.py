"""Forks of a chat: counted, walked, deleted, restored, copied, and shown as a tree."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.widgets import OptionList

from ollm_tui.config.flags import Flags
from tests.support.fake_ollama import fake_ollama
from tests.support.http_server import serve
from tests.tui.screens import RealStage, is_ready, staged_for_real

LEFT, RIGHT = "\u2039", "\u203a"


def counter(number: int, count: int) -> str:
    return f"{LEFT}{number}/{count}{RIGHT}"


@asynccontextmanager
async def chatting(
    folder: Path, *questions: str, go_on: bool = False, size: tuple[int, int] = (100, 30)
) -> AsyncIterator[RealStage]:
    """Open the app on a real store, and ask."""
    async with serve(fake_ollama) as server:
        flags = Flags(model="local://tiny") if not go_on else Flags(goes_on=True)
        environ = {"OLLAMA_HOST": server.url}
        async with staged_for_real(folder, environ, flags, size=size) as stage:
            for question in questions:
                await ask(stage, question)
            yield stage


async def ask(stage: RealStage, words: str) -> None:
    count = len(stage.controller.session.client.conversation.messages)
    await stage.send(words)
    await settled(stage, lambda: len(texts(stage)) != count)


async def settled(stage: RealStage, test: object = lambda: True) -> None:
    assert callable(test)
    await stage.until(test=lambda: is_ready(stage.chat) and bool(test()))
    for _ in range(3):
        await stage.pilot.pause()
    await stage.until(test=lambda: not stage.chat.transcript.busy)


async def edit(stage: RealStage, words: str) -> None:
    """Send the newest question in other words."""
    await stage.send("/edit")
    await stage.until(test=lambda: stage.controller.editing.is_editing)
    stage.chat.composer.load_draft("")
    await stage.send(words)
    last = words.removeprefix("echo ")
    await settled(stage, lambda: texts(stage)[-1:] == [last])


async def press(stage: RealStage, *keys: str) -> None:
    await stage.pilot.press(*keys)
    await settled(stage)


async def click(stage: RealStage, text: str, cell: int) -> None:
    """Click on a cell of a text, where it is on the screen now."""
    rows = stage.screen_text.splitlines()
    row = next(at for at, line in enumerate(rows) if text in line)
    await stage.pilot.click(offset=(rows[row].index(text) + cell, row))


def texts(stage: RealStage) -> list[str]:
    return [message.text for message in stage.controller.session.client.conversation.messages]


async def test_an_edit_is_counted_and_two_keys_walk_the_versions(tmp_path: Path) -> None:
    async with chatting(tmp_path, "echo one", "echo two") as stage:
        await edit(stage, "echo three")
        await stage.until(counter(2, 2), "echo three")
        await press(stage, "alt+up", "up")
        await press(stage, "less_than_sign")
        await stage.until(counter(1, 2), "echo two")
        assert texts(stage) == ["echo one", "one", "echo two", "two"]
        assert stage.chat.transcript.mode == "cursor"  # still on the message
        await press(stage, "left")
        assert "This is the first version" in stage.screen_text
        await press(stage, "greater_than_sign")
        await stage.until(counter(2, 2), "echo three")
        await press(stage, "up", "left")
        await stage.until("This message has only one version")


async def test_the_branch_shown_last_opens_next_time(tmp_path: Path) -> None:
    async with chatting(tmp_path, "echo one") as stage:
        await edit(stage, "echo two")
        await press(stage, "alt+up", "up", "left")
        await stage.until(counter(1, 2), "echo one")
    async with chatting(tmp_path, go_on=True) as stage:
        await stage.until(counter(1, 2), "echo one")
        assert texts(stage) == ["echo one", "one"]


async def test_an_answer_that_was_asked_for_again_is_a_version(tmp_path: Path) -> None:
    async with chatting(tmp_path, "echo one") as stage:
        before = stage.controller.runtime.branches.ids(stage.controller.session.client)
        await stage.send("/retry")
        ids = stage.controller.runtime.branches.ids
        await settled(stage, lambda: ids(stage.controller.session.client)[1:] != before[1:])
        await stage.until(counter(2, 2))
        await press(stage, "alt+up", "left")
        await stage.until(counter(1, 2))
        assert ids(stage.controller.session.client) == before


async def test_a_click_on_the_counter_walks(tmp_path: Path) -> None:
    async with chatting(tmp_path, "echo one") as stage:
        await edit(stage, "echo two")
        await stage.until(counter(2, 2))
        await click(stage, counter(2, 2), 0)
        await stage.until(counter(1, 2), "echo one")
        await click(stage, counter(1, 2), 4)
        await stage.until(counter(2, 2), "echo two")


async def test_a_deleted_message_comes_back_with_a_key_and_with_a_command(tmp_path: Path) -> None:
    async with chatting(tmp_path, "echo one", "echo two") as stage:
        await press(stage, "alt+up", "up", "d")
        await stage.until("Deleted 2 messages · Press u to undo")
        assert texts(stage) == ["echo one", "one"]
        await press(stage, "u")
        await stage.until("Restored 2 messages", "echo two")
        await press(stage, "alt+up", "up", "d", "escape")
        await stage.send("/undelete")
        await stage.until("echo two", test=lambda: len(texts(stage)) == 4)
        await stage.send("/undelete")
        await stage.until("No deletion to undo.")


async def test_the_first_message_takes_the_chat_with_it_until_that_is_undone(
    tmp_path: Path,
) -> None:
    async with chatting(tmp_path, "echo one") as stage:
        await press(stage, "alt+up", "up", "d")
        await stage.until("Delete this chat?", "y delete")
        await stage.pilot.press("y")
        await stage.until("Deleted this chat.")
        assert texts(stage) == []
        assert stage.controller.runtime.chats is not None
        assert await stage.controller.runtime.chats.list() == ()
        await stage.send("/undelete")
        await stage.until("Restored 2 messages", "echo one")


async def test_much_is_deleted_after_a_question_only(tmp_path: Path) -> None:
    async with chatting(tmp_path, "echo one", "echo two", "echo three") as stage:
        await press(stage, "alt+up", "up", "up", "up", "d")
        await stage.until("Delete 4 messages on all branches?", "y delete")
        await stage.pilot.press("n")
        await settled(stage)
        assert len(texts(stage)) == 6
        await press(stage, "d")  # the cursor is still there
        await stage.until("y delete")
        await stage.pilot.press("y")
        await stage.until("Deleted 4 messages · Press u to undo")
        assert len(texts(stage)) == 2
        await press(stage, "u")
        await stage.until("Restored 4 messages of “echo one”.")
        assert len(texts(stage)) == 6


async def test_the_note_names_what_works_where_the_focus_is(tmp_path: Path) -> None:
    async with chatting(tmp_path, "echo one") as stage:
        await edit(stage, "echo two")
        await press(stage, "alt+up", "up", "d")  # no message is left before it
        await stage.until("Deleted 2 messages · /undelete restores them", "echo one")
        assert stage.chat.transcript.mode is None
        await stage.send("/undelete")
        await stage.until("Restored 2 messages of “echo one”.", "echo two")


async def test_a_chat_deleted_in_the_tree_comes_back_after_another_message(tmp_path: Path) -> None:
    async with chatting(tmp_path, "echo one", "echo two") as stage:
        await edit(stage, "echo three")
        await stage.send("/tree")
        await stage.until("Branches of this chat")
        await stage.pilot.press("down", "down")
        assert stage.app.screen.query_one(OptionList).highlighted == 2  # not back at the first row
        await stage.pilot.press("up", "up", "up", "d")
        await stage.until("Delete this chat?", "6 messages", "y delete")
        await stage.pilot.press("n")
        await stage.until("Branches of this chat")
        await stage.pilot.press("d")
        await stage.until("y delete")
        await stage.pilot.press("y")
        await stage.until("Deleted this chat.", "/undelete restores it.")
        await ask(stage, "echo four")
        await stage.send("/undelete")
        await stage.until("Restored 6 messages of “echo one”.", "/chats opens it.")
        assert texts(stage) == ["echo four", "four"]  # the open chat stays


async def test_a_deletion_is_undone_after_a_restart(tmp_path: Path) -> None:
    async with chatting(tmp_path, "echo one", "echo two") as stage:
        await press(stage, "alt+up", "up", "d")
        await stage.until("Deleted 2 messages")
    async with chatting(tmp_path) as stage:
        await stage.send("/undelete")
        await stage.until("Restored 2 messages of “echo one”.", "echo two")
        assert texts(stage) == ["echo one", "one", "echo two", "two"]


async def test_a_branch_becomes_a_chat_of_its_own(tmp_path: Path) -> None:
    async with chatting(tmp_path, "echo one", "echo two") as stage:
        await press(stage, "alt+up", "up", "up", "f")
        await stage.until("This is a new chat with a copy of the branch.")
        assert texts(stage) == ["echo one", "one"]
        await stage.send("/fork")
        await settled(stage)
        chats = stage.controller.runtime.chats
        assert chats is not None
        await stage.until(test=lambda: "(fork 2)" in stage.screen_text)
        assert [one.message_count for one in await chats.list()] == [2, 2, 4]


async def test_the_tree_shows_all_branches_and_goes_to_one(tmp_path: Path) -> None:
    async with chatting(tmp_path, "echo one", "echo two") as stage:
        await edit(stage, "echo [b]three")
        await stage.send("/tree")
        await stage.until("Branches of this chat", "├ you: echo two", "└ you: echo [b]three")
        rows = [line.strip(" │") for line in stage.screen_text.splitlines()]
        assert [line[0] for line in rows if "you: " in line] == ["●", "├", "●"]
        for key in ("up", "enter"):  # the second before the list has handled the first
            stage.app.simulate_key(key)
        await stage.until("echo two", counter(1, 2), test=lambda: texts(stage)[-1] == "two")
        await stage.send("/tree")
        await stage.until("Branches of this chat")
        assert stage.app.screen.query_one(OptionList).highlighted == 1
        await stage.pilot.press("d")
        await stage.until("This chat has one branch.", "Deleted 2 messages · u restores them")
        await stage.pilot.press("u")
        await stage.until("├ you: echo two", "Restored 2 messages of “echo one”.")
        await stage.pilot.press("escape")
        await settled(stage)
        assert texts(stage)[-1] == "two"


async def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    async with chatting(tmp_path) as stage:
        for command in ("/tree", "/fork"):
            await stage.send(command)
            await stage.until("This chat is empty.")
        await stage.send("/undelete")
        await stage.until("No deletion to undo.")
