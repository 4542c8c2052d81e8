"""Folders in which other programs keep model files: searched on request, and only read."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from ollm_tui.config.paths import home_folder
from ollm_tui.config.regular_file import is_folder
from ollm_tui.dataclass import dataclass, field
from ollm_tui.library.model_files import ModelFolder, models_in

Program: TypeAlias = Literal["lmstudio", "huggingface", "llamacpp"]
TITLES: Mapping[Program, str] = {
    "lmstudio": "LM Studio",
    "huggingface": "Hugging Face",
    "llamacpp": "llama.cpp",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherPrograms:
    """The system and variables that determine the folders of other programs."""

    home: Path = field(default_factory=lambda: home_folder() or Path(os.sep))
    """Without a home folder, the root, where no models will be found."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    platform: str = sys.platform


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingFolder:
    """An existing folder of another program."""

    program: Program
    folder: ModelFolder
    models: int
    """Number of models in it; a split model counts as one."""


def other_folders(programs: Iterable[Program], setup: OtherPrograms) -> Sequence[ModelFolder]:
    """Return the folders of these programs, existing or not."""
    return [
        ModelFolder(path=path, owner=TITLES[program])
        for program in dict.fromkeys(programs)
        for path in dict.fromkeys(_FOLDERS_OF[program](setup))
    ]


def existing_folders(setup: OtherPrograms | None = None) -> Sequence[ExistingFolder]:
    """Return the existing folders with their number of models. Blocks: call it in a thread."""
    known = setup or OtherPrograms()
    return [
        ExistingFolder(program=program, folder=folder, models=sum(1 for _ in models_in(folder)))
        for program in TITLES
        for folder in other_folders([program], known)
        if is_folder(folder.path)
    ]


def _lm_studio(setup: OtherPrograms) -> Iterator[Path]:
    yield setup.home / ".lmstudio" / "models"
    yield setup.home / ".cache" / "lm-studio" / "models"


def _hugging_face(setup: OtherPrograms) -> Iterator[Path]:
    """Yield the one folder of the cache: the most specific variable decides."""
    for variable, *below in (("HF_HUB_CACHE",), ("HUGGINGFACE_HUB_CACHE",), ("HF_HOME", "hub")):
        folder = _folder_in(setup, variable)
        if folder is not None:
            yield folder.joinpath(*below)
            return
    yield _cache(setup) / "huggingface" / "hub"


def _llama_cpp(setup: OtherPrograms) -> Iterator[Path]:
    folder = _folder_in(setup, "LLAMA_CACHE")
    if folder is not None:
        yield folder
    elif setup.platform == "darwin":
        yield setup.home / "Library" / "Caches" / "llama.cpp"
    elif setup.platform == "win32":
        local = _folder_in(setup, "LOCALAPPDATA") or setup.home / "AppData" / "Local"
        yield local / "llama.cpp"
    else:
        yield _cache(setup) / "llama.cpp"


def _cache(setup: OtherPrograms) -> Path:
    return _folder_in(setup, "XDG_CACHE_HOME") or setup.home / ".cache"


def _folder_in(setup: OtherPrograms, variable: str) -> Path | None:
    """Return the absolute folder that a variable names; None for anything else."""
    value = setup.environ.get(variable, "")
    path = setup.home / value[2:] if value.startswith("~/") else Path(value)
    return path if path.is_absolute() else None


_FOLDERS_OF: Mapping[Program, Callable[[OtherPrograms], Iterator[Path]]] = {
    "lmstudio": _lm_studio,
    "huggingface": _hugging_face,
    "llamacpp": _llama_cpp,
}
