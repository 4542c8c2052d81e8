"""An Ollama-like server that answers forever and tells when a connection is gone.

Prints `URL u`, then for each request `FIRST t` and `GONE t` on the machine's monotonic clock.
"""

import json
import re
import selectors
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAUSE_S = 0.02


def tell(word: str, value: object) -> None:
    """Print one line at once."""
    sys.stdout.write(f"{word} {value}\n")
    sys.stdout.flush()


class Endless(BaseHTTPRequestHandler):
    """One model that never stops."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""

    def do_GET(self) -> None:
        """List the model."""
        self._whole({"models": [{"name": "endless", "model": "endless", "size": 1}]})

    def do_POST(self) -> None:
        """Stream until the client hangs up."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != "/api/chat":
            self._whole({"capabilities": ["completion"], "details": {}, "model_info": {}})
            return
        number = re.findall(r"\d+", body["messages"][-1]["content"])[-1]
        self.send_response(200)
        self.send_header("content-type", "application/x-ndjson")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self._stream(f"tick{number}x ")

    def _stream(self, text: str) -> None:
        line = json.dumps(
            {"message": {"role": "assistant", "content": text}, "done": False}
        ).encode()
        chunk = b"%x\r\n%b\n\r\n" % (len(line) + 1, line)
        with selectors.DefaultSelector() as watched:
            watched.register(self.connection, selectors.EVENT_READ)
            first = True
            while True:
                try:
                    self.connection.sendall(chunk)
                    if first:
                        tell("FIRST", time.monotonic())
                        first = False
                    if watched.select(PAUSE_S) and not self.connection.recv(1024, socket.MSG_PEEK):
                        break
                except OSError:
                    break
        tell("GONE", time.monotonic())
        self.close_connection = True

    def _whole(self, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endless)
    tell("URL", f"http://127.0.0.1:{server.server_port}")
    server.serve_forever()
