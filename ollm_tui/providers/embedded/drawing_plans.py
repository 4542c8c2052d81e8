"""How models that draw are loaded: by their files, and the settings for them."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ollm_tui.config.engine_settings import PICTURE_PARTS, ModelEngineSettings
from ollm_tui.config.regular_file import is_file
from ollm_tui.decode.json_fields import as_object, present, strings
from ollm_tui.models.checkpoints import (
    DIFFUSION,
    FAMILIES,
    IMAGE,
    PARTS,
    usual_options,
)
from ollm_tui.models.known_models import KnownModels
from ollm_tui.models.sidecar import engine_settings, job_options, own_engine, own_model_path
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.ports import ModelLibrary
from ollm_tui.providers.embedded import failures
from ollm_tui.providers.embedded.engine_rules import STABLE_DIFFUSION_CPP, engine_for
from ollm_tui.providers.embedded.settings import EmbeddedSettings, unused_settings
from ollm_tui.providers.embedded.worker import WorkerPlan, has_package

if TYPE_CHECKING:
    from ollm_tui.models.family_facts import ModelKnowledge

_OLDEST: Final = (3, 12)
_INSTALL: Final = (
    "Install it in ollm's environment: pip install cyllama."
    if sys.version_info >= _OLDEST
    else "Its package cyllama needs Python 3.12 or later: install ollm there."
)
DRAW_HINT: Final = (
    f"{_INSTALL} Or run stable-diffusion.cpp's sd-server, and set its address below [providers]."
)
_EDITS: Final = ("kontext", "edit")
"""Words in the names of models that take a picture as something to look at, not to begin with."""


class DrawingPlanner:
    """Plans how models that draw are loaded; its methods block."""

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
        self._has_package = has_package

    def described(self, info: ModelInfo) -> ModelInfo:
        """Return a model with the files that it is loaded with, or why it cannot be."""
        if info.details.get("kind") != IMAGE or "problem" in info.details:
            return info
        known = self._known_models.of_model(info.name, info)
        try:
            parts = self._parts(info, self._options(info, known))
            problem = _problem(info, parts)
        except AIError as error:
            parts, problem = {}, error.message.rstrip(".")
        files: JsonObject = {part: str(path) for part, path in parts.items()}
        details = {**info.details, **present({"problem": problem, "part_files": files or None})}
        return replace(info, details=details)

    def plan(self, name: str, *, is_required: bool = False) -> WorkerPlan | None:
        """Return how a model is loaded; None if it does not draw.

        Raises:
            AIError: it cannot be loaded, or it does not draw and `is_required`.
        """
        info = next((one for one in self._library.models() if one.name == name), None)
        if info is None:
            self._library.path_of(name)  # raises that there is none
        if info is None or info.details.get("kind") != IMAGE:
            if is_required:
                raise _cannot_draw(name)
            return None
        path = self._library.path_of(name)
        known = self._known_models.of_model(name, info)
        for left_out in unused_settings(known):
            raise left_out.error
        engine_for(name, IMAGE, own_engine(known))
        options = self._options(info, known)
        parts = self._parts(info, options)
        problem = info.details.get("problem") or _problem(info, parts)
        if problem is not None:
            raise _unusable(name, str(problem))
        if not self._has_package("cyllama"):
            raise failures.no_package(STABLE_DIFFUSION_CPP, DRAW_HINT)
        path = own_model_path(known) or path
        for file in (path, *parts.values()):
            if not is_file(file):
                raise _unusable(name, f"there is no file {file}")
        return WorkerPlan(
            name=name,
            engine=STABLE_DIFFUSION_CPP,
            module="drawing",
            install_hint=DRAW_HINT,
            path=path,
            files={**parts, **({DIFFUSION: path} if _is_alone(info) else {})},
            options={**_usual(info), **job_options(known), **_of_engine(options)},
        )

    def _options(self, info: ModelInfo, known: "ModelKnowledge") -> ModelEngineSettings:
        return self._settings.options_of(info.name, engine_settings(known))

    def _parts(self, info: ModelInfo, options: ModelEngineSettings) -> dict[str, Path]:
        """Return the files by what they are for: those of the settings, else those beside it."""
        beside = as_object(info.details.get("part_files"))
        parts = {part: Path(path) for part, path in beside.items() if isinstance(path, str)}
        named = {part: getattr(options, part) for part in PICTURE_PARTS}
        return parts | {part: path for part, path in named.items() if path is not None}


def _is_alone(info: ModelInfo) -> bool:
    """Whether a file has a diffusion model and nothing else."""
    family = FAMILIES.get(str(info.details.get("family")))
    return family is not None and set(family.needs) == {*strings(info.details.get("needs"))}


def _problem(info: ModelInfo, parts: dict[str, Path]) -> str | None:
    family = str(info.details.get("family"))
    if family not in FAMILIES:
        return f"the built-in engine does not draw with models of the kind {family[:40]}"
    missing = [one for one in strings(info.details.get("needs")) if one not in parts]
    if not missing:
        return None
    words = [f"its {PARTS[one]} (`{one}`)" for one in missing]
    return f"it needs {_joined(words)} beside its file"


def _joined(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _usual(info: ModelInfo) -> JsonObject:
    options: JsonObject = {**usual_options(str(info.details.get("family")), info.name)}
    return options | {"is_editor": any(word in info.name.lower() for word in _EDITS)}


def _of_engine(options: ModelEngineSettings) -> JsonObject:
    return present({"threads": options.threads, "flash_attention": options.flash_attention})


def _cannot_draw(name: str) -> AIError:
    return AIError(
        ErrorCode.UNSUPPORTED_MODALITY,
        f"{name} cannot draw.",
        hint="Choose a model that draws: `ollm models list` shows what each can do.",
    )


def _unusable(name: str, reason: str) -> AIError:
    hint = (
        "Download the rest into the same folder, or name the files below [models] in the settings."
        if reason.startswith("it needs")
        else "Download its files again, or choose another model."
    )
    return AIError(ErrorCode.MODEL_NOT_LOADED, f"{name} cannot be used: {reason}.", hint=hint)
