"""An Ollama that says what a test wants, and sees when it is left."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio

from tests.support.http_server import FakeServer, Received, Reply, in_thread

Line = dict[str, Any]


def text_line(text: str, **more: Any) -> Line:
    return {"message": {"role": "assistant", "content": text, **more}, "done": False}


DONE: Line = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}


class FakeOllama(FakeServer):
    """Answers each chat with `lines`; with `hangs` it then waits until the client leaves."""

    def __init__(self) -> None:
        self.lines: list[Line] = [text_line("Hello"), text_line(" there."), DONE]
        self.capabilities: list[str] | None = ["completion"]
        self.models = ["tiny:1b"]
        self.hangs = False
        self.requests: list[dict[str, Any]] = []
        self.left = threading.Event()
        self.url = ""

    @contextmanager
    def serving(self) -> Iterator["FakeOllama"]:
        with in_thread(self) as server:
            self.url = server.url
            yield self

    async def answer(self, request: Received, reply: Reply) -> object:
        match request.method, request.path:
            case "GET", "/api/tags":
                return {"models": [self._listed(name) for name in self.models]}
            case "GET", "/api/version":
                return {"version": "0.12.0"}
            case "GET", _:
                return {"models": []}
            case _, "/api/chat":
                self.requests.append({"headers": request.headers, **request.json()})
                await self._chat(reply)
                return None
        known = {} if self.capabilities is None else {"capabilities": self.capabilities}
        return {**known, "model_info": {}}

    def _listed(self, name: str) -> dict[str, object]:
        return {"name": name, "model": name, "size": 1_234_567, "details": {}}

    async def _chat(self, reply: Reply) -> None:
        await reply.start(content_type="application/x-ndjson")
        for line in self.lines:
            await reply.write(json.dumps({"model": "tiny:1b", **line}).encode() + b"\n")
        if self.hangs:
            try:
                await anyio.sleep_forever()
            finally:
                self.left.set()
