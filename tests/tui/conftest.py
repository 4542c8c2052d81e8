from pathlib import Path

import pytest

from tests.support.idle import waits_for_what_can_happen
from tests.support.style_sheets import parses_style_sheets_once
from tests.support.svg import svg_snapshot

__all__ = ["config", "parses_style_sheets_once", "svg_snapshot", "waits_for_what_can_happen"]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"
