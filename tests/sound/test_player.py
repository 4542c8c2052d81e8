"""Sounds are played one after another, and nothing is after a stop."""

from pathlib import Path

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.sound.player import Player
from ollm_tui.sound.program import SoundProgram
from tests.support.sounds import file_output, played


def player(command: list[str]) -> Player:
    return Player(SoundProgram("play", command, is_device=False))


async def test_sounds_are_played_in_order(tmp_path: Path) -> None:
    async with player(file_output(tmp_path / "played")) as one:
        for number in range(3):
            await one.play(b"RIFF%d" % number)
    assert played(tmp_path / "played") == [b"RIFF0", b"RIFF1", b"RIFF2"]


async def test_nothing_plays_after_a_stop(tmp_path: Path) -> None:
    script = 'trap "" TERM; while :; do echo >> "$1"; done'
    async with player(["sh", "-c", script, "-", str(tmp_path / "beat")]) as one:
        async with anyio.create_task_group() as group:

            async def stop() -> None:
                while not (tmp_path / "beat").exists():
                    await anyio.sleep(0.005)
                one.stop()

            group.start_soon(stop)
            with pytest.raises(AIError) as caught:
                await one.play(b"RIFF")
        assert caught.value.known_code is ErrorCode.ABORTED
        last = (tmp_path / "beat").stat().st_size
        await anyio.sleep(0.1)
        assert (tmp_path / "beat").stat().st_size == last
        with pytest.raises(AIError):
            await one.play(b"RIFF")


async def test_a_program_that_fails_is_one_sentence(tmp_path: Path) -> None:
    async with player(["sh", "-c", "echo no sink >&2; exit 2"]) as one:
        with pytest.raises(
            AIError, match="play_command of the settings ended with code 2: no sink"
        ):
            await one.play(bytes(1_000_000))
    async with player(["/not/there/pw-play"]) as one:
        with pytest.raises(AIError, match="did not start pw-play"):
            await one.play(b"RIFF")


async def test_a_program_that_reads_nothing_can_be_cancelled(tmp_path: Path) -> None:
    async with player(["sh", "-c", "exec sleep 60"]) as one:
        with anyio.move_on_after(0.05) as scope:
            await one.play(bytes(1_000_000))
    assert scope.cancelled_caught


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="the system does not list open files")
async def test_a_start_that_is_cancelled_leaves_no_file_open() -> None:
    before = len([*Path("/dev/fd").iterdir()])
    async with player(["sleep", "60"]) as one:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await one.play(b"RIFF")
    assert scope.cancelled_caught
    assert len([*Path("/dev/fd").iterdir()]) == before
