"""What `ollm doctor` says of engines, programs and devices of sound and pictures."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from ollm_tui.config.tables.extra_settings import SoundSettings
from ollm_tui.runtime.media import engines_here
from ollm_tui.runtime.media.engines_here import MediaEngine, media_engines
from ollm_tui.sections.reading import read_section
from ollm_tui.sound import check

SSH = {"SSH_TTY": "/dev/pts/1"}
"""Where no device is looked for."""


def program(folder: Path, body: str) -> Path:
    path = folder / "espeak-ng"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


async def looked(
    espeak: Path | None = None,
    environ: Mapping[str, str] = SSH,
    sound: SoundSettings | None = None,
) -> list[MediaEngine]:
    return [*await media_engines(espeak, sound or SoundSettings(), environ)]


def of(engines: list[MediaEngine], name: str) -> MediaEngine:
    return next(one for one in engines if name in (one.name, one.task))


async def test_each_engine_has_its_version_or_the_command_that_adds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines_here, "_version", {"sherpa-onnx": "2.0.1"}.get)
    engines = await looked(program(tmp_path, "echo 'eSpeak NG text-to-speech: 1.51  Data'"))
    whisper = of(engines, "transcribe")
    piper, espeak = of(engines, "piper"), of(engines, "espeak-ng")
    assert (whisper.problem, whisper.advice) == (
        "not installed",
        "Install it in ollm's environment: pip install pywhispercpp.",
    )
    drawing = of(engines, "draw")
    assert (drawing.name, drawing.problem) == ("stable-diffusion.cpp", "not installed")
    way = "pip install cyllama." if sys.version_info >= (3, 12) else "Python 3.12 or later"
    assert way in (drawing.advice or "")
    assert (piper.problem, piper.version) == (None, "2.0.1")
    assert (espeak.problem, espeak.version) == (None, "1.51")

    engines = await looked(None)
    piper, espeak = of(engines, "piper"), of(engines, "espeak-ng")
    assert piper.problem == "espeak-ng is missing, which pronounces the words"
    assert "pip install espeakng-loader" in (piper.advice or "")
    assert espeak.problem == "not installed"


@pytest.mark.parametrize("body", ["exit 1", "exec sleep 60"])
async def test_a_program_that_fails_or_hangs_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    monkeypatch.setattr(engines_here, "PROGRAM_S", 0.2)
    espeak = of(await looked(program(tmp_path, body)), "espeak-ng")
    assert espeak.problem == "does not run"
    assert "espeak below [embedded]" in (espeak.advice or "")


async def test_devices_are_refused_in_a_remote_session_unless_commands_are_set() -> None:
    engines = await looked()
    assert of(engines, "record").problem == "There is no microphone in an SSH session"
    assert of(engines, "play").problem == "There is no sound output in an SSH session"
    commands = read_section(
        SoundSettings,
        {"record_command": f"{sys.executable} -", "play_command": "no-such-player -q"},
    )
    engines = await looked(sound=commands)
    assert (of(engines, "record").name, of(engines, "record").problem) == ("record_command", None)
    assert "did not start no-such-player" in (of(engines, "play").problem or "")


@pytest.mark.parametrize(
    ("child", "problem"),
    [
        ("import time; time.sleep(60)", "The sound system does not answer"),
        ("print('{\"devices\": []}')", "No microphone found"),
        ("raise SystemExit(81)", "Recording needs the package miniaudio, which is not installed"),
        ("raise SystemExit(-11)", "The process of the microphone ended unexpectedly"),
        ('print(\'{"devices": ["Built-in"]}\')', None),
    ],
)
async def test_a_device_that_is_missing_or_hangs_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, child: str, problem: str | None
) -> None:
    monkeypatch.setattr(check, "LIST_DEVICES", (sys.executable, "-c", child))
    monkeypatch.setattr(check, "CHECK_S", 0.3 if "sleep" in child else 20.0)
    recorder = of(await looked(environ={}), "record")
    assert (recorder.problem or "").startswith(problem or "")
    assert (recorder.problem is None) is (problem is None)
    if problem is None:
        assert recorder.name == "Built-in"
    else:
        assert "record_command" in (recorder.advice or "")
