"""What tools changed is taken back where nobody has changed it since."""

import json
from pathlib import Path

import pytest

from ollm_tui.tools.writing import journal as journals
from ollm_tui.tools.writing.journal import ChangeJournal, TakenBack
from tests.tools.writing.acting import Desk


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    return folder


async def test_a_prompt_is_taken_back_as_a_whole(root: Path) -> None:
    desk = Desk(root)
    await desk.done("write_file", path="kept.txt", content="from an earlier prompt\n")
    desk.new_prompt()
    await desk.done("write_file", path="a.txt", content="b\n")
    await desk.done("edit_file", path="a.txt", old_text="b", new_text="c")
    await desk.done("write_file", path="new/deep/b.txt", content="x\n")
    assert desk.journal.undo() == [
        TakenBack("a.txt", "restored"),
        TakenBack("new/deep/b.txt", "removed"),
    ]
    assert (root / "a.txt").read_text() == "a\n"
    assert sorted(path.name for path in root.iterdir()) == ["a.txt", "kept.txt"]
    assert [one.what for one in desk.journal.undo()] == ["removed"]
    assert desk.journal.undo() == []


async def test_one_call_is_taken_back(root: Path) -> None:
    desk = Desk(root)
    await desk.done("write_file", path="a.txt", content="b\n")
    await desk.done("write_file", path="a.txt", content="c\n")
    desk.journal.undo(only_call=True)
    assert (root / "a.txt").read_text() == "b\n"


async def test_a_file_that_was_changed_since_is_left_alone(root: Path) -> None:
    desk = Desk(root)
    await desk.done("write_file", path="a.txt", content="b\n")
    await desk.done("write_file", path="b.txt", content="b\n")
    (root / "a.txt").write_text("mine\n")
    taken = desk.journal.undo()
    assert [(one.shown, one.problem) for one in taken] == [
        ("a.txt", "a.txt has changed since, so it was left alone."),
        ("b.txt", None),
    ]
    assert (root / "a.txt").read_text() == "mine\n"
    assert not (root / "b.txt").exists()
    (root / "a.txt").write_text("b\n")  # as the tool left it
    assert [one.problem for one in desk.journal.undo()] == [None]
    assert (root / "a.txt").read_text() == "a\n"


async def test_what_is_older_has_its_turn_after_a_file_that_was_changed_since(root: Path) -> None:
    desk = Desk(root)
    await desk.done("write_file", path="b.txt", content="b\n")
    desk.new_prompt()
    await desk.done("write_file", path="a.txt", content="b\n")
    (root / "a.txt").write_text("mine\n")
    assert [one.problem is None for one in desk.journal.undo()] == [False]
    assert desk.journal.undo() == [TakenBack("b.txt", "removed")]
    assert [one.problem is None for one in desk.journal.undo()] == [False]
    assert (root / "a.txt").read_text() == "mine\n"


async def test_a_change_that_a_crash_prevented_holds_up_nothing(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    desk = Desk(root, journal=ChangeJournal(folder))
    await desk.done("write_file", path="a.txt", content="b\n")
    await desk.done("write_file", path="a.txt", content="c\n")
    (root / "a.txt").write_text("b\n")  # as if the second entry was kept, and nothing written
    assert ChangeJournal(folder).undo() == [TakenBack("a.txt", "restored")]
    assert (root / "a.txt").read_text() == "a\n"
    assert ChangeJournal(folder).undo() == []


async def test_all_changes_of_a_file_are_one_diff(root: Path) -> None:
    desk = Desk(root)
    await desk.done("write_file", path="a.txt", content="b\n")
    desk.new_prompt()
    await desk.done("write_file", path="a.txt", content="c\n")
    await desk.done("write_file", path="b.txt", content="b\n")
    await desk.done("write_file", path="b.txt", content="c\n")
    (root / "b.txt").write_text("mine\n")
    first, second = desk.journal.changed_files()
    assert first.text == "--- a.txt\n+++ a.txt\n@@ -1,1 +1,1 @@\n-a\n+c"
    assert (first.is_current, second.is_current) == (True, False)


async def test_a_chat_that_is_opened_again_can_take_back(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "private" / "chat"
    await Desk(root, journal=ChangeJournal(folder)).done("write_file", path="a.txt", content="b\n")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    (folder / "00000000.json").write_text("{damaged")
    (folder / "00000002.json").write_text(json.dumps({"number": 2}))
    again = ChangeJournal(folder)
    assert [one.what for one in again.undo()] == ["restored"]
    assert (root / "a.txt").read_text() == "a\n"
    assert ChangeJournal(folder).undo() == []


async def test_the_oldest_changes_are_forgotten_first(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "MAX_KEPT_BYTES", 100)
    monkeypatch.setattr(journals, "MAX_CHATS", 2)
    for chat in range(4):
        desk = Desk(root, journal=ChangeJournal(tmp_path / "private" / f"chat{chat}"))
        for number in range(5):
            await desk.done("write_file", path="a.txt", content=f"{chat}{number}" * 10)
    assert len([*(tmp_path / "private").iterdir()]) == 2
    assert len([*(tmp_path / "private" / "chat3").iterdir()]) == 2


async def test_nothing_is_written_that_cannot_be_taken_back(root: Path, tmp_path: Path) -> None:
    (tmp_path / "private").write_text("a file in the way")
    desk = Desk(root, journal=ChangeJournal(tmp_path / "private" / "chat"))
    assert "cannot be kept for /undo" in await desk.failure(
        "write_file", path="a.txt", content="b\n"
    )
    assert (root / "a.txt").read_text() == "a\n"
