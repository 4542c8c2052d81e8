"""Saved chats of any length: `python -m benchmarks.terminal.seeding FILE MESSAGES BYTES`."""

import sys
from pathlib import Path

import anyio

from benchmarks.terminal.answer import pieces
from ollm_tui.protocol.message import Message
from ollm_tui.store.conversations import open_store
from ollm_tui.store.rows import ConversationSettings

LAST_WORD = "QEND"
SETTINGS = ConversationSettings(model="local://fake:latest")
SHORT = 2


def texts(messages: int, size: int) -> list[str]:
    """Give questions and answers in turn that have about `size` characters in all."""
    each = 2 * size // messages
    text = "".join(pieces(max(20, each // 4)))
    answer = text[:each] if messages > SHORT else "A short answer."
    found = [f"Question {at}?" if at % 2 == 0 else answer for at in range(messages)]
    fence = "\n```" if found[-1].count("```") % 2 else ""
    found[-1] += f"{fence}\n\n{LAST_WORD}"
    return found


async def seed(file: Path, messages: int, size: int) -> None:
    """Save one chat through the store, as the program itself does."""
    async with open_store(file) as store:
        journal = store.journal(SETTINGS)
        for at, text in enumerate(texts(messages, size)):
            message = Message("assistant" if at % 2 else "user", text)
            ident = await journal.begin(message)
            if at % 2:
                await journal.finish(ident, message)


if __name__ == "__main__":
    anyio.run(seed, Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
