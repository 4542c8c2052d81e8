"""Homes with a saved chat, each made once for a run of the suite."""

import subprocess
import sys
from pathlib import Path

from benchmarks.terminal.backend.process import ROOT

BYTES_PER_MESSAGE = 4000
"""5,000 messages are 20 MB."""


class Seeds:
    """Makes homes below a folder and keeps them there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def home(self, messages: int) -> Path:
        """Give a home whose only chat has so many messages."""
        home = self._folder / str(messages)
        file = home / ".local/share/ollm/chats.db"
        if not file.exists():
            file.parent.mkdir(parents=True)
            size = messages * BYTES_PER_MESSAGE
            command = [sys.executable, "-P", "-m", "benchmarks.terminal.seeding", str(file)]
            subprocess.run([*command, str(messages), str(size)], cwd=ROOT, check=True, env=_env())
        return home


def _env() -> dict[str, str]:
    return {"PYTHONPATH": str(ROOT)}
