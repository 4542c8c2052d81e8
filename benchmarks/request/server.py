"""A server in a process of its own that answers in pieces, and notes when bytes came and went.

    python -P server.py RATE PIECES

Prints its address. It speaks Ollama's API and OpenAI's; `GET /noted` tells of the newest answer
when the first byte of its request came and its last byte was sent, on the machine's monotonic
clock, and `GET /sent` gives the request as it came.
"""

import json
import socket
import sys
import threading
import time
from collections.abc import Iterator

CHAT_PATHS = ("/api/chat", "/v1/chat/completions")
WORD = "word "
MODEL = "bench:latest"
CONTEXT = 1_000_000
_LISTED = {"name": MODEL, "model": MODEL, "size": 1, "context_length": CONTEXT}


class Noted:
    """The newest answer."""

    def __init__(self) -> None:
        self.first_byte = self.last_sent = 0.0
        self.request = b""


def ollama_pieces(pieces: int) -> Iterator[bytes]:
    """Yield the lines of an answer."""
    for _ in range(pieces):
        yield json.dumps({"model": MODEL, "message": {"content": WORD}, "done": False}).encode()
    end = {"model": MODEL, "message": {"content": ""}, "done": True, "done_reason": "stop"}
    yield json.dumps(end).encode()


def openai_pieces(pieces: int) -> Iterator[bytes]:
    """Yield the events of an answer."""
    for _ in range(pieces):
        yield b"data: " + json.dumps({"choices": [{"delta": {"content": WORD}}]}).encode()
    end = json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    yield b"data: " + end.encode() + b"\n\ndata: [DONE]"


def send_answer(connection: socket.socket, path: str, rate: float, pieces: int) -> float:
    """Send an answer in chunks, so many a second; return when the last byte was sent.

    The end of the transfer comes in a packet of its own, as from servers in Go. The time is taken
    just before it, since whoever reads it may ask for the time at once.
    """
    is_ollama = path == CHAT_PATHS[0]
    kind = b"application/x-ndjson" if is_ollama else b"text/event-stream"
    head = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ntransfer-encoding: chunked\r\n\r\n" % kind
    connection.sendall(head)
    due = time.monotonic()
    for piece in ollama_pieces(pieces) if is_ollama else openai_pieces(pieces):
        due += 1 / rate
        time.sleep(max(0.0, due - time.monotonic()))
        line = piece + (b"\n" if is_ollama else b"\n\n")
        connection.sendall(b"%x\r\n%b\r\n" % (len(line), line))
    return time.monotonic()


def small_reply(path: str, noted: Noted) -> bytes:
    """Return the body of any other reply."""
    if path == "/sent":
        return noted.request
    if path == "/noted":
        return json.dumps({"first_byte": noted.first_byte, "last_sent": noted.last_sent}).encode()
    if path == "/v1/models":
        listed = {"id": MODEL, "object": "model", "max_model_len": CONTEXT}
        return json.dumps({"object": "list", "data": [listed]}).encode()
    if path in ("/api/tags", "/api/ps"):
        return json.dumps({"models": [_LISTED]}).encode()
    if path == "/api/version":
        return b'{"version": "0.20.0"}'
    return b'{"capabilities": ["completion"]}' if path == "/api/show" else b""


def serve(connection: socket.socket, noted: Noted, rate: float, pieces: int) -> None:
    """Answer one connection until it is closed."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = b""
    while data := data or connection.recv(65536):
        first_byte = time.monotonic()
        while b"\r\n\r\n" not in data:
            data += connection.recv(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").lower().split("\r\n")
        size = next((int(one[15:]) for one in lines if one.startswith("content-length:")), 0)
        while len(body) < size:
            body += connection.recv(1 << 20)
        path, data = lines[0].split()[1], body[size:]
        if path in CHAT_PATHS:
            noted.first_byte, noted.request = first_byte, head + b"\r\n\r\n" + body[:size]
            noted.last_sent = send_answer(connection, path, rate, pieces)
            connection.sendall(b"0\r\n\r\n")
        else:
            reply = small_reply(path, noted)
            status = b"200 OK" if reply else b"404 Not Found"
            connection.sendall(b"HTTP/1.1 %b\r\ncontent-length: %d\r\n\r\n" % (status, len(reply)))
            connection.sendall(reply)


def main() -> None:
    """Serve until the process is ended."""
    rate, pieces, noted = float(sys.argv[1]), int(sys.argv[2]), Noted()
    with socket.create_server(("127.0.0.1", 0), backlog=16) as listening:
        sys.stdout.write(f"http://127.0.0.1:{listening.getsockname()[1]}\n")
        sys.stdout.flush()
        while True:
            connection, _ = listening.accept()
            args = (connection, noted, rate, pieces)
            threading.Thread(target=serve, args=args, daemon=True).start()


if __name__ == "__main__":
    main()
