"""Saved chats of any length, and homes with one, each made once for a run of the suite.

One chat: `python -m benchmarks.terminal.seeds FILE MESSAGES BYTES`.
"""

import subprocess
import sys
from pathlib import Path

import anyio

from benchmarks.terminal.answer import pieces
from benchmarks.terminal.backend.process import ROOT
from ollm_tui.protocol.message import Message
from ollm_tui.store.conversations import open_store
from ollm_tui.store.rows import ConversationSettings

LAST_WORD = "QEND"
SETTINGS = ConversationSettings(model="local://fake:latest")
SHORT = 2
BYTES_PER_MESSAGE = 4000
"""5,000 messages are 20 MB."""


def texts(messages: int, size: int) -> list[str]:
    """Return questions and answers in turn that have about `size` characters in all."""
    each = 2 * size // messages
    text = "".join(pieces(max(20, each // 4)))
    answer = text[:each] if messages > SHORT else "A short answer."
    parts = [f"Question {at}?" if at % 2 == 0 else answer for at in range(messages)]
    fence = "\n```" if parts[-1].count("```") % 2 else ""
    parts[-1] += f"{fence}\n\n{LAST_WORD}"
    return parts


async def seed(file: Path, messages: int, size: int) -> None:
    """Save one chat through the store, as the program itself does."""
    async with open_store(file) as store:
        journal = store.journal(SETTINGS)
        for at, text in enumerate(texts(messages, size)):
            message = Message("assistant" if at % 2 else "user", text)
            ident = await journal.begin(message)
            if at % 2:
                await journal.finish(ident, message)


class Seeds:
    """Makes homes below a folder and keeps them there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def home(self, messages: int) -> Path:
        """Return a home whose only chat has so many messages."""
        home = self._folder / str(messages)
        file = home / ".local/share/ollm/chats.db"
        if not file.exists():
            file.parent.mkdir(parents=True)
            size = messages * BYTES_PER_MESSAGE
            command = [sys.executable, "-P", "-m", "benchmarks.terminal.seeds", str(file)]
            subprocess.run([*command, str(messages), str(size)], cwd=ROOT, check=True, env=_env())
        return home


def _env() -> dict[str, str]:
    return {"PYTHONPATH": str(ROOT)}


if __name__ == "__main__":
    anyio.run(seed, Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
