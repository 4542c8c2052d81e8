"""The transport over a program's pipes, as the SDK wants it, which contains what the SDK does not.

Lines are bounded, bytes that are not UTF-8 are replaced, floods are slowed down, and what is no
message goes into the log.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCNotification, jsonrpc_message_adapter

from ollm_tui.decode.counted import size_text
from ollm_tui.lazy import lazy_re
from ollm_tui.mcp.log import FloodLimit, ServerLog
from ollm_tui.mcp.process import PIECE, ServerProcess

MAX_LINE_LENGTH: Final = 4 * 1024 * 1024
_IN_THREAD: Final = 256 * 1024
"""Bytes of a message from which on it is parsed beside the event loop."""
_FLOOD_PAUSE_S: Final = 0.002
_QUEUED: Final = 64
_ANSWERED: Final = lazy_re(rb'\A\s*\{[^{}]{0,200}?"id"\s*:\s*("[^"\\]{1,100}"|[0-9]{1,18})')

Incoming: TypeAlias = SessionMessage | Exception
Streams: TypeAlias = tuple[
    MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]
]


class LineReader:
    """Splits output into lines; of one that is too long, only the beginning is kept."""

    def __init__(self, longest: int = MAX_LINE_LENGTH) -> None:
        self._longest = longest
        self._open = bytearray()
        self._size = 0

    def feed(self, data: bytes) -> list[tuple[bytes, bool]]:
        """Return the lines that end within the next bytes, and whether each is whole."""
        *ended, rest = data.split(b"\n")
        lines = []
        for part in ended:
            self._take(part)
            lines.append((bytes(self._open), self._size <= self._longest))
            self._open, self._size = bytearray(), 0
        self._take(rest)
        return lines

    def _take(self, data: bytes) -> None:
        self._size += len(data)
        self._open += data[: max(0, self._longest - len(self._open))]


@asynccontextmanager
async def stdio_transport(
    process: ServerProcess, log: ServerLog, ended: anyio.Event
) -> AsyncIterator[Streams]:
    """Connect the streams of a session with a process; `ended` is set when it writes no more."""
    incoming, received = anyio.create_memory_object_stream[Incoming](0)
    # Room for a few: a server that does not read must not hold up who cancels a call.
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](_QUEUED)
    async with anyio.create_task_group() as group:

        async def receive() -> None:
            await _receive(process, incoming, log)
            ended.set()

        group.start_soon(receive)
        group.start_soon(_send, process, to_send)
        group.start_soon(process.read_errors, log.feed)
        try:
            yield received, outgoing
        finally:
            group.cancel_scope.cancel()
            for stream in (incoming, received, outgoing, to_send):
                stream.close()


async def _receive(
    process: ServerProcess, incoming: MemoryObjectSendStream[Incoming], log: ServerLog
) -> None:
    reader, limit = LineReader(), FloodLimit(log)
    with incoming:
        while data := await process.read():
            for line, is_whole in reader.feed(data):
                message = await _message(line, log) if is_whole else _refusal(line, log)
                if message is None:
                    continue
                if not isinstance(message, JSONRPCNotification) or limit.lets_through():
                    await incoming.send(SessionMessage(message))
            await anyio.sleep(_FLOOD_PAUSE_S if len(data) == PIECE else 0)


async def _send(process: ServerProcess, to_send: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async for item in to_send:
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            await process.write(text.encode("utf-8", "replace") + b"\n")
        except OSError:
            return  # its output ends too, which ends the session


async def _message(line: bytes, log: ServerLog) -> JSONRPCMessage | None:
    if not line.strip():
        return None
    if len(line) > _IN_THREAD:
        message = await anyio.to_thread.run_sync(_parsed, line)
    else:
        message = _parsed(line)
    if message is None:
        log.add(f"Not a message: {line[:200].decode('utf-8', 'replace')}")
    return message


def _parsed(line: bytes) -> JSONRPCMessage | None:
    try:
        return jsonrpc_message_adapter.validate_json(line.decode("utf-8", "replace"), by_name=False)
    except (ValueError, RecursionError):
        return None


def _refusal(line: bytes, log: ServerLog) -> JSONRPCMessage | None:
    """Return an error in place of an answer that is too long, so that its call does not wait."""
    reason = f"The answer is longer than {size_text(MAX_LINE_LENGTH)}."
    log.add(reason)
    match = _ANSWERED.match(line[:1_000])
    if match is None:
        return None
    error = {"code": -32603, "message": reason}
    answer = {"jsonrpc": "2.0", "id": json.loads(match[1]), "error": error}
    return JSONRPCError.model_validate(answer)
