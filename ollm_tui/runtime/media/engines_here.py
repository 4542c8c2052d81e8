"""What transcribes, speaks, draws, records and plays here, and what adds what is missing.

No package is imported, and no device is opened.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Final, Literal, TypeAlias

import anyio
from anyio import to_thread

from ollm_tui.config.tables.extra_settings import SoundSettings
from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError
from ollm_tui.providers.embedded.drawing_plans import DRAW_HINT
from ollm_tui.providers.embedded.engine_rules import (
    ESPEAK,
    PIPER,
    STABLE_DIFFUSION_CPP,
    WHISPER_CPP,
)
from ollm_tui.providers.embedded.sound_plans import HEAR_HINT, PHONEMES_HINT, SPEAK_HINT
from ollm_tui.sound.check import check_sound
from ollm_tui.sound.program import Direction, SoundSetup

MediaTask: TypeAlias = Literal["transcribe", "speak", "draw", "record", "play"]
PROGRAM_S: Final = 1.0
"""How long espeak-ng may take to tell its version."""
_PACKAGES: Final[Mapping[str, tuple[str, str]]] = {
    WHISPER_CPP: ("pywhispercpp", HEAR_HINT),
    PIPER: ("sherpa-onnx", SPEAK_HINT),
    STABLE_DIFFUSION_CPP: ("cyllama", DRAW_HINT),
}
"""The package of each engine, and what adds it."""
_ADD_ESPEAK: Final = "Install espeak-ng with your system's package manager"


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaEngine:
    """What does one thing here, or would."""

    task: MediaTask
    name: str
    version: str | None = None
    problem: str | None = None
    """Why it cannot be used; None if it can."""
    advice: str | None = None


async def media_engines(
    espeak: Path | None, sound: SoundSettings, environ: Mapping[str, str] | None = None
) -> tuple[MediaEngine, ...]:
    """Return the engines in the order of `MediaTask`; takes about two seconds at most."""
    setup = SoundSetup(
        record_command=sound.record_command or (),
        play_command=sound.play_command or (),
        environ=os.environ if environ is None else environ,
    )
    devices: dict[Direction, MediaEngine] = {}

    async def look(direction: Direction) -> None:
        devices[direction] = await _device(setup, direction)

    async with anyio.create_task_group() as group:
        group.start_soon(look, "record")
        group.start_soon(look, "play")
        engines = await to_thread.run_sync(lambda: tuple(_engines(espeak)))
    return (*engines, devices["record"], devices["play"])


def _engines(espeak: Path | None) -> Iterator[MediaEngine]:
    yield _packaged("transcribe", WHISPER_CPP)
    program = _espeak(espeak)
    piper = _packaged("speak", PIPER)
    if piper.problem is None and program.problem and _version("espeakng-loader") is None:
        yield MediaEngine(
            task="speak",
            name=PIPER,
            version=piper.version,
            problem="espeak-ng is missing, which pronounces the words",
            advice=PHONEMES_HINT,
        )
    else:
        yield piper
    yield program
    yield _packaged("draw", STABLE_DIFFUSION_CPP)


def _packaged(task: MediaTask, engine: str) -> MediaEngine:
    package, advice = _PACKAGES[engine]
    version = _version(package)
    if version is not None:
        return MediaEngine(task=task, name=engine, version=version)
    return MediaEngine(task=task, name=engine, problem="not installed", advice=advice)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _espeak(program: Path | None) -> MediaEngine:
    if program is None:
        advice = f"{_ADD_ESPEAK}."
        return MediaEngine(task="speak", name=ESPEAK, problem="not installed", advice=advice)
    try:
        done = subprocess.run(
            [str(program), "--version"],
            capture_output=True,
            timeout=PROGRAM_S,
            stdin=subprocess.DEVNULL,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        advice = f"{_ADD_ESPEAK}, or change espeak below [embedded]."
        return MediaEngine(task="speak", name=ESPEAK, problem="does not run", advice=advice)
    words = done.stdout.decode(errors="replace").split()
    version = next((word[:20] for word in words if word[0].isdigit()), None)
    return MediaEngine(task="speak", name=ESPEAK, version=version)


async def _device(setup: SoundSetup, direction: Direction) -> MediaEngine:
    try:
        name = await check_sound(setup, direction)
    except AIError as error:
        problem = error.message.rstrip(".")
        return MediaEngine(task=direction, name="sound", problem=problem, advice=error.hint)
    return MediaEngine(task=direction, name=name)
