from pathlib import Path

import pytest

from tests.support.svg import svg_snapshot

__all__ = ["config", "svg_snapshot"]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"
