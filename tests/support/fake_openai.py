"""A server that speaks chat completions well enough for OpenAI's own client.

It offers the model `tiny`. The prompt chooses what happens, see `scripts.py`. As a program:
`python -m tests.support.fake_openai`.
"""

import base64
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.support.http_server import FakeServer, Received, Reply, run_alone
from tests.support.scripts import CallText, ScriptWire

NO_KEY = {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": None}


@dataclass
class FakeOpenAI(FakeServer):
    key: str | None = None
    refuses: Mapping[str, str] = field(default_factory=dict)
    """Fields of a request, and the message that refuses each."""

    async def answer(self, request: Received, reply: Reply) -> object:
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return {"error": NO_KEY}, 401
        match request.method, request.path:
            case "GET", "/v1/models":
                entry = {"id": "tiny", "object": "model", "created": 1, "owned_by": "test"}
                return {"object": "list", "data": [entry]}
            case "POST", "/v1/chat/completions":
                return await self._chat(request.json(), reply)
            case "POST", "/v1/embeddings":
                return embeddings(request.json())
        return b"404 page not found", 404, "text/plain"

    async def _chat(self, body: Mapping[str, object], reply: Reply) -> object:
        if name := next(filter(body.__contains__, self.refuses), None):
            error = {"message": self.refuses[name], "type": "invalid_request_error", "param": name}
            return {"error": error | {"code": "unsupported_parameter"}}, 400
        if body.get("model") != "tiny":
            message = f"The model `{body.get('model')}` does not exist"
            return {"error": {"message": message, "code": "model_not_found"}}, 404
        await Wire(body, reply).play()
        return None


def embeddings(body: Mapping[str, object]) -> dict[str, object]:
    """Give vectors that say how long a text is and how it begins; in base64 where it is asked."""
    given = body["input"]
    texts = [str(text) for text in given] if isinstance(given, list) else [str(given)]
    data = []
    for index, text in enumerate(texts):
        vector = [float(len(text)), float(ord(text[0]) if text else 0)]
        raw = base64.b64encode(struct.pack("<2f", *vector)).decode()
        sent = raw if body.get("encoding_format") == "base64" else vector
        data.append({"object": "embedding", "index": index, "embedding": sent})
    tokens = sum(map(len, texts))
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": "tiny", "data": data[::-1], "usage": usage}


class Wire(ScriptWire):
    async def say(self, text: str) -> None:
        self._text += text
        await self._delta(content=text)

    async def think(self, text: str) -> None:
        self._thinking += text
        await self._delta(reasoning_content=text)

    async def call(self, *calls: CallText) -> None:
        """Send the calls in fragments that alternate, as parallel calls do."""
        self._calls = [called(number, *call) for number, call in enumerate(calls)]
        for number, (id_, name, _) in enumerate(calls):
            await self._delta(tool_calls=[called(number, id_, name, "")])
        for at in range(0, max(len(arguments) for _, _, arguments in calls), 3):
            for number, (_, _, arguments) in enumerate(calls):
                piece = {"index": number, "function": {"arguments": arguments[at : at + 3]}}
                await self._delta(tool_calls=[piece])

    async def fail(self, message: str) -> None:
        await self._event({"error": {"message": message, "type": "server_error"}})

    async def end(self, reason: str) -> None:
        usage = {"prompt_tokens": 7, "completion_tokens": self._tokens}
        usage["total_tokens"] = 7 + self._tokens
        if not self._streams:
            more = {"reasoning_content": self._thinking, "tool_calls": self._calls}
            message: dict[str, object] = {"role": "assistant", "content": self._text}
            message |= {key: value for key, value in more.items() if value}
            choice = {"index": 0, "message": message, "finish_reason": reason}
            whole = {"object": "chat.completion", "choices": [choice], "usage": usage}
            await self._reply.json(_FRAME | whole)
            return
        await self._event(_chunk({}, reason))
        options = self._body.get("stream_options")
        if isinstance(options, Mapping) and options.get("include_usage") is True:
            await self._event(_FRAME | {"choices": [], "usage": usage})
        await self.write(b"data: [DONE]\n\n")

    async def _delta(self, **delta: object) -> None:
        if self._streams:
            await self._event(_chunk(delta))

    async def _event(self, value: object) -> None:
        await self.write(b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n")


_FRAME: dict[str, object] = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "tiny",
}


def _chunk(delta: Mapping[str, object], reason: str | None = None) -> dict[str, object]:
    return _FRAME | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def called(number: int, id_: str, name: str, arguments: str) -> dict[str, object]:
    function = {"name": name, "arguments": arguments}
    return {"index": number, "id": id_, "type": "function", "function": function}


if __name__ == "__main__":
    run_alone(FakeOpenAI())
