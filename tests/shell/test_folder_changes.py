"""Which files changed while a command ran, and when that is not known."""

import os
from pathlib import Path

import pytest

from ollm_tui.shell import folder_changes
from ollm_tui.shell.folder_changes import changes_between, take_snapshot


def test_new_changed_and_deleted_files_are_named(tmp_path: Path) -> None:
    for name in ("same", "old", "gone", "swapped"):
        (tmp_path / name).write_text(name)
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / ".git/objects").mkdir(parents=True)
    (tmp_path / "link").symlink_to("/etc/passwd")
    before = take_snapshot(tmp_path)
    assert before.is_whole
    (tmp_path / "old").write_text("changed")
    (tmp_path / "gone").unlink()
    (tmp_path / "deep/er/new").write_text("new")
    (tmp_path / ".git/objects/ab").write_text("not named")
    (tmp_path / ".git/config").write_text("named")
    status = (tmp_path / "swapped").stat()
    (tmp_path / "other").write_text("SWAPPED")
    (tmp_path / "other").replace(tmp_path / "swapped")  # the same size and time, another file
    os.utime(tmp_path / "swapped", ns=(status.st_atime_ns, status.st_mtime_ns))
    changed = changes_between(before, take_snapshot(tmp_path))
    assert changed.is_whole
    assert changed.files == {
        ".git/config": "new",
        "deep/er/new": "new",
        "gone": "deleted",
        "old": "changed",
        "swapped": "changed",
    }


@pytest.mark.parametrize(("name", "value"), [("MAX_FILES", 3), ("WITHIN_S", -1.0)])
def test_a_folder_that_is_too_large_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: float
) -> None:
    for number in range(5):
        (tmp_path / f"{number}").touch()
    before = take_snapshot(tmp_path)
    monkeypatch.setattr(folder_changes, name, value)
    after = take_snapshot(tmp_path)
    assert (before.is_whole, after.is_whole) == (True, False)
    assert changes_between(before, after) == changes_between(after, before)
    assert not changes_between(before, after).is_whole


def test_only_so_many_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_changes, "MAX_NAMED", 2)
    before = take_snapshot(tmp_path)
    for number in range(5):
        (tmp_path / f"{number}").touch()
    changed = changes_between(before, take_snapshot(tmp_path))
    assert (list(changed.files), changed.is_whole) == (["0", "1"], False)
