"""The program with a fault in one of its functions, or with a list of those that ran.

    python -m tests.e2e.planting FOLDER POINT ARGUMENT...

Once FOLDER has the file `armed`, the first call of the function POINT of the screen raises. Without
a point (`-`) the functions that are called then are written to `called.json` at the end.
"""

import json
import sys
from pathlib import Path
from types import FrameType

from ollm_tui.cli import main

SECRET = "zq-a-local-value-that-nobody-may-see"
PACKAGE = "ollm_tui/tui/"


class Planted(Exception):
    """What no part of the program expects."""


class Plant:
    """Sees each call of the thread that has the event loop."""

    def __init__(self, folder: Path, point: str) -> None:
        self.armed, self.hit = folder / "armed", folder / "hit"
        self.called: dict[str, None] = {}
        self.point = point

    def see(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event != "call" or PACKAGE not in code.co_filename:
            return
        name = f"{code.co_filename.rpartition(PACKAGE)[2]}:{code.co_qualname}"
        if self.point == "-":
            if name not in self.called and self.armed.exists():
                self.called[name] = None
        elif name == self.point and self.armed.exists():
            local = SECRET  # noqa: F841 -- as a prompt would be
            self.hit.touch()
            sys.setprofile(None)
            raise Planted("planted")


def run() -> int:
    folder, point, *arguments = sys.argv[1:]
    plant = Plant(Path(folder), point)
    sys.setprofile(plant.see)
    try:
        return main(arguments)
    finally:
        sys.setprofile(None)
        if point == "-":
            (Path(folder) / "called.json").write_text(json.dumps([*plant.called]))


if __name__ == "__main__":
    sys.exit(run())
