"""A picture that was made, in a file of its own."""

import os
from pathlib import Path

import pytest

from ollm_tui.attachments.made import save_picture
from ollm_tui.protocol.blocks import ImageContent
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
        assert await save_picture(picture, name) == Path(path)
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
        (PNG, "none/cat.png", "could not be written"),
        (PNG, "a\0.png", "could not be written"),
        (ImageContent(url="http://x/"), "", "is a link"),
    ):
        with pytest.raises(AIError, match=words):
            await save_picture(picture, name)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(AIError, match="No space left on device"):
        await save_picture(PNG, "new.png")
    assert sorted(path.name for path in tmp_path.glob("*.*")) == ["link.png", "mine.png"]
    assert (tmp_path / "mine.png").read_bytes() == b"mine"
