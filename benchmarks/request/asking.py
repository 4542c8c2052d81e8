"""One question: by a chat of the running program, and by a socket that sends the same bytes."""

import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

import anyio.to_thread

from ollm_tui.chat.client import ChatClient
from ollm_tui.protocol.chat_events import Finish
from ollm_tui.protocol.message import Message
from ollm_tui.store.conversations import ConversationStore
from ollm_tui.store.rows import ConversationSettings, MessageRow, new_id

CHARACTERS = 500
"""In one message."""
QUESTION = "And what did the keeper see then?"
END = b"0\r\n\r\n"
PARAGRAPH = (
    "The lighthouse keeper wrote down the wind, the *height* of the sea and what had passed: "
    "`three boats, one gull`. Then he lit the lamp — as every evening — and went up to bed.\n\n"
)
Added: TypeAlias = tuple[float, float]
"""Seconds before the first byte is sent, and after the last one."""
_LOCAL = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Server:
    """The server, and what it noted of its newest answer."""

    def __init__(self, url: str, pid: int) -> None:
        self.url, self.pid = url, pid

    def noted(self) -> tuple[float, float]:
        """Return when the first byte of the request came, and the last of the answer was sent."""
        times = json.loads(self._get("/noted"))
        return times["first_byte"], times["last_sent"]

    def sent(self) -> bytes:
        """Return the newest request."""
        return self._get("/sent")

    def _get(self, path: str) -> bytes:
        with _LOCAL.open(self.url + path, timeout=10) as reply:
            content: bytes = reply.read()
            return content


@contextmanager
def running_server(rate: float, pieces: int) -> Iterator[Server]:
    """Run the server of this benchmark."""
    script = Path(__file__).with_name("server.py")
    argv = [sys.executable, "-P", str(script), str(rate), str(pieces)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Server(process.stdout.readline().strip(), process.pid)
        finally:
            process.kill()


async def save_chat(store: ConversationStore, chat: str, messages: int, model: str) -> None:
    """Save a chat of so many messages."""
    text = PARAGRAPH * (CHARACTERS // len(PARAGRAPH) + 1)
    parent = None
    for number in range(messages):
        role = "assistant" if number % 2 else "user"
        row = MessageRow(
            id=new_id(number),
            conversation_id=chat,
            parent_id=parent,
            depth=number + 1,
            message=Message(role, f"{number}. {text}"[:CHARACTERS]),
            state="complete",
            created_ms=number,
            updated_ms=number,
            settings=ConversationSettings(model=model),
        )
        store.put(row)
        parent = row.id
    await store.save()


async def ask(client: ChatClient, server: Server) -> Added:
    """Ask in a chat, and wait until it takes the next question."""
    began = time.monotonic()
    async with client.chat(QUESTION) as events:
        seen = [event async for event in events]
    ended = time.monotonic()
    if not isinstance(seen[-1], Finish):
        raise SystemExit(f"the question failed: {seen[-1]}")
    first_byte, last_sent = await anyio.to_thread.run_sync(server.noted)
    return first_byte - began, ended - last_sent


class BareSocket:
    """Sends a request and reads the answer to its end, on one connection."""

    def __init__(self, server: Server) -> None:
        self._server = server
        address = urlsplit(server.url)
        self._socket = socket.create_connection((address.hostname, address.port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> Added:
        """Send a request as it is."""
        began, end = time.monotonic(), b""
        self._socket.sendall(request)
        while not end.endswith(END):
            end = end[-len(END) :] + self._socket.recv(65536)
        ended = time.monotonic()
        first_byte, last_sent = self._server.noted()
        return first_byte - began, ended - last_sent

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()
