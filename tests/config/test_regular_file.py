"""Files that are read: only regular ones, without waiting, and only so many bytes."""

import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ollm_tui.config.regular_file import (
    TooLongError,
    is_file,
    is_folder,
    is_there,
    open_binary,
    open_regular,
    read_bounded,
    real_path,
    why_unreadable,
)


def a_socket(path: Path) -> None:
    # A socket's path may have some 100 bytes at most.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)


def a_sparse_file(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(3 * 10**9)


NO_FILES: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "a pipe": (os.mkfifo, "it is a pipe, not a file"),
    "a folder": (Path.mkdir, "it is a folder"),
    "a socket": (a_socket, "it is a socket, not a file"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "it is a device, not a file"),
    "a link to itself": (lambda path: path.symlink_to(path), "its links form a loop"),
    "a link to nowhere": (lambda path: path.symlink_to(path.with_name("gone")), "does not exist"),
    "nothing": (lambda _path: None, "it does not exist"),
}


@pytest.mark.parametrize("kind", NO_FILES)
@pytest.mark.parametrize("opens", [open_binary, open_regular, lambda path: read_bounded(path, 10)])
def test_what_is_no_file_is_refused_in_a_few_words(
    kind: str, opens: Callable[[Path], object], tmp_path: Path
) -> None:
    make, words = NO_FILES[kind]
    path = tmp_path / "it"
    make(path)
    open_before = len([*Path("/dev/fd").iterdir()])
    with pytest.raises(OSError) as caught:  # noqa: PT011 -- the words are what counts
        opens(path)
    assert words in why_unreadable(caught.value)
    assert len([*Path("/dev/fd").iterdir()]) == open_before


def test_what_is_longer_than_allowed_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"12345")
    assert read_bounded(path, 5) == b"12345"
    monkeypatch.setattr(os, "read", lambda *_given: pytest.fail("nothing of it is wanted"))
    with pytest.raises(TooLongError, match="longer than 4"):
        read_bounded(path, 4)
    a_sparse_file(path)
    with pytest.raises(TooLongError, match="longer than 4"):
        read_bounded(path, 4)


def test_a_file_that_grows_while_it_is_read_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "growing"
    path.write_bytes(b"1")
    read = os.read

    def read_and_grow(descriptor: int, length: int) -> bytes:
        with path.open("ab") as file:
            file.write(b"23")
        return read(descriptor, min(length, 2))

    monkeypatch.setattr(os, "read", read_and_grow)
    with pytest.raises(TooLongError):
        read_bounded(path, 100)


def test_a_file_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "slow"
    path.write_bytes(b"1")
    with pytest.raises(TimeoutError):
        read_bounded(path, 100, within_s=0)


def test_a_file_that_takes_the_place_of_another_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, pipe = tmp_path / "file", tmp_path / "pipe"
    path.write_bytes(b"1")
    os.mkfifo(pipe)
    opened = os.open
    monkeypatch.setattr(os, "open", lambda _path, *rest: opened(pipe, *rest))
    with pytest.raises(OSError, match="a pipe"):
        read_bounded(path, 100)


def test_a_link_is_followed_where_that_is_allowed(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"1")
    link.symlink_to(path)
    assert read_bounded(link, 1) == b"1"
    with pytest.raises(OSError, match="a link"):
        read_bounded(link, 1, follows_links=False)


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    os.close(open_regular(tmp_path / "new", os.O_RDWR | os.O_CREAT))
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600


def test_a_path_that_no_disk_takes_is_an_error_of_the_disk() -> None:
    with pytest.raises(OSError, match="NUL"):
        read_bounded(Path("a\0b"), 10)


@pytest.mark.parametrize(
    "name", ["gone", "a\0b", "\ud800", "a" * 300, "circle", "file/below", "circle/below"]
)
def test_looking_at_a_path_never_fails(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    path = tmp_path / name
    assert not (is_there(path))
    assert not (is_file(path))
    assert not (is_folder(path))
    if "\0" not in name and name.isascii():
        assert real_path(path).is_relative_to(real_path(tmp_path))


def test_what_lies_at_a_path_is_distinguished(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    looks = {
        name: (is_there(path), is_file(path), is_folder(path))
        for name in ("file", "pipe", ".")
        for path in [tmp_path / name]
    }
    assert looks == {
        "file": (True, True, False),
        "pipe": (True, False, False),
        ".": (True, False, True),
    }
