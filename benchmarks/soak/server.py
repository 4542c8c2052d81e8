"""An Ollama-like server whose answer each prompt chooses: `t17 plain 1200` and so on.

Prints `URL u`, and for each prompt `ASKED n` when it is there and `ENDED n` when its answer is
over, by whichever side. A prompt asks for:

* `plain N`: N characters of Markdown
* `endless`: text as long as the client reads, three seconds at most
* `tool N`: a call of the calculator, then N characters
* `cut`, `error`, `garbage`: a few words, then the connection is closed, the server fails in the
  middle of the stream, or sends what is no JSON
"""

import json
import random
import re
import selectors
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODEL = "soak"
ENDLESS_S = 3.0
PAUSE_S = 0.002
PIECE = 48
PARAGRAPHS = (
    "## A heading with `code`\n\n",
    "Some **bold** words, a [link](https://example.org/page) and a longer line of plain prose.\n\n",
    "- one point\n- another point, with *stress*\n- a third\n\n",
    "```python\ndef answer(question: str) -> int:\n    return len(question) * 2\n```\n\n",
    "| name | size |\n| --- | ---: |\n| tiny | 1 |\n| small | 20 |\n\n",
    "> What is quoted stays quoted — even with “marks” and ümläuts.\n\n",
)


def tell(word: str, value: object) -> None:
    """Print one line at once, whole, from any thread."""
    sys.stdout.write(f"{word} {value}\n")
    sys.stdout.flush()


def markdown(number: int, size: int) -> str:
    """Return an answer of that length, the same for the same number."""
    chance = random.Random(number)
    text = f"Answer {number}. "
    while len(text) < size:
        text += chance.choice(PARAGRAPHS)
    return text[:size]


class Soaked(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""

    def do_GET(self) -> None:
        """List the model, with room for every chat of the session."""
        model = {"name": MODEL, "model": MODEL, "size": 1, "context_length": 1_000_000}
        self._whole({"models": [model]})

    def do_POST(self) -> None:
        """Answer as the newest prompt commands."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != "/api/chat":
            info = {"general.architecture": "soak", "soak.context_length": 1_000_000}
            capabilities = ["completion", "tools"]
            self._whole({"capabilities": capabilities, "details": {}, "model_info": info})
            return
        messages = body["messages"]
        prompt = [m["content"] for m in messages if m["role"] == "user"][-1]
        parts = re.findall(r"t(\d+) (\w+) (\d+)", prompt)[-1]
        number, kind, size = int(parts[0]), parts[1], int(parts[2])
        if kind == "tool" and messages[-1]["role"] == "tool":
            kind = "plain"
        else:
            tell("ASKED", number)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self._answer(kind, number, size)
        except OSError:
            self.close_connection = True
        if kind != "tool":
            tell("ENDED", number)

    def _answer(self, kind: str, number: int, size: int) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/x-ndjson")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        text = markdown(number, size)
        for piece in self._endless(text) if kind == "endless" else _pieces(text):
            self._say({"message": {"role": "assistant", "content": piece}, "done": False})
            time.sleep(PAUSE_S)
        match kind:
            case "cut":
                self.close_connection = True
                return
            case "error":
                self._say({"error": f"model runner has crashed in turn {number}"})
            case "garbage":
                self._chunk(b"}{ \xff\xfe \x1b[2J no JSON at all\n" * 5)
                self.close_connection = True
                return
            case "tool":
                function = {"name": "calculate", "arguments": {"expression": f"{number} * 2"}}
                call = {"id": f"c{number}", "function": function}
                message = {"role": "assistant", "content": "", "tool_calls": [call]}
                self._say({"message": message, "done": False})
        if kind != "error":
            counts = {"prompt_eval_count": 100, "eval_count": max(1, size // 4)}
            self._say({"message": {"content": ""}, "done": True, "done_reason": "stop", **counts})
        self.wfile.write(b"0\r\n\r\n")

    def _endless(self, text: str) -> Iterator[str]:
        end = time.monotonic() + ENDLESS_S
        with selectors.DefaultSelector() as watched:
            watched.register(self.connection, selectors.EVENT_READ)
            while time.monotonic() < end:
                for piece in _pieces(text):
                    if watched.select(0) and not self.connection.recv(1, socket.MSG_PEEK):
                        raise ConnectionResetError
                    yield piece

    def _say(self, value: Mapping[str, object]) -> None:
        self._chunk(json.dumps({"model": MODEL, **value}).encode() + b"\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _whole(self, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class QuietServer(ThreadingHTTPServer):
    """Ignores clients that disconnect."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent."""


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + PIECE] for at in range(0, len(text), PIECE))


if __name__ == "__main__":
    server = QuietServer(("127.0.0.1", 0), Soaked)
    tell("URL", f"http://127.0.0.1:{server.server_port}")
    server.serve_forever()
