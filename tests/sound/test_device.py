"""The program's own process for devices, with the null backend of miniaudio."""

import sys
import time
from importlib.util import find_spec

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.sound.device_child import NO_DEVICE, NO_PACKAGE, SAMPLE_RATE
from ollm_tui.sound.player import Player
from ollm_tui.sound.program import SoundProgram, SoundSetup
from ollm_tui.sound.recorder import Recorder
from tests.support.sounds import wav

needs_miniaudio = pytest.mark.skipif(find_spec("miniaudio") is None, reason="needs miniaudio")
NULL = SoundSetup(backend="NULL")


@needs_miniaudio
async def test_a_device_records_until_it_is_stopped() -> None:
    stop = anyio.Event()

    def show(_level: float, seconds: float) -> None:
        if seconds >= 0.1:
            stop.set()

    with anyio.fail_after(20):
        recording = await Recorder(program=NULL.program("record")).record(stop, show)
    assert recording.end == "stopped"
    assert recording.seconds >= 0.1
    assert (recording.format.rate, recording.format.channels) == (SAMPLE_RATE, 1)
    assert recording.is_silent


@needs_miniaudio
async def test_a_device_plays_sounds_and_stops_at_once() -> None:
    with anyio.fail_after(30):
        async with Player(NULL.program("play")) as player:
            before = time.perf_counter()
            await player.play(wav(0.2))
            assert time.perf_counter() - before >= 0.2
            with pytest.raises(AIError, match="a format that cannot be played here"):
                await player.play(b"junk" * 100)
        async with Player(NULL.program("play")) as player:
            with anyio.move_on_after(0.3):
                await player.play(wav(30))


@pytest.mark.parametrize("direction", ["record", "play"])
def test_what_is_missing_is_named_with_the_ways_out(direction: str) -> None:
    program = SoundProgram("record" if direction == "record" else "play", [], is_device=True)
    setting = f"`{direction}_command` below [sound]"
    missing = program.problem(NO_PACKAGE, "")
    assert "miniaudio" in missing.message
    assert "Install it in ollm's environment: pip install miniaudio." in (missing.hint or "")
    absent = program.problem(NO_DEVICE, "no device")
    assert absent.message in {"No microphone found.", "No sound output found."}
    for error in (missing, absent):
        assert error.known_code is ErrorCode.UNSUPPORTED_FEATURE
        assert setting in (error.hint or "")


async def test_without_the_package_one_sentence_says_so() -> None:
    command = NULL.program("record").command
    bare = [sys.executable, "-I", "-S", *command[2:]]
    with pytest.raises(AIError, match="Recording needs the package miniaudio"):
        await Recorder(program=SoundProgram("record", bare, is_device=True)).record(anyio.Event())
