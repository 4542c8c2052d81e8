"""What a running program holds, seen from outside, and how fast it shows a key."""

import json
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.support.pty_session import PtySession

LETTERS = "ζηθλξψωЖЩЮЯфцшэю"
"""Typed to see them come; nothing else on the screen has them."""
BACKSPACE = "\x7f"


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """One look at it."""

    turn: int
    rss_kb: int
    """With its children."""
    files: int
    threads: int
    children: int
    chats_bytes: int
    """Size of the file of saved chats."""
    messages: int
    text_bytes: int
    """The text of all saved messages."""
    keys_ms: tuple[float, ...]
    """How long each typed letter took to be on the terminal."""
    reference_ms: tuple[float, ...]
    """The same letters through a program that does nothing but write them back."""


def take(session: PtySession, reference: PtySession, chats: Path, turn: int) -> Census:
    """Look; the program is in an empty chat with nothing in its input."""
    pid, alone = session.pid, session.processes()
    messages, text = saved_text(chats) if chats.exists() else (0, 0)
    return Census(
        turn=turn,
        rss_kb=sum(_rss_kb(one) for one in alone),
        files=len(list(Path(f"/proc/{pid}/fd").iterdir())),
        threads=len(list(Path(f"/proc/{pid}/task").iterdir())),
        children=len(alone) - 1,
        chats_bytes=chats.stat().st_size if chats.exists() else 0,
        messages=messages,
        text_bytes=text,
        keys_ms=echo_times(session),
        reference_ms=echo_times(reference),
    )


def echo_times(session: PtySession) -> tuple[float, ...]:
    """Type letters, one after the other as they come, and take them back; in ms."""
    times: list[float] = []
    for letter in LETTERS:
        session.forget()
        pressed = time.perf_counter()
        session.write(letter)
        session.wait_for(letter.encode(), timeout=10)
        times.append((time.perf_counter() - pressed) * 1000)
    session.write(BACKSPACE * len(LETTERS))
    return tuple(times)


def saved_text(chats: Path) -> tuple[int, int]:
    """Return how many messages a file of chats has, and the bytes of their text."""
    with closing(sqlite3.connect(chats)) as connection:
        rows = connection.execute("SELECT body FROM messages").fetchall()
    bodies = [json.loads(body) for (body,) in rows]
    texts = (block.get("text", "") for body in bodies for block in body["content"])
    return len(bodies), sum(len(text.encode()) for text in texts)


def _rss_kb(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0  # it has just ended
    lines = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(lines[0].split()[1]) if lines else 0
