"""Engines under one contract: how each is planned, and jobs for it, short and long."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ollm_tui.config.paths import find_program
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.providers.embedded.worker import WorkerPlan
from tests.support.picture_models import WHY_NO_ENGINE, put_tiny
from tests.support.sound_models import VOICE_FILE, WEIGHTS, WHISPER_FILE, wave_of

FAKE_ENGINE = Path(__file__).with_name("fake_engine.py")
ESPEAK: Final = find_program("espeak-ng", {"PATH": os.pathsep.join(("/usr/bin", "/usr/local/bin"))})
LIMITED: Final = (
    "import os, resource, sys;"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0));"
    "os.environ['PYTHONDONTWRITEBYTECODE'] = '1';"
    "os.execv(sys.argv[1], sys.argv[1:])"
)
"""A program that runs another one, which cannot write a byte to a file."""


class FakePlan(WorkerPlan):
    """Loads the engine of the tests."""

    @property
    def command(self) -> Sequence[str]:
        """The program."""
        return (sys.executable, "-P", str(FAKE_ENGINE))


class LimitedPlan(WorkerPlan):
    """Loads a model in a process that cannot write a byte to a file."""

    of: WorkerPlan

    @property
    def command(self) -> Sequence[str]:
        """The program."""
        return (sys.executable, "-I", "-S", "-c", LIMITED, *self.of.command)


def limited(plan: WorkerPlan) -> WorkerPlan:
    """Return a plan for the same model on a full disk."""
    names = ("name", "engine", "module", "install_hint", "path", "files", "options")
    made = LimitedPlan(**{name: getattr(plan, name) for name in names})
    object.__setattr__(made, "of", plan)
    return made


def fake_plan(folder: Path, content: str = "model", *, engine: str = "fake") -> WorkerPlan:
    """Return a plan for the engine of the tests, whose model is a file with this content."""
    file = folder / "fake.model"
    file.write_text(content, encoding="utf-8")
    return FakePlan(
        name="fake",
        engine=engine,
        module="",
        install_hint="Install it with: nothing.",
        path=file,
    )


@dataclass(frozen=True, slots=True)
class EngineCase:
    """One engine, and what it is given."""

    plan: Callable[[Path], WorkerPlan]
    short: tuple[JsonObject, bytes]
    long: tuple[JsonObject, bytes]
    """A job of more than ten seconds."""
    missing: str | None
    """Why it cannot be tried here."""
    is_program: bool = False
    """Whether its file is a program, which may run without its last bytes."""


def _espeak(_folder: Path) -> WorkerPlan:
    return WorkerPlan(
        name="espeak-ng", engine="espeak-ng", module="espeak", install_hint="", path=ESPEAK
    )


def _piper(_folder: Path) -> WorkerPlan:
    path = WEIGHTS / VOICE_FILE
    files = {"description": path.with_name(f"{path.name}.json")}
    if ESPEAK is not None:
        files["espeak"] = ESPEAK
    return WorkerPlan(
        name="joe", engine="piper", module="piper", install_hint="", path=path, files=files
    )


def _whisper(_folder: Path) -> WorkerPlan:
    return WorkerPlan(
        name="tiny.en",
        engine="whisper.cpp",
        module="whisper",
        install_hint="",
        path=WEIGHTS / WHISPER_FILE,
        options={"threads": 1},
    )


def _drawing(folder: Path) -> WorkerPlan:
    return WorkerPlan(
        name="tiny",
        engine="stable-diffusion.cpp",
        module="drawing",
        install_hint="",
        path=put_tiny(folder),
        options={"threads": 1, "is_square": True},
    )


def drawing_job(prompt: str, **fields: JsonValue) -> tuple[JsonObject, bytes]:
    """Return a job for an engine that draws."""
    text = prompt.encode()
    return {"width": 64, "height": 64, **fields, "parts": [["prompt", len(text)]]}, text


def _no_weights(file: str, package: str) -> str | None:
    if not (WEIGHTS / file).is_file():
        return f"SOUND_MODELS names no folder with {file}: make test-engines"
    return None if find_spec(package) else f"the package {package} is not installed"


_TEXT: Final = b"The quick brown fox jumps over the lazy dog. "
CASES: Final = {
    "fake": EngineCase(
        fake_plan, ({"do": "count", "to": 2}, b""), ({"do": "count", "to": 10_000}, b""), None
    ),
    "espeak": EngineCase(
        _espeak,
        ({}, _TEXT),
        ({}, _TEXT * 5000),
        None if ESPEAK else "espeak-ng is not installed",
        is_program=True,
    ),
    "piper": EngineCase(
        _piper, ({}, b"Hello there."), ({}, _TEXT * 500), _no_weights(VOICE_FILE, "sherpa_onnx")
    ),
    "whisper": EngineCase(
        _whisper,
        ({}, wave_of(bytes(32_000))),
        ({}, wave_of(os.urandom(32_000 * 120))),
        _no_weights(WHISPER_FILE, "pywhispercpp"),
    ),
    "drawing": EngineCase(
        _drawing,
        drawing_job("a red cat", steps=2),
        drawing_job("a red cat", steps=1000, width=256, height=256),
        WHY_NO_ENGINE,
    ),
}


def with_file(plan: WorkerPlan, path: Path) -> WorkerPlan:
    """Return a plan for another file."""
    return replace(plan, path=path)
