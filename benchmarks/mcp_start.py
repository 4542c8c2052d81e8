"""Time to a typed character with ten MCP servers in the settings, against none.

    python -m benchmarks.mcp_start [ROUNDS]

One of the ten never answers, and two die at once. Both kinds of start take turns, so that a slow
moment of the machine hits both; the figure is the median of the ratios of neighbours.
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.startup import OLLM, ROUNDS, judge, time_to_prompt

LIMIT = 1.1
FAULTS = Path(__file__).parents[1] / "tests" / "support" / "mcp_faults.py"
MODES = ("silent", "die", "die", *["ok"] * 7)
"""What the ten servers do."""


def settings(modes: Sequence[str]) -> str:
    """Return settings with a server for each mode."""
    lines = []
    for number, mode in enumerate(modes):
        args = json.dumps(["-I", str(FAULTS), mode])
        lines.append(f"[mcp_servers.box{number}]\ncommand = {json.dumps(sys.executable)}")
        lines.append(f"args = {args}\n")
    return "\n".join(lines)


def prepared(folder: Path, modes: Sequence[str]) -> Path:
    """Return a home with these servers."""
    config = folder / "config" / "ollm" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(settings(modes))
    return folder


def main() -> int:
    """Run the rounds, print the figures, and fail when the limit is passed."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        none, ten = prepared(Path(one), ()), prepared(Path(other), MODES)
        starts = {
            "no servers": lambda: time_to_prompt(OLLM, none),
            "ten, one hanging": lambda: time_to_prompt(OLLM, ten),
        }
        return judge(starts, rounds, LIMIT)


if __name__ == "__main__":
    sys.exit(main())
