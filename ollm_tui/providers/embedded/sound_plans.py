"""How models that hear or speak are loaded: by their files, the settings beside them, and PATH."""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ollm_tui.config.paths import find_program
from ollm_tui.config.regular_file import is_file
from ollm_tui.decode.json_fields import present
from ollm_tui.models.known_models import KnownModels
from ollm_tui.models.sidecar import engine_settings, job_options, own_engine, own_model_path
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelInfo, from_alias
from ollm_tui.protocol.ports import ModelLibrary
from ollm_tui.providers.embedded import failures
from ollm_tui.providers.embedded.engine_rules import ESPEAK, PIPER, WHISPER_CPP, engine_for
from ollm_tui.providers.embedded.settings import EmbeddedSettings, unused_settings
from ollm_tui.providers.embedded.worker import WorkerPlan, has_package

if TYPE_CHECKING:
    from ollm_tui.models.family_facts import ModelKnowledge

SoundTask: TypeAlias = Literal["speech", "transcription"]
TASKS: Final[Mapping[str, SoundTask]] = {"whisper": "transcription", "voice": "speech"}
"""What models are for, by the kind of their files."""
HEAR_HINT: Final = "Install it in ollm's environment: pip install pywhispercpp."
SPEAK_HINT: Final = "Install it in ollm's environment: pip install sherpa-onnx."
PHONEMES_HINT: Final = (
    "Install espeak-ng with your system's package manager, or in ollm's environment: "
    "pip install espeakng-loader."
)
GGML_HINT: Final = "`ollm models pull hf://ggerganov/whisper.cpp/ggml-base.bin` downloads one."
_MODULES: Final[Mapping[str, str]] = {WHISPER_CPP: "whisper", PIPER: "piper", ESPEAK: "espeak"}
_PROGRAM_S: Final = 5.0


def espeak_program(
    setting: Path | Literal["none"] | None, environ: Mapping[str, str] | None = None
) -> Path | None:
    """Return the espeak-ng of the settings, else the one on PATH; None if there is none."""
    if setting is not None:
        return setting if isinstance(setting, Path) else None
    return find_program(ESPEAK, os.environ if environ is None else environ)


class SoundPlanner:
    """Plans how models that hear or speak are loaded; its methods block."""

    def __init__(
        self,
        library: ModelLibrary,
        known_models: KnownModels,
        settings: EmbeddedSettings,
        *,
        has_package: Callable[[str], bool] = has_package,
    ) -> None:
        self._library = library
        self._known_models = known_models
        self._settings = settings
        self._espeak = settings.espeak
        self._has_package = has_package

    def models(self) -> Sequence[ModelInfo]:
        """Return the models that are no files: espeak-ng, if it is installed."""
        if self._espeak is None:
            return ()
        details: JsonObject = {
            "kind": "voice",
            "format": "program",
            "family": ESPEAK,
            "languages": "more than a hundred languages",
            "program": str(self._espeak),
            "why_kept": "It is a program of this machine.",
        }
        return (ModelInfo(name=ESPEAK, capability=from_alias("tts"), details=details),)

    def shown(self, name: str) -> ModelInfo | None:
        """Return everything about a model that is no file; None for another one."""
        for info in self.models():
            if info.name == name:
                voices: list[JsonValue] = [*self._voices()]
                return replace(info, details={**info.details, "voices": voices})
        return None

    def is_program(self, name: str) -> bool:
        """Return whether a model is no file."""
        return any(info.name == name for info in self.models())

    def plan(self, name: str, task: SoundTask | None = None) -> WorkerPlan | None:
        """Return how a model is loaded; None if it neither hears nor speaks.

        Raises:
            AIError: there is no such model or engine, or it is for another `task`.
        """
        info = self._info(name)
        kind = str(info.details.get("kind", ""))
        if kind not in TASKS or (problem := info.details.get("problem")) is not None:
            if task is None:
                return None
            problem = info.details.get("problem")
            raise failures.unusable_sound(name, str(problem)) if problem else _other(name, task)
        if task is not None and TASKS[kind] != task:
            raise _other(name, task)
        return self._plan(info, kind)

    def _info(self, name: str) -> ModelInfo:
        known = {info.name: info for info in (*self._library.models(), *self.models())}
        if name not in known:
            self._library.path_of(name)  # raises that there is none
        return known.get(name, ModelInfo(name=name))

    def _plan(self, info: ModelInfo, kind: str) -> WorkerPlan:
        if self.is_program(info.name):
            return _plan_of(info.name, ESPEAK, self._espeak, {}, {})
        path = self._library.path_of(info.name)
        known = self._known_models.of_model(info.name, info)
        for left_out in unused_settings(known):
            raise left_out.error
        engine = engine_for(info.name, kind, own_engine(known))
        path = own_model_path(known) or path
        if engine == WHISPER_CPP:
            return self._whisper(info, path, known)
        if engine == PIPER:
            return self._piper(info, path, known)
        raise _other(info.name, TASKS[kind])

    def _whisper(self, info: ModelInfo, path: Path, known: "ModelKnowledge") -> WorkerPlan:
        if info.details.get("format") == "gguf":
            raise AIError(
                ErrorCode.MODEL_NOT_LOADED,
                f"{info.name} is a GGUF file, and whisper.cpp reads ggml-….bin files only.",
                hint=GGML_HINT,
            )
        if not self._has_package("pywhispercpp"):
            raise failures.no_package(WHISPER_CPP, HEAR_HINT)
        return _plan_of(info.name, WHISPER_CPP, path, {}, self._options(info, known))

    def _piper(self, info: ModelInfo, path: Path, known: "ModelKnowledge") -> WorkerPlan:
        if not self._has_package("sherpa_onnx"):
            raise failures.no_package(PIPER, SPEAK_HINT)
        if self._espeak is None and not self._has_package("espeakng_loader"):
            raise AIError(
                ErrorCode.MODEL_NOT_LOADED,
                f"{info.name} needs espeak-ng, which pronounces the words.",
                hint=PHONEMES_HINT,
            )
        files = {"description": path.with_name(f"{path.name}.json")}
        if self._espeak is not None:
            files["espeak"] = self._espeak
        for file in (path, *files.values()):
            if not is_file(file):
                raise failures.unusable_sound(info.name, f"there is no file {file}")
        return _plan_of(info.name, PIPER, path, files, self._options(info, known))

    def _options(self, info: ModelInfo, known: "ModelKnowledge") -> JsonObject:
        """Return the options of the settings beside a file, with the threads of the settings."""
        threads = self._settings.options_of(info.name, engine_settings(known)).threads
        return job_options(known) | present({"threads": threads})

    def _voices(self) -> Sequence[str]:
        """Return the languages that espeak-ng lists."""
        try:
            listed = subprocess.run(
                [str(self._espeak), "--voices"],
                capture_output=True,
                timeout=_PROGRAM_S,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ()
        lines = listed.stdout.decode(errors="replace").splitlines()[1:]
        return [columns[1] for line in lines if len(columns := line.split()) > 1]


def _plan_of(
    name: str,
    engine: str,
    path: Path | None,
    files: Mapping[str, Path],
    options: JsonObject,
) -> WorkerPlan:
    return WorkerPlan(
        name=name,
        engine=engine,
        module=_MODULES[engine],
        install_hint=HEAR_HINT if engine == WHISPER_CPP else SPEAK_HINT,
        path=path,
        files=files,
        options=options,
    )


def _other(name: str, task: SoundTask) -> AIError:
    verb, kind = {"speech": ("speak", "speech"), "transcription": ("transcribe", "transcription")}[
        task
    ]
    return AIError(
        ErrorCode.UNSUPPORTED_MODALITY,
        f"{name} cannot {verb}.",
        hint=f"Choose a model for {kind}: `ollm models list` shows what each can do.",
    )
