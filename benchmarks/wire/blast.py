"""A server that sends a whole answer at once, one HTTP chunk a piece: the parsing alone is left."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from benchmarks.terminal.answer import pieces
from benchmarks.terminal.backend.wire import OllamaWire, OpenAIWire, Wire

OLLAMA_PATH, OPENAI_PATH = "/api/chat", "/v1/chat/completions"


def response(wire: Wire, count: int) -> bytes:
    """Return the bytes of a whole answer of so many pieces."""
    parts = [*wire.begin(), *map(wire.token, pieces(count)), *wire.end(count)]
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {wire.content_type}\r\ntransfer-encoding: chunked\r\n"
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
    return head.encode() + b"\r\n" + chunks + b"0\r\n\r\n"


@contextmanager
def blasting(count: int) -> Iterator[str]:
    """Serve answers of so many pieces; return the address."""
    counted = {"stream_options": {"include_usage": True}}
    bodies = {
        OLLAMA_PATH: response(OllamaWire({}), count),
        OPENAI_PATH: response(OpenAIWire(counted), count),
    }
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_accept, args=(listener, bodies), daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def _accept(listener: socket.socket, bodies: Mapping[str, bytes]) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:  # closed: all is measured
            return
        threading.Thread(target=_serve, args=(connection, bodies), daemon=True).start()


def _serve(connection: socket.socket, bodies: Mapping[str, bytes]) -> None:
    with connection, connection.makefile("rb") as stream:
        path = stream.readline().split(b" ")[1].decode()
        length = 0
        while (line := stream.readline().strip().lower()) != b"":
            name, _, value = line.partition(b":")
            length = int(value) if name == b"content-length" else length
        stream.read(length)
        connection.sendall(bodies[path])
        stream.read(1)  # until the client hangs up
