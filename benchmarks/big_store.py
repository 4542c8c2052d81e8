"""Chats of invented words, as many as somebody has after years: the store that benchmarks open.

    python -m benchmarks.big_store FOLDER [CHATS] [MESSAGES]

Word frequencies fall as in a language. Answers name one of several models, each tenth chat has a
second branch, and the times are those of three years. By default the file has 1.5 GB.
"""

import itertools
import json
import random
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import anyio

from ollm_tui.store.conversations import FILE_NAME, open_store

CHATS: Final = 10_000
MESSAGES: Final = 1_000_000
WORDS: Final = 60_000
SEED: Final = 14
MODELS: Final = ("ollama://qwen3:8b", "ollama://gpt-oss:20b", "built-in://tiny", "local://llama3.2")
_POOL: Final = 2_000_000
_FIRST_MS: Final = 1_700_000_000_000
_APART_MS: Final = 95_000
"""Between two messages, so that a million of them take three years."""


def vocabulary(chance: random.Random) -> list[str]:
    """Return words of one to four syllables, the most frequent first."""
    syllables = [a + b + c for a in "bcdfghjklmnprstvwz" for b in "aeiou" for c in ("", "n", "r")]
    return [
        "".join(chance.choices(syllables, k=chance.choice((1, 2, 2, 3, 3, 4))))
        for _ in range(WORDS)
    ]


def fill(
    path: Path, chats: int, messages: int, chance: random.Random, words: Sequence[str]
) -> None:
    """Write so many messages to a new store, in chats of equal length."""
    frequencies = list(itertools.accumulate(1 / (rank + 1) for rank in range(len(words))))
    pool = chance.choices(words, cum_weights=frequencies, k=_POOL)
    of_a_chat = max(2, messages // chats)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        for number in range(messages):
            chat, place = divmod(number, of_a_chat)
            if not place:
                _add_chat(connection, chat, number, of_a_chat, " ".join(chance.choices(words, k=4)))
            _add_message(connection, chat, place, number, of_a_chat, chance, pool)
        connection.execute("COMMIT")


def _time(number: int) -> int:
    return _FIRST_MS + number * _APART_MS


def _add_chat(
    connection: sqlite3.Connection, chat: int, number: int, of_a_chat: int, title: str
) -> None:
    last = number + of_a_chat - 1
    connection.execute(
        "INSERT INTO conversations (id, title, title_by, created_ms, updated_ms, model, options,"
        " leaf_id, revision) VALUES (?, ?, 'question', ?, ?, ?, '{}', ?, 1)",
        (
            _chat_id(chat),
            title,
            _time(number),
            _time(last),
            MODELS[chat % len(MODELS)],
            _message_id(last),
        ),
    )


def _add_message(
    connection: sqlite3.Connection,
    chat: int,
    place: int,
    number: int,
    of_a_chat: int,
    chance: random.Random,
    pool: Sequence[str],
) -> None:
    is_answer = bool(place % 2)
    length = chance.randrange(60, 360) if is_answer else 40
    start = chance.randrange(len(pool) - length)
    role = "assistant" if is_answer else "user"
    text = " ".join(pool[start : start + length])
    body = json.dumps({"role": role, "content": [{"type": "text", "text": text}]})
    # The last answer of each tenth chat was retried: it stands beside the one before.
    is_retry = chat % 10 == 0 and place == of_a_chat - 1 and place >= 3
    parent = number - (3 if is_retry else 1)
    connection.execute(
        "INSERT INTO messages (id, conversation_id, parent_id, depth, role, state, model,"
        " created_ms, updated_ms, body) VALUES (?, ?, ?, ?, ?, 'complete', ?, ?, ?, ?)",
        (
            _message_id(number),
            _chat_id(chat),
            _message_id(parent) if place else None,
            place + (-1 if is_retry else 1),
            role,
            MODELS[chat % len(MODELS)] if is_answer else None,
            _time(number),
            _time(number),
            body,
        ),
    )


def _chat_id(chat: int) -> str:
    return f"c{chat:035}"


def _message_id(number: int) -> str:
    return f"m{number:035}"


async def make_store(path: Path, chats: int = CHATS, messages: int = MESSAGES) -> list[str]:
    """Make the store if the file does not exist; return the words it was made of."""
    chance = random.Random(SEED)
    words = vocabulary(chance)
    if not path.exists():
        async with open_store(path):
            pass
        fill(path, chats, messages, chance, words)
    return words


def main() -> None:
    """Make a store in a folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    chats = int(sys.argv[2]) if len(sys.argv) > 2 else CHATS
    messages = int(sys.argv[3]) if len(sys.argv) > 3 else MESSAGES
    anyio.run(make_store, folder / FILE_NAME, chats, messages)


if __name__ == "__main__":
    main()
