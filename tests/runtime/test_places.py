"""Where models can be fetched to."""

import shutil
from pathlib import Path

import pytest

from ollm_tui.runtime.download_targets import room_in


def test_what_is_free_is_known_for_a_folder_that_is_still_to_be_made(tmp_path: Path) -> None:
    there = room_in(tmp_path)
    assert there is not None
    assert room_in(tmp_path / "not" / "yet") is not None


def test_a_disk_that_cannot_be_asked_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: Path) -> None:
        raise PermissionError("no")

    monkeypatch.setattr(shutil, "disk_usage", refuse)
    assert room_in(tmp_path) is None
