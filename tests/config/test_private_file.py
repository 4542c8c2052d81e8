"""Files that are written whole or not at all, for their owner alone."""

import os
import stat
from pathlib import Path

import pytest

from ollm_tui.config.private_file import write_private
from ollm_tui.config.regular_file import read_bounded


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("lasting", [True, False])
def test_a_file_is_replaced_and_private_with_its_folder(tmp_path: Path, lasting: bool) -> None:
    path = tmp_path / "below" / "kept.json"
    write_private(path, b"old", lasting=lasting)
    path.chmod(0o644)
    write_private(path, b"new", lasting=lasting)
    assert path.read_bytes() == b"new"
    assert (mode_of(path), mode_of(path.parent)) == (0o600, 0o700)
    assert [*path.parent.iterdir()] == [path]


def test_a_failure_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "around" / "folder"
    (path / "inside").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        write_private(path, b"new")
    assert [*path.parent.iterdir()] == [path]


def test_what_lies_in_the_way_is_not_written_through(tmp_path: Path) -> None:
    path, way, other = tmp_path / "kept", tmp_path / "kept.new", tmp_path / "other"
    other.write_bytes(b"somebody's")
    way.symlink_to(other)
    write_private(path, b"new", by_way_of=way)
    assert (path.read_bytes(), other.read_bytes()) == (b"new", b"somebody's")
    assert not os.path.lexists(way)


def test_the_longest_name_that_a_disk_takes_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_private(path, b"new")
    assert read_bounded(path, 3) == b"new"


def test_a_link_of_that_name_is_replaced(tmp_path: Path) -> None:
    path, other = tmp_path / "kept", tmp_path / "other"
    other.write_bytes(b"somebody's")
    path.symlink_to(other)
    write_private(path, b"new")
    assert (path.read_bytes(), other.read_bytes()) == (b"new", b"somebody's")
