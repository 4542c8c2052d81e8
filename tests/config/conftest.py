"""One settings file, written by a test and loaded with the test's own environment."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.config.load import LoadedConfig, load_config
from ollm_tui.config.paths import AppPaths


class Load(Protocol):
    def __call__(
        self,
        text: str | bytes | None = None,
        environ: Mapping[str, str] | None = None,
        flags: Flags | None = None,
    ) -> LoadedConfig: ...


@pytest.fixture
def paths(tmp_path: Path) -> AppPaths:
    folders = [tmp_path / name for name in ("config", "data", "state", "cache")]
    for folder in folders:
        folder.mkdir()
    return AppPaths(*folders)


@pytest.fixture
def write(paths: AppPaths) -> Callable[[str | bytes], Path]:
    def write_file(text: str | bytes) -> Path:
        paths.config_file.write_bytes(text.encode() if isinstance(text, str) else text)
        paths.config_file.chmod(0o600)
        return paths.config_file

    return write_file


@pytest.fixture
def load(paths: AppPaths, write: Callable[[str | bytes], Path]) -> Load:
    def load_it(
        text: str | bytes | None = None,
        environ: Mapping[str, str] | None = None,
        flags: Flags | None = None,
    ) -> LoadedConfig:
        if text is not None:
            write(text)
        return load_config(paths, environ or {}, flags)

    return load_it
