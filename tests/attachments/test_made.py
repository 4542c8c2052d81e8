"""A picture that was made, in a file of its own."""

import os
from pathlib import Path

import pytest

from ollm_tui.attachments.made import kind_of_name, save_made, write_to_open
from ollm_tui.protocol.blocks import AudioContent, DocumentContent, ImageContent
from ollm_tui.protocol.errors import AIError
from tests.support.picture_bytes import jpeg, png

PNG, JPEG = ImageContent(data=png()), ImageContent(data=jpeg())


async def test_it_gets_the_name_that_is_given_or_the_next_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for picture, name, path in (
        (PNG, "", "picture-1.png"),
        (PNG, "", "picture-2.png"),
        (JPEG, "", "picture-1.jpg"),
        (PNG, "cat", "cat.png"),
        (PNG, "cat.v2.PNG", "cat.v2.PNG"),
        (JPEG, "~/cat.jpeg", str(tmp_path / "cat.jpeg")),
    ):
        assert await save_made(picture, name) == Path(path)
        assert Path(path).read_bytes() == picture.data


async def test_nothing_is_replaced_and_no_part_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.png").write_bytes(b"mine")
    (tmp_path / "link.png").symlink_to("elsewhere.png")
    for picture, name, words in (
        (PNG, "mine.png", "mine.png exists already."),
        (PNG, "link.png", "exists already"),
        (PNG, "cat.jpg", "is no name for a PNG picture"),
        (JPEG, "cat.png", "is no name for a JPG picture"),
        (PNG, "none/cat.png", "cannot be written"),
        (PNG, "a\0.png", "cannot be written"),
        (ImageContent(url="http://x/"), "", "is a link"),
    ):
        with pytest.raises(AIError, match=words):
            await save_made(picture, name)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(AIError, match="No space left on device"):
        await save_made(PNG, "new.png")
    assert sorted(path.name for path in tmp_path.glob("*.*")) == ["link.png", "mine.png"]
    assert (tmp_path / "mine.png").read_bytes() == b"mine"


async def test_a_file_to_open_is_private_named_by_its_kind_and_gone_after_a_day(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "opened"
    path = await write_to_open(PNG, folder)
    assert (path.suffix, path.read_bytes()) == (".png", png())
    assert (path.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    os.utime(path, (0, 0))
    song = await write_to_open(AudioContent(data="UklGRg==", mime_type="audio/wav"), folder)
    assert [one.name for one in folder.iterdir()] == [song.name]
    assert song.suffix == ".wav"
    for nothing in (ImageContent(url="http://x/"), DocumentContent(data=b"#!/bin/sh")):
        with pytest.raises(AIError, match="is a link"):
            await write_to_open(nothing, folder)


def test_a_name_says_what_the_file_holds() -> None:
    names = ("a.PNG", "b.webm", "~/c d.mp3", "profile", "gpt-4.1", "a.txt")
    assert [kind_of_name(name) for name in names] == ["image", "video", "audio", None, None, None]
