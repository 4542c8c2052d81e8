"""The system's opener: one argument, no terminal, and a sentence where it cannot be used."""

import os
import stat
from pathlib import Path

import anyio
import pytest

from ollm_tui.frontend.opener import SystemOpener

ADDRESS = "https://a.example/$(touch%20x);`x`'\"&|?a=1"
pytestmark = pytest.mark.skipif(os.name != "posix", reason="writes shell scripts")


def program(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n", "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def screen(folder: Path, **more: str) -> dict[str, str]:
    return {"PATH": f"{folder}:/usr/bin:/bin", "DISPLAY": ":0", "OUT": str(folder), **more}


async def text_of(path: Path) -> str:
    with anyio.fail_after(5):
        while not path.exists():
            await anyio.sleep(0.01)
    return path.read_text("utf-8")


RECORD = 'printf "%s\\n" "$#" "$@" > "$OUT/part"; mv "$OUT/part" "$OUT/args"'


@pytest.mark.parametrize(
    ("platform", "name"), [("linux", "xdg-open"), ("freebsd14", "xdg-open"), ("darwin", "open")]
)
async def test_it_hands_on_one_argument_as_it_is(tmp_path: Path, platform: str, name: str) -> None:
    program(tmp_path, name, RECORD)
    assert await SystemOpener(screen(tmp_path), platform).open(ADDRESS) is None
    assert (tmp_path / "args").read_text("utf-8") == f"1\n{ADDRESS}\n"


async def test_a_file_is_handed_to_the_program_for_its_kind(tmp_path: Path) -> None:
    program(tmp_path, "xdg-open", RECORD)
    file = tmp_path / "a b.png"
    assert await SystemOpener(screen(tmp_path), "linux").open_file(file) is None
    assert (tmp_path / "args").read_text("utf-8") == f"1\n{file}\n"
    remote = SystemOpener({"SSH_TTY": "/dev/pts/0"}, "linux")
    assert await remote.open_file(file) == "Files cannot be opened from a remote session."


async def test_what_it_starts_has_no_terminal_and_a_session_of_its_own(tmp_path: Path) -> None:
    program(
        tmp_path,
        "xdg-open",
        'for n in 0 1 2; do readlink /proc/$$/fd/$n; done > "$OUT/fds"\n'
        '(: < /dev/tty) 2>/dev/null && echo tty >> "$OUT/fds"\n'
        'cut -d " " -f 6 /proc/$$/stat > "$OUT/session"; echo $$ > "$OUT/pid"',
    )
    assert await SystemOpener(screen(tmp_path), "linux").open(ADDRESS) is None
    null, _out, error = (tmp_path / "fds").read_text("utf-8").splitlines()
    assert (null, error) == ("/dev/null", "/dev/null")
    assert (tmp_path / "session").read_text("utf-8") == (tmp_path / "pid").read_text("utf-8")


async def test_one_that_stays_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ollm_tui.frontend.opener.FAILS_WITHIN_S", 0.05)
    program(tmp_path, "xdg-open", f'{RECORD}\nread line < "$OUT/fifo"\n')
    os.mkfifo(tmp_path / "fifo")
    opener = SystemOpener(screen(tmp_path), "linux")
    with anyio.fail_after(5):
        assert await opener.open(ADDRESS) is None
    assert len(opener._children) == 1
    await text_of(tmp_path / "args")
    (tmp_path / "fifo").write_text("end\n", "utf-8")
    opener._children[0].wait(5)
    program(tmp_path, "xdg-open", "exit 0")
    assert await opener.open(ADDRESS) is None
    assert opener._children == []


@pytest.mark.parametrize(
    ("environment", "platform", "words"),
    [
        ({"DISPLAY": ""}, "linux", "without a graphical screen"),
        ({"SSH_CONNECTION": "1 2 3 4"}, "linux", "from a remote session"),
        ({"SSH_TTY": "/dev/pts/1"}, "darwin", "from a remote session"),
        ({"SSH_CLIENT": "1 2 3"}, "win32", "from a remote session"),
    ],
)
async def test_without_a_screen_of_its_own_it_says_so_and_starts_nothing(
    tmp_path: Path, environment: dict[str, str], platform: str, words: str
) -> None:
    program(tmp_path, "xdg-open", RECORD)
    program(tmp_path, "open", RECORD)
    problem = await SystemOpener(screen(tmp_path, **environment), platform).open(ADDRESS)
    assert problem is not None
    assert words in problem
    assert not (tmp_path / "args").exists()


async def test_a_missing_or_failing_program_is_reported(tmp_path: Path) -> None:
    empty = {"PATH": str(tmp_path), "WAYLAND_DISPLAY": "wayland-0"}
    missing = await SystemOpener(empty, "linux").open(ADDRESS)
    assert missing == "The program xdg-open that opens links is not installed."
    program(tmp_path, "xdg-open", "exit 3")
    failed = await SystemOpener(screen(tmp_path), "linux").open(ADDRESS)
    assert failed == "The program xdg-open could not open the link."


@pytest.mark.parametrize("address", ["-x", "file:///etc/passwd", "javascript:x", "", "--help"])
async def test_nothing_else_is_ever_handed_on(tmp_path: Path, address: str) -> None:
    program(tmp_path, "xdg-open", RECORD)
    with pytest.raises(ValueError, match="only http"):
        await SystemOpener(screen(tmp_path), "linux").open(address)
    assert not (tmp_path / "args").exists()
