"""An Ollama on a loopback port that says what a test wants, and sees when it is left."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Line = dict[str, Any]


def text_line(text: str, **more: Any) -> Line:
    return {"message": {"role": "assistant", "content": text, **more}, "done": False}


DONE: Line = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}


def is_left(connection: socket.socket) -> bool:
    """Wait until the client hangs up; False when it does not within ten seconds."""
    connection.settimeout(10)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


class FakeOllama:
    """Answers each chat with `lines`; with `hangs` it then waits until the client leaves."""

    def __init__(self) -> None:
        self.lines: list[Line] = [text_line("Hello"), text_line(" there."), DONE]
        self.capabilities: list[str] | None = ["completion"]
        self.models = ["tiny:1b"]
        self.hangs = False
        self.requests: list[dict[str, Any]] = []
        self.began = threading.Event()
        self.left = threading.Event()
        self.closing = threading.Event()
        self.url = ""

    @contextmanager
    def serving(self) -> Iterator["FakeOllama"]:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_arguments: object) -> None:
                return

            def do_GET(self) -> None:
                models = [
                    {"name": name, "model": name, "size": 1_234_567, "details": {}}
                    for name in fake.models
                ]
                body = {"/api/tags": {"models": models}, "/api/version": {"version": "0.12.0"}}
                self._whole(body.get(self.path, {"models": []}))

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                asked = json.loads(self.rfile.read(length) or b"{}")
                if self.path != "/api/chat":
                    known = {} if fake.capabilities is None else {"capabilities": fake.capabilities}
                    self._whole({**known, "model_info": {}})
                    return
                fake.requests.append(
                    {"headers": {k.lower(): v for k, v in self.headers.items()}, **asked}
                )
                self._stream()

            def _whole(self, body: Any) -> None:
                data = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _stream(self) -> None:
                self.send_response(200)
                self.send_header("content-type", "application/x-ndjson")
                self.end_headers()
                for line in fake.lines:
                    self.wfile.write(json.dumps({"model": "tiny:1b", **line}).encode() + b"\n")
                self.wfile.flush()
                fake.began.set()
                if fake.hangs and is_left(self.connection):
                    fake.left.set()
                self.close_connection = True

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
