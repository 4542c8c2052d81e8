"""The picture in the clipboard, with stand-ins for the programs that read it."""

import base64
from pathlib import Path

import pytest

from ollm_tui.attachments.clipboard import clipboard_picture
from ollm_tui.protocol.errors import AIError
from tests.support.picture_bytes import png

PICTURE = png(4, 3)
LISTS = """case "$*" in
  *list-types*|*TARGETS*) echo text/html; echo image/png;;
  *image/png*) cat {picture};;
esac"""
PLATFORMS = {
    "wl-paste": ("linux", {"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, LISTS),
    "xclip": ("linux", {"DISPLAY": ":0"}, LISTS),
    "pngpaste": ("darwin", {}, "cat {picture}"),
    "osascript": ("darwin", {}, "printf '«data PNGf'; xxd -p {picture} | tr -d '\\n'; echo '»'"),
    "powershell.exe": (
        "linux",
        {"WSL_DISTRO_NAME": "Ubuntu", "DISPLAY": ":0"},
        "base64 -w0 {picture}",
    ),
}


def program(folder: Path, name: str, script: str) -> dict[str, str]:
    """Write a program, and return the environment that finds it."""
    (folder / "picture").write_bytes(PICTURE)
    written = script.replace("xxd -p", "od -An -v -tx1 <").replace("tr -d '\\n'", "tr -d ' \\n'")
    path = folder / name
    path.write_text(
        f"#!/bin/sh\nPATH=/usr/bin:/bin\n{written.format(picture=folder / 'picture')}\n"
    )
    path.chmod(0o755)
    return {"PATH": str(folder)}


@pytest.mark.parametrize("name", PLATFORMS)
async def test_the_systems_own_program_is_asked(tmp_path: Path, name: str) -> None:
    platform, environ, script = PLATFORMS[name]
    found = await clipboard_picture({**program(tmp_path, name, script), **environ}, platform)
    assert (found.name, found.kind, found.size) == ("clipboard.png", "png", len(PICTURE))
    assert found.content.data == base64.b64encode(PICTURE).decode()


@pytest.mark.parametrize("name", PLATFORMS)
async def test_without_a_picture_or_the_program_a_sentence_says_so(
    tmp_path: Path, name: str
) -> None:
    platform, environ, _script = PLATFORMS[name]
    with pytest.raises(AIError, match="is not installed") as refused:
        await clipboard_picture({"PATH": str(tmp_path), **environ}, platform)
    assert "/attach FILE" in str(refused.value.hint)
    for script in ("echo text/plain", "echo image/png", "exit 1"):
        with pytest.raises(AIError, match="no picture in the clipboard"):
            await clipboard_picture({**program(tmp_path, name, script), **environ}, platform)


async def test_no_clipboard_is_read_over_ssh_or_without_a_desktop(tmp_path: Path) -> None:
    environ = program(tmp_path, "xclip", LISTS)
    for more, sentence in (({"SSH_TTY": "x", "DISPLAY": ":0"}, "over SSH"), ({}, "no desktop")):
        with pytest.raises(AIError, match=sentence) as refused:
            await clipboard_picture({**environ, **more}, "linux")
        assert "/attach FILE" in str(refused.value.hint)
