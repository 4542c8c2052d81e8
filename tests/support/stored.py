"""What tests read from `tests/data`."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "data"


def stored(name: str) -> Any:
    return json.loads(FOLDER.joinpath(name).read_text("utf-8"))
