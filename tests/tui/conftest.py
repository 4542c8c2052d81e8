from pathlib import Path

import pytest

from ollm_tui.tui.crash import mend_textual
from tests.support.idle import waits_for_what_can_happen
from tests.support.style_sheets import parses_style_sheets_once
from tests.tui.svg import svg_snapshot

__all__ = ["config", "parses_style_sheets_once", "svg_snapshot", "waits_for_what_can_happen"]

mend_textual()  # for the tests' own small apps, whose timers have to fire as well


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"
