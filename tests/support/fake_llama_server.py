"""A small program with the options of llama-server, for tests: it says what it was given.

`write` puts it somewhere as an executable. It writes its arguments and the variables that concern
it into `seen.json` beside itself, is not ready at the first look, and answers every chat.
"""

import http.server
import json
import os
import signal
import sys
import textwrap
from pathlib import Path

FLAGS = {
    *(
        "--host",
        "--port",
        "--parallel",
        "--model",
        "--alias",
        "--ctx-size",
        "--threads",
        "--threads-batch",
    ),
    *("--n-gpu-layers", "--cache-type-k", "--cache-type-v", "--flash-attn", "--mmproj"),
    *("--lora", "--model-draft", "--spec-draft-n-max", "--chat-template"),
}
SWITCHES = {"--jinja", "--no-warmup", "--no-webui"}
REPLY = "I am the other engine."
DEVICES = """\
Available devices:
  CUDA0: GeForce (8192 MiB, 8000 MiB free)
"""


def write(
    path: Path,
    *,
    devices: str = DEVICES,
    log: str = "",
    ends: int | None = None,
    robbed: bool = False,
) -> Path:
    """Write the program; `log` is printed first, and `ends` is what it ends with at once.

    If it is `robbed`, another program, which asks for no key, has its port at the first start.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    seen = str(path.parent / "seen.json")
    path.write_text(
        textwrap.dedent(f"""\
            #!{sys.executable} -IS
            import runpy, sys
            sys.path[:0] = {sys.path!r}
            run = runpy.run_path({__file__!r})
            run["main"]({seen!r}, {devices!r}, {log!r}, {ends!r}, {robbed!r})
            """)
    )
    path.chmod(0o755)
    return path


def main(seen: str, devices: str, log: str, ends: int | None, robbed: bool) -> None:
    """Be llama-server."""
    if "--list-devices" in sys.argv:
        print(devices, end="")  # noqa: T201
        return
    arguments = _read(sys.argv[1:])
    kept = ("LLAMA_", "OLLM_", "OPENAI_", "HF_")
    variables = {n: text for n, text in os.environ.items() if n.startswith(kept)}
    Path(seen).write_text(
        json.dumps({"arguments": arguments, "variables": variables, "pid": os.getpid()})
    )
    print(log, file=sys.stderr, flush=True)  # noqa: T201
    if ends is not None:
        sys.exit(ends)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(str(arguments["--port"]))), _Handler)
    robber = Path(seen).with_name("robber")
    if robber.exists():
        os.kill(int(robber.read_text()), signal.SIGKILL)
    elif robbed and (pid := os.fork()):
        robber.write_text(str(pid))
        signal.pause()
    elif robbed:
        signal.alarm(30)
        _Handler.wants_key = False
    server.serve_forever()


def _read(words: list[str]) -> dict[str, object]:
    given: dict[str, object] = {}
    while words:
        word = words.pop(0)
        if word in SWITCHES:
            given[word] = True
        elif word in FLAGS:
            given[word] = words.pop(0)
        else:
            print(f"error: invalid argument: {word}", file=sys.stderr)  # noqa: T201
            sys.exit(1)
    return given


class _Handler(http.server.BaseHTTPRequestHandler):
    looks = 0
    wants_key = True

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        if not self._is_allowed():
            self._send(401, b"{}", "application/json")
            return
        type(self).looks += 1
        self._send(200 if self.looks > 1 else 503, b'{"status":"ok"}', "application/json")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        if not self._is_allowed():
            self._send(401, b"{}", "application/json")
            return
        reply = REPLY if self.wants_key else "I am a stranger."
        chunks = [
            {"delta": {"role": "assistant", "content": reply}, "finish_reason": None, "index": 0},
            {"delta": {}, "finish_reason": "stop", "index": 0},
        ]
        events = [json.dumps({"choices": [chunk]}) for chunk in chunks]
        text = "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"])
        self._send(200, text.encode(), "text/event-stream")

    def _is_allowed(self) -> bool:
        key = os.environ["LLAMA_API_KEY"]
        return not self.wants_key or self.headers.get("authorization") == f"Bearer {key}"

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
