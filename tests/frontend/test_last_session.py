"""The chat of a program that ended without closing: noted, offered once, and never another's."""

import os
import stat
from pathlib import Path

import pytest

from ollm_tui.frontend.last_session import OpenChatFile, left_words

CHAT, OTHER = "01HZX-first", "01HZX-second"


def killed(folder: Path, chat_id: str | None, written: float | None = None) -> None:
    """Leave what a program leaves that is killed while it has a chat open."""
    file = OpenChatFile(folder)
    file.write(chat_id)
    assert file._held is not None
    os.close(file._held)
    file._held = None
    if written is not None:
        os.utime(file._path, (written, written))


def test_the_chat_of_the_last_program_that_was_killed_is_taken_once(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    killed(folder, OTHER, written=2000.0)
    killed(folder, CHAT, written=1000.0)
    assert OpenChatFile(folder).take_left() == OTHER
    assert [*folder.iterdir()] == []
    assert OpenChatFile(folder).take_left() is None


def test_a_program_that_runs_or_was_closed_leaves_nothing(tmp_path: Path) -> None:
    running, closed = OpenChatFile(tmp_path), OpenChatFile(tmp_path)
    running.write(CHAT)
    closed.write(OTHER)
    closed.close()
    closed.write(OTHER)  # a thread that was late
    assert OpenChatFile(tmp_path).take_left() is None
    assert running._path.read_text() == CHAT
    assert stat.S_IMODE(running._path.stat().st_mode) == 0o600
    running.close(keeps=True)  # it crashed
    assert OpenChatFile(tmp_path).take_left() == CHAT


def test_a_chat_that_was_left_for_one_that_is_not_saved_is_not_offered(tmp_path: Path) -> None:
    file = OpenChatFile(tmp_path / "sessions")
    file.write(None)
    assert not (tmp_path / "sessions").exists()
    file.write(f"{CHAT}-and-more")
    file.write(CHAT)
    assert file._path.read_text() == CHAT
    file.write(None)
    file.close(keeps=True)
    assert OpenChatFile(tmp_path / "sessions").take_left() is None


@pytest.mark.parametrize("content", [b"", b"../../chats", b"\x1b[2J", b"x" * 65, b"\xff"])
def test_what_is_no_id_of_a_chat_is_removed(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "sessions"
    (folder / "folder.open").mkdir(parents=True)
    (folder / "made-up.open").write_bytes(content)
    (folder / "link.open").symlink_to("made-up.open")
    assert OpenChatFile(folder).take_left() is None
    assert sorted(one.name for one in folder.iterdir()) == ["folder.open", "link.open"]


def test_nothing_has_to_be_continued_where_the_chat_is_open_already() -> None:
    words, hint = left_words(CHAT, OTHER)
    assert (words.endswith("The chat was saved."), hint) == (True, "/chats last continues it.")
    assert left_words(CHAT, CHAT)[1] is None


def test_an_empty_chat_leaves_no_file(tmp_path: Path) -> None:
    file = OpenChatFile(tmp_path / "sessions")
    for _time in range(2):
        file.write("c1")
        assert len(list((tmp_path / "sessions").iterdir())) == 1
        file.write(None)
        assert list((tmp_path / "sessions").iterdir()) == []
    file.close()
