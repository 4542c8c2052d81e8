"""What tools changed in a chat: copied with the chat, and removed with it."""

from pathlib import Path

from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.runtime.saved.branches import ChatBranches
from ollm_tui.shell.folder_changes import FolderChanges
from ollm_tui.store.conversations import open_store
from ollm_tui.store.deletions import KEPT_MS
from ollm_tui.tools.writing.journal import ChangeJournal
from tests.store.rig import SETTINGS, answered, asked, save_chat
from tests.tools.writing.acting import Desk

NOW = 1_800_000_000_000


def calls(*ids: str) -> Message:
    return Message(
        "assistant",
        "",
        tool_calls=tuple(ToolCall(id=one, name="write_file", args={}) for one in ids),
    )


async def test_a_fork_knows_the_changes_of_its_messages(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    async with open_store(tmp_path / "chats.db") as store:
        chat = store.journal(SETTINGS)
        folder = store.changes_dir / chat.conversation_id
        desk = Desk(root, journal=ChangeJournal(folder))
        await chat.begin(asked("write both"))
        await desk.done("write_file", path="a.txt", content="a\n")  # the call c1
        end = await chat.begin(calls("c1"))
        await desk.done("write_file", path="b.txt", content="b\n")  # c2, after the fork
        await chat.begin(calls("c2"))
        desk.journal.commands.add("c1", FolderChanges({"made": "new"}, is_whole=True))
        desk.journal.commands.add("c2", FolderChanges({"later": "new"}, is_whole=True))

        async def never(_chat: str, _leaf: str | None):  # type: ignore[no-untyped-def]
            raise AssertionError

        fresh = await ChatBranches(store, never).fork(chat.conversation_id, end)
        copy = ChangeJournal(store.changes_dir / fresh)
        assert [one.shown for one in copy.changed_files()] == ["a.txt"]
        assert copy.commands.merged().files == {"made": "new"}
        assert [(one.shown, one.what) for one in copy.undo()] == [("a.txt", "removed")]
        assert sorted(path.name for path in root.iterdir()) == ["b.txt"]
        # the first chat says honestly that the file is not as it left it
        whole = ChangeJournal(folder)
        assert [(f.shown, f.is_current) for f in whole.changed_files()] == [
            ("a.txt", False),
            ("b.txt", True),
        ]
        plain = await save_chat(store, "hi")
        ids = [message.id for message in (await store.load(plain)).messages]
        other = await ChatBranches(store, never).fork(plain, ids[0])
        assert not (store.changes_dir / other).exists()


async def test_they_go_when_the_chat_is_purged_and_not_before(tmp_path: Path) -> None:
    now = [NOW]
    path = tmp_path / "chats.db"
    async with open_store(path, clock_ms=lambda: now[0]) as store:
        old, young, kept = [await save_chat(store, name) for name in ("old", "young", "kept")]
        for one in (old, young, kept, "of-a-new-chat"):
            ChangeJournal(store.changes_dir / one).commands.add(
                "c1", FolderChanges({"a": "new"}, is_whole=True)
            )
        await store.delete(old)
        now[0] += KEPT_MS
        await store.delete(young)
        now[0] += 1

    def names() -> list[str]:
        return sorted(one.name for one in (tmp_path / "changes").iterdir())

    assert names() == sorted([old, young, kept, "of-a-new-chat"])
    async with open_store(path, clock_ms=lambda: now[0]) as store:
        await store.deletions.listed()  # after the work in the background
        assert names() == sorted([young, kept, "of-a-new-chat"])
        await store.deletions.purge(0)
        assert names() == sorted([kept, "of-a-new-chat"])


async def test_what_an_engine_keeps_of_a_chat_goes_when_it_is_deleted(tmp_path: Path) -> None:
    async with open_store(tmp_path / "chats.db") as store:
        whole, part, kept = [await save_chat(store, name) for name in ("whole", "part", "kept")]
        for one in (whole, part, kept):
            (store.states_dir / one).mkdir(parents=True)
            (store.states_dir / one / "x.state").write_bytes(b"what was read")
        await store.delete(whole)
        question, answer = [one.id for one in (await store.load(part)).messages][:2]
        assert question != answer
        await store.deletions.delete_messages(part, answer)
        assert [folder.name for folder in store.states_dir.iterdir()] == [kept]


async def test_what_an_engine_kept_after_the_deletion_goes_when_the_chat_is_purged(
    tmp_path: Path,
) -> None:
    now, path = [NOW], tmp_path / "chats.db"
    async with open_store(path, clock_ms=lambda: now[0]) as store:
        old, young, kept = [await save_chat(store, name) for name in ("old", "young", "kept")]
        await store.delete(old)
        now[0] += KEPT_MS
        await store.delete(young)
        now[0] += 1
        for one in (old, young, kept):
            (store.states_dir / one).mkdir(parents=True)
            (store.states_dir / f"{one}.0f.part").write_bytes(b"what was read")

    def chats() -> set[str]:
        return {one.name.partition(".")[0] for one in (tmp_path / "states").iterdir()}

    assert chats() == {old, young, kept}
    async with open_store(path, clock_ms=lambda: now[0]) as store:
        await store.deletions.listed()  # after the work in the background
        assert chats() == {young, kept}
        await store.deletions.purge(0)
        assert chats() == {kept}


def test_what_several_commands_did_is_one_change(tmp_path: Path) -> None:
    folder = tmp_path / "changes"
    for where in (folder, None):
        notes = ChangeJournal(where).commands
        for files in (
            {"made": "new", "gone": "new", "there": "deleted", "old": "changed"},
            {"made": "changed", "gone": "deleted", "there": "new", "old": "deleted"},
        ):
            notes.add("c1", FolderChanges(files, is_whole=True))  # type: ignore[arg-type]
        wanted = {"made": "new", "there": "changed", "old": "deleted"}
        assert notes.merged() == FolderChanges(wanted, is_whole=True)  # type: ignore[arg-type]
    assert ChangeJournal(folder).commands.merged().files == wanted
    (folder / "commands").write_text('[{"call": 1}]')
    assert ChangeJournal(folder).commands.merged() == FolderChanges({}, is_whole=True)
    notes = ChangeJournal(folder).commands
    notes.add("c1", FolderChanges({}, is_whole=False))
    assert not notes.merged().is_whole


def test_an_answer_is_no_change(tmp_path: Path) -> None:
    assert answered("a").tool_calls == ()
    notes = ChangeJournal(tmp_path / "none").commands
    notes.add("c1", FolderChanges({}, is_whole=True))
    assert not (tmp_path / "none").exists()
