"""The server's side of a connection: one thread each, so that it notices at once who leaves."""

import json
import select
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from benchmarks.terminal.answer import MARKED
from benchmarks.terminal.backend.job import Job, job_of, parse_job
from benchmarks.terminal.backend.wire import (
    MODEL,
    STAMP,
    OllamaWire,
    OpenAIWire,
    RawWire,
    ResponsesWire,
    Wire,
    dumps,
)

SIZE = 4_700_000_000
WINDOW = 10_000_000
"""More than any document here takes: no program may refuse one."""
_DETAILS = {
    "parent_model": "",
    "format": "gguf",
    "family": "llama",
    "families": ["llama"],
    "parameter_size": "8.0B",
    "quantization_level": "Q4_K_M",
}
_LISTED = {
    "name": MODEL,
    "model": MODEL,
    "modified_at": STAMP,
    "size": SIZE,
    "digest": "0" * 64,
    "details": _DETAILS,
}
_RUNNING = {**_LISTED, "expires_at": STAMP, "size_vram": SIZE, "context_length": WINDOW}
_SHOWN = {
    "license": "",
    "modelfile": f"FROM {MODEL}",
    "parameters": "",
    "template": "{{ .Prompt }}",
    "details": _DETAILS,
    "modified_at": STAMP,
    "capabilities": ["completion", "tools"],
    "model_info": {
        "general.architecture": "llama",
        "general.parameter_count": 8_000_000_000,
        "llama.context_length": WINDOW,
        "llama.embedding_length": 4096,
    },
}
_OPENAI = {
    "id": MODEL,
    "object": "model",
    "created": 1767225600,
    "owned_by": "fake",
    "max_model_len": WINDOW,
}
ASIDE = ["Benchmark", " chat", " title"]
LOG_PATH = "/bench/log"


def fact(path: str) -> object | None:
    """Return the answer to a question that is not for text; None when there is none."""
    answers: dict[str, object] = {
        "/": "Ollama is running",
        "/api/version": {"version": "0.12.0"},
        "/api/tags": {"models": [_LISTED]},
        "/api/ps": {"models": [_RUNNING]},
        "/api/show": _SHOWN,
        "/v1/models": {"object": "list", "data": [_OPENAI]},
    }
    return answers.get(path)


@dataclass(slots=True)
class Record:
    """One answer; times are seconds of `time.perf_counter`, one for all processes."""

    ident: int
    path: str
    asked: float
    first: float | None = None
    last: float | None = None
    """When the newest piece was sent."""
    gone: float | None = None
    """When the client was seen to have hung up before the end."""
    sent: int = 0
    complete: bool = False
    words: dict[str, float] = field(default_factory=dict)
    """When each marked word was sent."""


class BenchServer(ThreadingHTTPServer):
    """The server and what it noted."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.records: list[Record] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore disconnects: they are measured."""


class Connection(BaseHTTPRequestHandler):
    """One kept connection of a client."""

    server: BenchServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 0

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""

    def do_HEAD(self) -> None:
        self._whole(200, b"", "text/plain")

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == LOG_PATH:
            self._json([asdict(record) for record in self.server.records])
        elif url.path == "/raw":
            job = parse_job(" ".join(f"{key}={value}" for key, value in parse_qsl(url.query)))
            self._stream(job, RawWire(), framed=False)
        else:
            self._fact(url.path)

    def do_POST(self) -> None:
        body = self._body()
        request = json.loads(body) if body.startswith(b"{") else {}
        path = urlsplit(self.path).path
        wire = wire_for(path, request)
        if wire is None:
            self._fact(path)
            return
        job = job_of(messages_of(path, request), has_tools=bool(request.get("tools")))
        if request.get("stream", path.startswith("/api/")):
            self._stream(job, wire)
        else:
            self._json(wire.whole("".join(job.pieces() if job else ASIDE)))

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _fact(self, path: str) -> None:
        reply = fact(path.rstrip("/") or "/")
        if isinstance(reply, str):
            self._whole(200, reply.encode(), "text/plain")
        elif reply is not None:
            self._json(reply)
        else:
            self._json({"error": {"message": f"no such path: {path}"}}, 404)

    def _json(self, value: object, status: int = 200) -> None:
        self._whole(status, dumps(value), "application/json")

    def _whole(self, status: int, data: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, job: Job | None, wire: Wire, *, framed: bool = True) -> None:
        record = Record(job.ident if job else 0, self.path, time.perf_counter())
        self.server.records.append(record)
        self.send_response(200)
        self.send_header("content-type", wire.content_type)
        if framed:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("connection", "close")
        self.end_headers()
        try:
            Sender(self.connection, wire, record, framed=framed).send(job)
        except OSError:
            record.gone = record.gone or time.perf_counter()
        self.close_connection = self.close_connection or not (framed and record.complete)


class Sender:
    """Sends one answer at its rate."""

    def __init__(
        self, connection: socket.socket, wire: Wire, record: Record, *, framed: bool
    ) -> None:
        self._connection = connection
        self._wire = wire
        self._record = record
        self._framed = framed

    def send(self, job: Job | None) -> None:
        """Send the answer to its end, or until the client leaves."""
        pieces, rate = (job.pieces(), job.rate) if job else (ASIDE, 0.0)
        for data in self._wire.begin():
            self._write(data)
        start = self._record.first = time.perf_counter()
        for at, piece in enumerate(pieces):
            due = start + at / rate if rate else 0.0
            if self._left_before(due):
                self._record.gone = time.perf_counter()
                return
            # before it is written: who reads it may be scheduled before this process is again
            self._record.last = time.perf_counter()
            if job and job.every and (word := MARKED.search(piece)):
                self._record.words[word[0]] = self._record.last
            self._write(self._wire.token(piece))
            self._record.sent = at + 1
        for data in self._wire.end(len(pieces)):
            self._write(data)
        if self._framed:
            self._connection.sendall(b"0\r\n\r\n")
        self._record.complete = True

    def _write(self, data: bytes) -> None:
        framed = b"%x\r\n%b\r\n" % (len(data), data) if self._framed else data
        self._connection.sendall(framed)

    def _left_before(self, due: float) -> bool:
        """Wait until a piece is due; true at once when the client hung up."""
        readable, _, _ = select.select([self._connection], [], [], _until(due))
        if not readable:
            return False
        if not self._connection.recv(1, socket.MSG_PEEK):
            return True
        time.sleep(_until(due))  # the client asked for more already
        return False


def _until(due: float) -> float:
    return max(0.0, due - time.perf_counter())


def wire_for(path: str, request: Mapping[str, object]) -> Wire | None:
    """Return the words of the API that a path belongs to."""
    match path:
        case "/api/chat" | "/api/generate":
            return OllamaWire(request, generates=path.endswith("generate"))
        case "/v1/chat/completions":
            return OpenAIWire(request)
        case "/v1/responses":
            return ResponsesWire(request)
        case _:
            return None


def messages_of(path: str, request: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return a request's conversation, whatever the API calls it."""
    messages = request.get("input" if path == "/v1/responses" else "messages")
    if isinstance(messages, list):
        rules = {"role": "system", "content": request.get("instructions") or ""}
        return [rules, *(message for message in messages if isinstance(message, dict))]
    return [{"role": "user", "content": messages or request.get("prompt") or ""}]
