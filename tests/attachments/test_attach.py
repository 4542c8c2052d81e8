"""Which files can be attached, and what is said of those that cannot."""

import base64
import os
import socket
from pathlib import Path

import anyio
import pytest

from ollm_tui.attachments import attachment as attaching
from ollm_tui.attachments.attachment import (
    MAX_TEXT_BYTES,
    AttachedImage,
    AttachedText,
    FileBytes,
    attach,
    attach_image,
    existing_paths,
    image_of,
    named_paths,
)
from ollm_tui.protocol.errors import AIError
from tests.support.picture_bytes import bmp, gif, heic, jpeg, png, webp


def write(folder: Path, data: bytes, name: str = "file") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


async def refused(path: Path) -> str:
    with pytest.raises(AIError) as raised:
        await attach(path)
    return raised.value.message


@pytest.mark.parametrize(
    ("data", "kind", "sides"),
    [
        (png(), "png", (3, 2)),
        (jpeg(), "jpeg", (5, 4)),
        (gif(), "gif", (7, 6)),
        (webp(), "webp", (9, 8)),
    ],
)
async def test_a_picture_is_identified_by_its_bytes_and_sent_unchanged(
    data: bytes, kind: str, sides: tuple[int, int], tmp_path: Path
) -> None:
    found = await attach(write(tmp_path, data, "wrong.txt"))
    assert isinstance(found, AttachedImage)
    assert (found.kind, found.size, found.name) == (kind, len(data), "wrong.txt")
    assert (found.content.width, found.content.height) == sides
    assert found.content.data == base64.b64encode(data).decode()
    assert found.content.mime_type == f"image/{kind}"


def test_a_picture_is_encoded_whole_however_many_pieces_that_takes() -> None:
    data = png() + bytes(3 * 64 * 1024 * 2 + 1)
    found = image_of(FileBytes("a.png", data))
    assert isinstance(found.content.data, str)
    assert base64.b64decode(found.content.data, validate=True) == data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (bmp(), "is a BMP file. Models accept PNG, JPEG, WebP and GIF; convert it first."),
        (heic(), "is a HEIC file."),
        (b"\0\0\0\x18ftypavif" + bytes(9), "is an AVIF file."),
        (b"II*\0" + bytes(9), "is a TIFF file."),
        (b"\0\0\1\0\1\0", "is an icon file."),
        (b'<?xml version="1.0"?>\n<svg width="4"/>', "is an SVG file."),
        (png(30_000, 30_000), "has 30,000 x 30,000 pixels; 50 million is the limit."),
        (b"", "is empty."),
        (b"\x89PNG\r\n\x1a\n", "is no picture, sound, video, PDF or text."),
        (b"a\0b", "is no picture, sound, video, PDF or text."),
        (b"caf\xe9", "is no picture, sound, video, PDF or text."),
        (b"a" * (MAX_TEXT_BYTES + 1), "has 200 kB; text up to 200 kB is put into a prompt."),
    ],
)
async def test_what_cannot_be_sent_is_refused_in_a_sentence(
    data: bytes, reason: str, tmp_path: Path
) -> None:
    assert reason in await refused(write(tmp_path, data))


async def test_only_a_picture_will_do_where_one_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(AIError, match="is not a picture"):
        await attach_image(write(tmp_path, b"hello", "a.png"))


async def test_a_file_of_any_size_is_refused_without_being_read(tmp_path: Path) -> None:
    path = write(tmp_path, png())
    os.truncate(path, 50_000_000_000)
    assert "has 50,000.0 MB; 50 MB is the limit." in await refused(path)


async def test_pipes_devices_folders_and_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to("circle")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket"))
        assert "pipe, socket or device" in await refused(tmp_path / "socket")
    assert "pipe, socket or device" in await refused(tmp_path / "pipe")
    assert "belongs to the system" in await refused(Path("/dev/zero"))
    assert "belongs to the system" in await refused(Path("/proc/self/environ"))
    assert "is a folder" in await refused(tmp_path)
    assert "form a loop" in await refused(tmp_path / "circle")
    assert "does not exist" in await refused(tmp_path / "none")
    assert "not a folder" in await refused(write(tmp_path, b"x") / "below")


async def test_a_link_is_followed_and_named_by_its_end(tmp_path: Path) -> None:
    write(tmp_path, b"secret", "end.txt")
    (tmp_path / "link.txt").symlink_to("end.txt")
    (tmp_path / "outside").symlink_to("/dev/zero")
    found = await attach(tmp_path / "link.txt")
    assert (found.name, isinstance(found, AttachedText)) == ("end.txt", True)
    assert "belongs to the system" in await refused(tmp_path / "outside")


async def test_names_are_clean_before_they_are_shown(tmp_path: Path) -> None:
    name = "a\x1b[31m\u202eb\n.png"
    found = await attach(write(tmp_path, png(), name))
    assert found.name == "a⟦U+001B⟧[31m⟦U+202E⟧b⟦U+000A⟧.png"
    assert "\x1b" not in await refused(tmp_path / f"no{name}")


@pytest.mark.parametrize("text", ["a\n", "```\nb\n```", "````", "", "\ufeffc\r\nd"])
async def test_text_becomes_a_block_that_no_line_of_it_closes(text: str, tmp_path: Path) -> None:
    found = await attach(write(tmp_path, (text or " ").encode(), "notes.md"))
    assert isinstance(found, AttachedText)
    head, fence, *lines, end, last = found.block.split("\n")
    assert (head, end, last) == ("notes.md:", fence, "")
    assert fence.strip("`") == ""
    assert not any(line.strip().startswith(fence) for line in lines)
    assert "\r" not in found.block


async def test_of_several_readings_the_disk_decides(tmp_path: Path) -> None:
    write(tmp_path, png(), "my shot.png")
    write(tmp_path, png(), r"my\ shot.png")
    plain, escaped = f"{tmp_path}/my shot.png", rf"{tmp_path}/my\ shot.png"
    assert await existing_paths(plain) == (Path(plain),)
    assert await existing_paths(escaped) == (Path(escaped),)
    Path(escaped).unlink()
    assert await existing_paths(escaped) == (Path(plain),)
    assert await existing_paths(f"{tmp_path}/none.png") == ()
    assert await named_paths("none at all.png") == (Path("none"), Path("at"), Path("all.png"))
    with pytest.raises(AIError, match="is not a path"):
        await named_paths("\0")


async def test_a_disk_that_does_not_answer_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    release = anyio.Event()

    async def never(*_: object, **__: object) -> None:
        await release.wait()

    monkeypatch.setattr(attaching, "TIMEOUT_S", 0.01)
    monkeypatch.setattr(anyio.to_thread, "run_sync", never)
    assert "could not be read within" in await refused(tmp_path / "a.png")
