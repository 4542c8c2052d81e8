"""Screens use of the runtime what is meant for them, and leave the rest to the program."""

import re
from pathlib import Path
from typing import Final

from ollm_tui import tui

NOT_ON_A_SCREEN: Final = frozenset(
    {
        *("config", "paths", "registry", "prober", "named", "lifecycle", "tools"),
        *(
            "plugin_problems",
            "continued",
            "secrets",
            "ask_before_tools",
            "download_service",
            "copies",
        ),
    }
)
"""What the command line, the public face and `tui/run.py` use, but no screen."""


def test_screens_use_no_other_member() -> None:
    member = re.compile(rf"\bruntime\.({'|'.join(NOT_ON_A_SCREEN)})\b")
    folder = Path(tui.__file__).parent
    screens = [path for path in folder.rglob("*.py") if path != folder / "run.py"]
    assert len(screens) > 100
    assert [path for path in screens if member.search(path.read_text("utf-8"))] == []
