"""What a new model is made of: another model, or files, and the settings of a profile."""

from collections.abc import Sequence
from pathlib import Path

import anyio.to_thread

from ollm_tui.config.schema import AppConfig
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.json_fields import string
from ollm_tui.library.address import parse_address
from ollm_tui.library.downloads.job import LocalFiles
from ollm_tui.library.downloads.local_copy import given_files
from ollm_tui.library.file_names import is_gguf
from ollm_tui.library.gguf import gguf_problem
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelDraft
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.runtime.manager import ModelManager
from ollm_tui.runtime.model_lookup import FoundModel


async def draft_of(
    source: str, target: ProviderAdapter, manager: ModelManager, quantization: str | None = None
) -> ModelDraft:
    """Return a draft of a model at `target` that is made of `source`, without other settings.

    `source` is a model of the same server, one of the built-in engine, or the path of a GGUF file
    or of a folder with them.

    Raises:
        AIError: there is no such model or file, or the server cannot use it.
    """
    path = _path_of(source)
    paths: Sequence[Path]
    if path is not None:
        paths = (path,)
    else:
        model = await manager.find(source)
        if model.adapter.name == target.name:
            return ModelDraft(base=model.ref.model, quantization=quantization)
        paths = _files_of(model, target)
    files = await anyio.to_thread.run_sync(_checked_files, paths)
    return ModelDraft(files=files, quantization=quantization)


def profile_of(config: AppConfig) -> tuple[str, ModelDraft, tuple[str, ...]] | None:
    """Return what the chosen profile gives a new model, or None without a profile.

    That is its source, its settings, and the names of those that a model cannot keep.
    """
    profile = config.profiles.get(config.profile or "")
    if profile is None:
        return None
    is_template = bool(profile.system_prompt) and config.system_prompt_format is not None
    kept = ModelDraft(
        system_prompt=None if is_template else profile.system_prompt or None,
        options=profile.options.to_options(),
    )
    lost = {
        "system_prompt (a template)": is_template,
        "tools": profile.tools,
        "thinking": profile.thinking,
        "keep_alive": profile.options.keep_alive,
        "extra_body": profile.options.extra_body,
        "schema": profile.schema_file,
    }
    return profile.model or "", kept, tuple(name for name, value in lost.items() if value)


def _path_of(source: str) -> Path | None:
    address = parse_address(source)
    if isinstance(address, LocalFiles):
        return address.path
    return Path(source) if is_gguf(Path(source)) and "://" not in source else None


def _files_of(model: FoundModel, target: ProviderAdapter) -> tuple[Path, ...]:
    """Return the files of a model of the built-in engine, whose details have a folder."""
    details = model.info.details if model.info else {}
    path = string(details, "path") if "folder" in details else None
    if path is None:
        raise AIError(
            ErrorCode.CONFLICT,
            f"{clean_name(model.ref.model)} is at {model.place}, and {target.label} has no access "
            "to it.",
            hint="Name a model of the same server, or a GGUF file.",
        )
    projector = string(details, "projector")
    return (Path(path), Path(projector)) if projector else (Path(path),)


def _checked_files(paths: Sequence[Path]) -> tuple[Path, ...]:
    files = tuple(file for path in paths for file, _ in given_files(path))
    for file in files:
        if (problem := gguf_problem(file)) is not None:
            raise AIError(
                ErrorCode.BAD_REQUEST, f"{clean_name(file.name)} cannot be used: {problem}."
            )
    return files
