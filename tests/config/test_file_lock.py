"""Locks that end with their holder."""

import os
import stat
from pathlib import Path

import pytest

from ollm_tui.config.private_file import is_named, open_lock, try_lock


def test_one_holder_at_a_time_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first, second = open_lock(path), open_lock(path)
    try:
        assert try_lock(first)
        assert not try_lock(second)
        os.close(first)
        assert try_lock(second)
    finally:
        os.close(second)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_lock_on_a_file_that_was_taken_away_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    descriptor = open_lock(path)
    try:
        assert is_named(descriptor, path)
        path.unlink()
        assert not is_named(descriptor, path)
        os.close(open_lock(path))
        assert not is_named(descriptor, path)
    finally:
        os.close(descriptor)


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="link"):
        open_lock(path)
    assert not (tmp_path / "elsewhere").exists()
