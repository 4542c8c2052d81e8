"""A full disk is said, kills nothing, and what could not be saved is saved when there is room."""

import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from ollm_tui.protocol.errors import AIError
from ollm_tui.store.conversations import ConversationStore, open_store
from tests.store.rig import SETTINGS, answered, asked, on_connection, open_parts, rows, save_chat

ROOT = Path(__file__).parents[2]
BIG = "word " * 20_000


async def until_saved(store: ConversationStore) -> None:
    with anyio.fail_after(5):  # the promise: at most five seconds after there is room
        while store.unsaved:
            await anyio.sleep(0.02)


async def test_a_full_disk_is_a_sentence_and_everything_is_saved_when_there_is_room(
    path: Path,
) -> None:
    database, _, store = await open_parts(path)
    try:
        chat_id = await save_chat(store, "before")
        await on_connection(database, "PRAGMA max_page_count = 1")
        journal = store.journal(SETTINGS, await store.load(chat_id))
        with pytest.raises(AIError) as refused:
            await journal.begin(asked(BIG))
        assert refused.value.message == "Not saved: disk full."
        assert "2 MB" in str(refused.value.hint)
        assert refused.value.details["reason"] == "disk_full"
        assert refused.value.retryable
        assert store.problem == refused.value
        for text in ("a", "a b"):  # the chat goes on; its answer grows without an id
            with pytest.raises(AIError):
                await journal.begin(answered(text + BIG))
        assert store.unsaved == 2
        assert len(await store.list()) == 1
        await on_connection(database, "PRAGMA max_page_count = 100000")
        await until_saved(store)
        assert store.problem is None
        chat = await store.load(chat_id)
    finally:
        await database.close()
    assert [m.text for m in chat.history[2:]] == [BIG, f"a b{BIG}"]
    assert rows(path, "SELECT count(*) FROM messages") == [(4,)]
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


async def test_answers_that_ended_while_the_disk_was_full_are_whole_ones_and_not_the_same(
    path: Path,
) -> None:
    database, _, store = await open_parts(path)
    try:
        chat_id = await save_chat(store, "before")
        await on_connection(database, "PRAGMA max_page_count = 1")
        journal = store.journal(SETTINGS, await store.load(chat_id))
        for text in ("one ", "two "):
            with pytest.raises(AIError):
                await journal.begin(answered(text + BIG))
            with pytest.raises(AIError):
                await journal.finish("", answered(text + BIG))
        await on_connection(database, "PRAGMA max_page_count = 100000")
        await until_saved(store)
        chat = await store.load(chat_id)
    finally:
        await database.close()
    ended = [(kept.message.text, kept.state) for kept in chat.messages[2:]]
    assert ended == [(f"one {BIG}", "complete"), (f"two {BIG}", "complete")]


async def test_an_answer_whose_begin_failed_is_the_same_answer_the_next_time(path: Path) -> None:
    database, _, store = await open_parts(path)
    try:
        journal = store.journal(SETTINGS)
        await journal.begin(asked())
        await on_connection(database, "PRAGMA max_page_count = 1")
        with pytest.raises(AIError):
            await journal.begin(answered("first " + BIG))
        await on_connection(database, "PRAGMA max_page_count = 100000")
        answer = await journal.begin(answered("first and more"))
        await journal.finish(answer, answered("first, more, end"))
        chat = await store.load(journal.conversation_id)
    finally:
        await database.close()
    assert [m.text for m in chat.history] == ["Why?", "first, more, end"]
    assert chat.messages[-1].id == answer


async def test_an_answer_after_going_back_is_not_the_one_that_could_not_be_begun(
    path: Path,
) -> None:
    database, _, store = await open_parts(path)
    try:
        journal = store.journal(SETTINGS)
        await journal.begin(asked())
        await on_connection(database, "PRAGMA max_page_count = 1")
        with pytest.raises(AIError):
            await journal.begin(answered("first " + BIG))
        journal.rewind(1)
        await on_connection(database, "PRAGMA max_page_count = 100000")
        answer = await journal.begin(answered("second"))
        await journal.finish(answer, answered("second"))
        chat = await store.load(journal.conversation_id)
        assert [kept.id for kept in chat.messages] == [*journal.path]
    finally:
        await database.close()
    assert [m.text for m in chat.history] == ["Why?", "second"]
    assert rows(path, "SELECT count(*) FROM messages") == [(3,)]


async def test_a_failed_finish_is_made_good_by_itself(path: Path) -> None:
    database, _, store = await open_parts(path)
    try:
        journal = store.journal(SETTINGS)
        await journal.begin(asked())
        answer = await journal.begin(answered("a"))
        await on_connection(database, "PRAGMA max_page_count = 1")
        with pytest.raises(AIError):
            await journal.finish(answer, answered("a" + BIG))
        await on_connection(database, "PRAGMA max_page_count = 100000")
        await until_saved(store)
    finally:
        await database.close()
    assert rows(path, "SELECT state FROM messages WHERE depth = 2") == [("complete",)]


LIMITED = """
import resource, signal, sys
from pathlib import Path
import anyio
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import Message
from ollm_tui.store.conversations import ConversationStore, open_store
from ollm_tui.store.rows import ConversationSettings

async def main(path):
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    async with open_store(path) as store:
        journal = store.journal(ConversationSettings())
        await journal.begin(Message("user", "before"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, hard))
        try:
            await journal.begin(Message("user", "word " * 20000))
            print("saved")
        except AIError as error:
            print(error.details["reason"], error.message)
        print(store.unsaved)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        await journal.begin(Message("user", "after"))
        chat = await store.load(journal.conversation_id)
        print(store.unsaved, store.problem, len(chat.messages))

anyio.run(main, Path(sys.argv[1]))
"""


def test_a_limit_on_file_sizes_is_survived_like_a_full_disk(path: Path) -> None:
    command = [sys.executable, "-c", LIMITED, str(path)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    first, waiting, after = result.stdout.splitlines()
    assert first in {
        "disk_full Not saved: disk full.",
        "disk_failed Not saved: the disk refused to write or read.",
    }
    assert (waiting, after) == ("1", "0 None 3")
    assert result.returncode == 0
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


async def test_a_cancelled_caller_tears_nothing(path: Path) -> None:
    async with open_store(path) as store:
        journal = store.journal(SETTINGS)
        for number in range(30):
            with anyio.move_on_after(number / 3000):
                await journal.begin(asked(f"{number} {BIG}"))
        await journal.begin(asked("end"))
        stored = await store.load(journal.conversation_id)
    assert [message.id for message in stored.messages] == list(journal.path)
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    assert rows(path, "PRAGMA foreign_key_check") == []


async def test_a_cancelled_task_of_another_library_tears_nothing(path: Path) -> None:
    import asyncio

    async with open_store(path) as store:
        journal = store.journal(SETTINGS)
        for number in range(30):
            task = asyncio.ensure_future(journal.begin(asked(f"{number} {BIG}")))  # noqa: TID251 -- a Textual worker cancels its task this way
            await anyio.sleep(number / 3000)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
                raise asyncio.CancelledError
        await journal.begin(asked("end"))
        stored = await store.load(journal.conversation_id)
    assert [message.id for message in stored.messages] == list(journal.path)
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


async def test_a_closed_database_refuses_instead_of_hanging(path: Path) -> None:
    async with open_store(path) as store:
        journal = store.journal(SETTINGS)
    with anyio.fail_after(2):
        with pytest.raises(AIError, match="closed"):
            await journal.begin(asked())
        with pytest.raises(AIError, match="closed"):
            await store.list()


async def test_the_loop_is_not_held_up_by_a_slow_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    gate = threading.Event()
    async with open_store(path) as store, anyio.create_task_group() as group:
        blocked = store._database
        group.start_soon(blocked.run, gate.wait)
        journal = store.journal(SETTINGS)
        group.start_soon(journal.begin, asked())
        for _ in range(100):  # the loop turns while the thread is held
            await anyio.lowlevel.checkpoint()
        assert store.unsaved == 1
        gate.set()
    assert rows(path, "SELECT count(*) FROM messages") == [(1,)]


async def test_a_fault_in_the_background_does_not_end_the_thread(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    database, backlog, store = await open_parts(path)
    try:
        journal = store.journal(SETTINGS)
        await journal.begin(asked())
        answer = await journal.begin(answered("a"))
        with monkeypatch.context() as patched:
            patched.setattr(backlog, "run", lambda transact: 1 / 0)
            await journal.update(answer, answered("a b"))
            with anyio.fail_after(5):
                while "failed unexpectedly" not in caplog.text:
                    await anyio.sleep(0.01)
        await journal.finish(answer, answered("a b c"))
    finally:
        await database.close()
    assert rows(path, "SELECT state FROM messages WHERE depth = 2") == [("complete",)]


async def test_closing_twice_and_opening_in_vain_leave_nothing_behind(path: Path) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        async with open_store(path):
            pass
    database, _, _ = await open_parts(path)
    await database.close()
    await database.close()
    assert not database.saves
    assert list((path.parent / "chats.live").glob("*.lock")) == []
