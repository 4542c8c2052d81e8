"""`python -P -m tests.support.held_start FIFO [ARGUMENTS]`: ollm, held before the app is loaded.

It goes on when somebody writes to the named pipe; "fail" makes loading the app fail.
"""

import sys
from importlib.abc import MetaPathFinder
from pathlib import Path

from ollm_tui.cli import main

HELD = "ollm_tui.tui.run"


class Hold(MetaPathFinder):
    """Finds nothing, but waits when the app is looked for."""

    def __init__(self, pipe: Path) -> None:
        self._pipe = pipe

    def find_spec(self, name: str, _path: object, _target: object = None) -> None:
        if name == HELD and "fail" in self._pipe.read_text():
            raise ImportError("as it was asked for")


if __name__ == "__main__":
    sys.meta_path.insert(0, Hold(Path(sys.argv.pop(1))))
    sys.exit(main())
