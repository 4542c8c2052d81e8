"""Recording ends as it should, keeps what there is, and leaves no program behind."""

from pathlib import Path

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.sound import recorder as recorder_module
from ollm_tui.sound.program import SoundProgram, SoundSetup
from ollm_tui.sound.recorder import Recorder, Recording
from tests.support.engine import is_running
from tests.support.sounds import file_device, tone, wav


def recorder(command: list[str], max_seconds: float = 60) -> Recorder:
    program = SoundProgram("record", command, is_device=False)
    return Recorder(program=program, max_seconds=max_seconds)


async def recorded(command: list[str], max_seconds: float = 60) -> Recording:
    with anyio.fail_after(20):
        return await recorder(command, max_seconds).record(anyio.Event())


def shell(script: str, *arguments: object) -> list[str]:
    return ["sh", "-c", script, "-", *map(str, arguments)]


async def test_a_program_that_ends_gives_its_whole_file(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(wav())
    recording = await recorded(file_device(tmp_path / "a.wav"))
    assert recording.end == "ended"
    assert recording.wav == wav()
    assert recording.seconds == pytest.approx(0.5)
    assert not recording.is_silent


async def test_stopping_ends_the_program_and_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "DRAIN_S", 0.05)
    (tmp_path / "a.wav").write_bytes(wav())
    stop, levels = anyio.Event(), list[tuple[float, float]]()

    def show(level: float, seconds: float) -> None:
        levels.append((level, seconds))
        if seconds >= 0.5:
            stop.set()

    script = 'trap "" TERM; sleep 60 & echo $! > "$2"; cat "$1"; wait; sleep 60'
    command = shell(script, tmp_path / "a.wav", tmp_path / "pid")
    with anyio.fail_after(20):
        recording = await recorder(command).record(stop, show)
    assert (recording.end, recording.samples) == ("stopped", tone())
    assert levels[-1][0] > 0.5
    assert not is_running(int((tmp_path / "pid").read_text()))


async def test_a_recording_ends_at_its_limit(tmp_path: Path) -> None:
    recording = await recorded(shell("exec cat /dev/zero"), max_seconds=0.25)
    assert (recording.end, recording.seconds) == ("limit", 0.25)
    assert recording.is_silent


async def test_a_device_that_goes_away_leaves_what_it_recorded(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(wav())
    recording = await recorded(shell('cat "$1"; kill -9 $$', tmp_path / "a.wav"))
    assert (recording.end, recording.wav) == ("lost", wav())


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (shell("echo no such card >&2; exit 3"), "ended with code 3: no such card"),
        (shell("exit 3"), "ended with code 3."),
        (shell("true"), "Nothing was recorded."),
        (shell("echo OggS"), "prints another format than WAV."),
        (["/not/there/arecord"], "did not start arecord: it does not exist."),
    ],
)
async def test_a_program_that_records_nothing_is_one_sentence(
    command: list[str], words: str
) -> None:
    with pytest.raises(AIError) as caught:
        await recorded(command)
    assert words in caught.value.message
    assert caught.value.hint


async def test_a_program_that_prints_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "SILENT_S", 0.05)
    with pytest.raises(AIError, match="sends no sound") as caught:
        await recorded(shell("exec sleep 60"))
    assert caught.value.known_code is ErrorCode.TIMEOUT


async def test_a_cancelled_recording_leaves_no_program(tmp_path: Path) -> None:
    script = 'echo $$ > "$1.new"; mv "$1.new" "$1"; trap "" TERM; cat /dev/zero'
    with anyio.CancelScope() as scope:

        def show(_level: float, _seconds: float) -> None:
            if (tmp_path / "pid").exists():
                scope.cancel()

        await recorder(shell(script, tmp_path / "pid"), 1e6).record(anyio.Event(), show)
    assert scope.cancelled_caught
    assert not is_running(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("name", ["SSH_CONNECTION", "SSH_TTY"])
def test_a_remote_session_has_neither_microphone_nor_output(name: str) -> None:
    setup = SoundSetup(environ={name: "x"})
    with pytest.raises(AIError, match="no microphone in an SSH session") as caught:
        setup.program("record")
    assert "/dictate FILE" in (caught.value.hint or "")
    with pytest.raises(AIError, match="no sound output in an SSH session"):
        setup.program("play")
    commands = SoundSetup(environ={name: "x"}, record_command=["a"], play_command=["b"])
    assert commands.program("record").command == ["a"]
    assert commands.program("play").command == ["b"]
    assert SoundSetup(environ={name: "x", "PULSE_SERVER": "y"}).program("play").is_device


async def test_no_key_of_the_environment_reaches_a_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
    with pytest.raises(AIError) as caught:
        await recorded(shell('echo "key $OPENAI_API_KEY." >&2; exit 1'))
    assert caught.value.message.endswith("code 1: key .")
