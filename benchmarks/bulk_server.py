"""An Ollama-like server for large requests and large answers, in a process of its own.

Prints `URL u`, then for each chat request `ASKED bytes t` on the machine's monotonic clock, when
its last byte is there. The last message selects the answer: `prose N` is N characters in pieces of
a line, `smileys N` as many in pieces of twenty with some outside the first plane, which Python
stores in four bytes a character; anything else is answered with a word.
"""

import json
import re
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PIECES = {
    "prose": "Sixty-four bytes of an answer, with some **bold** and `code`.  \n\n",
    "smileys": "ab \N{GRINNING FACE}\n" * 4,
    "word": "Done.",
}
AT_ONCE = 50
"""Pieces that are written together."""


def tell(*words: object) -> None:
    """Print one line at once."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def line(**more: object) -> bytes:
    """Return a line of the stream as a chunk."""
    data = json.dumps({"model": "bulk", **more}).encode() + b"\n"
    return b"%x\r\n%b\r\n" % (len(data), data)


class Bulk(BaseHTTPRequestHandler):
    """Reads what comes and answers at full speed."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""

    def do_GET(self) -> None:
        """List the models."""
        names = ("bulk", "gpt-oss:20b")
        self._whole({"models": [{"name": name, "model": name, "size": 1} for name in names]})

    def do_POST(self) -> None:
        """Answer."""
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path != "/api/chat":
            self._whole({"capabilities": ["completion"], "details": {}, "model_info": {}})
            return
        tell("ASKED", len(body), time.monotonic())
        match = re.search(r"(prose|smileys) (\d+)", body[-500:].decode(errors="replace"))
        kind, size = (match[1], int(match[2])) if match else ("word", 1)
        self.send_response(200)
        self.send_header("content-type", "application/x-ndjson")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        piece = line(message={"role": "assistant", "content": PIECES[kind]}, done=False)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(-(-size // len(PIECES[kind]) // AT_ONCE)):
            self.wfile.write(piece * (AT_ONCE if match else 1))
        end = line(message={"role": "assistant", "content": ""}, done=True, done_reason="stop")
        self.wfile.write(end + b"0\r\n\r\n")

    def _whole(self, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bulk)
    tell("URL", f"http://127.0.0.1:{server.server_port}")
    server.serve_forever()
