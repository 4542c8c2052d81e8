"""Several programs at one file: none is locked out, none loses a word, the dead are told apart."""

import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from ollm_tui.store.conversations import open_store
from ollm_tui.store.files import Instances
from tests.store.rig import SETTINGS, answered, asked, rows, save_chat
from tests.support.seeds import sampled

ROOT = Path(__file__).parents[2]


async def test_an_answer_of_a_living_program_is_left_alone(path: Path) -> None:
    async with open_store(path) as first:
        journal = first.journal(SETTINGS)
        await journal.begin(asked())
        answer = await journal.begin(answered("Be"))
        async with open_store(path) as second:
            seen = (await second.load(journal.conversation_id)).messages[-1]
            assert seen.state == "streaming"
            assert seen.message == answered("Be", "interrupted")  # a cut answer never looks whole
        await journal.finish(answer, answered("Because."))
    async with open_store(path) as third:
        last = (await third.load(journal.conversation_id)).messages[-1]
    assert (last.state, last.message) == ("complete", answered("Because."))


async def test_an_answer_of_a_program_that_has_gone_is_interrupted(path: Path) -> None:
    async with open_store(path) as first:
        journal = first.journal(SETTINGS)
        await journal.begin(asked())
        await journal.begin(answered("Be"))
    async with open_store(path) as second:
        last = (await second.load(journal.conversation_id)).messages[-1]
    assert (last.state, last.message) == ("interrupted", answered("Be", "interrupted"))
    assert rows(path, "SELECT writer FROM messages WHERE depth = 2") == [(None,)]


async def test_opening_writes_nothing_when_nothing_was_left(path: Path) -> None:
    async with open_store(path) as store:
        await save_chat(store, "done")
    before = path.stat().st_mtime_ns
    async with open_store(path) as store:
        await store.list()
    assert path.stat().st_mtime_ns == before


def test_a_program_is_seen_from_join_to_leave_and_leaves_nothing(path: Path) -> None:
    mine, theirs = Instances(path, "mine"), Instances(path, "theirs")
    mine.join()
    assert mine.others() == frozenset()
    theirs.join()
    assert mine.others() == {"theirs"}
    assert theirs.others() == {"mine"}
    theirs.leave()
    theirs.leave()
    assert mine.others() == frozenset()
    mine.leave()
    assert list((path.parent / "chats.live").glob("*.lock")) == []


def test_what_a_dead_program_left_is_swept_away(path: Path) -> None:
    mine = Instances(path, "mine")
    mine.join()
    left = path.parent / "chats.live" / "dead.lock"
    left.touch()
    assert mine.others() == frozenset()
    assert not left.exists()
    mine.leave()


def test_only_one_program_opens_at_a_time(path: Path) -> None:
    first, second = Instances(path, "a"), Instances(path, "b")
    with first.opening(1), pytest.raises(TimeoutError), second.opening(0.02):
        pass
    with second.opening(0.02):
        pass


WRITER = """
import sys
from pathlib import Path
import anyio
from ollm_tui.protocol.message import Message
from ollm_tui.store.conversations import open_store
from ollm_tui.store.rows import ConversationSettings

async def main(path, name, shared, times):
    async with open_store(path) as store:
        assert store.saves, store.notice
        own = store.journal(ConversationSettings())
        ours = store.journal(ConversationSettings(), await store.load(shared))
        for number in range(times):
            await own.begin(Message("user", f"{name} {number}"))
            answer = await ours.begin(Message("assistant", f"{name}"))
            await ours.update(answer, Message("assistant", f"{name} {number}"))
            await ours.finish(answer, Message("assistant", f"{name} {number}"))
        assert store.problem is None

anyio.run(main, Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("times", sampled([25, 500], 1))
async def test_three_programs_write_at_once_and_nothing_is_lost_or_torn(
    path: Path, times: int
) -> None:
    async with open_store(path) as store:
        shared = await save_chat(store, "shared")
        commands = [
            [sys.executable, "-c", WRITER, str(path), name, shared, str(times)] for name in "abc"
        ]
        programs = [subprocess.Popen(c, cwd=ROOT, stderr=subprocess.PIPE) for c in commands]
        failures = [await anyio.to_thread.run_sync(p.communicate) for p in programs]
        assert [stderr for _, stderr in failures] == [b"", b"", b""]
        assert len(await store.list()) == 4
        chat = await store.load(shared)
    assert chat.history[:2] == [asked("shared"), answered("About shared")]
    owner = chat.history[-1].text[0]
    own = [m.text for m in chat.history if m.text[0] == owner]  # the others' are other branches
    assert own == [f"{owner} {n}" for n in range(times)]
    assert rows(path, "SELECT count(*) FROM messages") == [(2 + 3 * times * 2,)]
    assert rows(path, "SELECT count(*) FROM messages WHERE state != 'complete'") == [(0,)]
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.slow
async def test_three_programs_may_begin_a_new_file_at_once(path: Path) -> None:
    script = WRITER.replace("await store.load(shared)", "None")
    commands = [[sys.executable, "-c", script, str(path), name, "", "2"] for name in "abc"]
    programs = [subprocess.Popen(c, cwd=ROOT, stderr=subprocess.PIPE) for c in commands]
    failures = [await anyio.to_thread.run_sync(p.communicate) for p in programs]
    assert [stderr for _, stderr in failures] == [b"", b"", b""]
    assert rows(path, "SELECT count(*) FROM messages") == [(12,)]
    assert list(path.parent.glob("*damaged*")) == []
