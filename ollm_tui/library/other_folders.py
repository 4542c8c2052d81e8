"""Where other programs keep their model files: searched on request, and only read."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

from ollm_tui.config.paths import home_folder
from ollm_tui.config.regular_file import is_folder
from ollm_tui.library.model_files import ModelFolder, models_in

Program: TypeAlias = Literal["lmstudio", "huggingface", "llamacpp"]
TITLES: Mapping[Program, str] = MappingProxyType(
    {"lmstudio": "LM Studio", "huggingface": "Hugging Face", "llamacpp": "llama.cpp"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherPrograms:
    """What says where other programs keep their files."""

    home: Path = field(default_factory=lambda: _home())
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    platform: str = sys.platform


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFolder:
    """A folder of another program that is there."""

    program: Program
    folder: ModelFolder
    models: int
    """Model files in it; the parts of a split one count as one."""


def other_folders(programs: Iterable[Program], where: OtherPrograms) -> Sequence[ModelFolder]:
    """Give the folders of these programs, there or not."""
    return [
        ModelFolder(path=path, owner=TITLES[program])
        for program in dict.fromkeys(programs)
        for path in dict.fromkeys(_PLACES[program](where))
    ]


def found_folders(where: OtherPrograms | None = None) -> Sequence[FoundFolder]:
    """Give those that are there, with how much they hold. Touches the disk: call it in a thread."""
    known = where or OtherPrograms()
    return [
        FoundFolder(program=program, folder=folder, models=sum(1 for _ in models_in(folder)))
        for program in TITLES
        for folder in other_folders([program], known)
        if is_folder(folder.path)
    ]


def _lm_studio(where: OtherPrograms) -> Iterator[Path]:
    yield where.home / ".lmstudio" / "models"
    yield where.home / ".cache" / "lm-studio" / "models"


def _hugging_face(where: OtherPrograms) -> Iterator[Path]:
    """Give the one folder of the cache: the most particular variable says which."""
    for variable, *below in (("HF_HUB_CACHE",), ("HUGGINGFACE_HUB_CACHE",), ("HF_HOME", "hub")):
        named = _folder_in(where, variable)
        if named is not None:
            yield named.joinpath(*below)
            return
    yield _cache(where) / "huggingface" / "hub"


def _llama_cpp(where: OtherPrograms) -> Iterator[Path]:
    named = _folder_in(where, "LLAMA_CACHE")
    if named is not None:
        yield named
    elif where.platform == "darwin":
        yield where.home / "Library" / "Caches" / "llama.cpp"
    elif where.platform == "win32":
        local = _folder_in(where, "LOCALAPPDATA") or where.home / "AppData" / "Local"
        yield local / "llama.cpp"
    else:
        yield _cache(where) / "llama.cpp"


def _home() -> Path:
    return home_folder() or Path(os.sep)  # where nothing will be found


def _cache(where: OtherPrograms) -> Path:
    return _folder_in(where, "XDG_CACHE_HOME") or where.home / ".cache"


def _folder_in(where: OtherPrograms, variable: str) -> Path | None:
    """Give the folder that a variable names; a relative one would depend on the start."""
    said = where.environ.get(variable, "")
    path = where.home / said[2:] if said.startswith("~/") else Path(said)
    return path if path.is_absolute() else None


_PLACES: Mapping[Program, Callable[[OtherPrograms], Iterator[Path]]] = MappingProxyType(
    {"lmstudio": _lm_studio, "huggingface": _hugging_face, "llamacpp": _llama_cpp}
)
