"""A server that speaks chat completions well enough for OpenAI's own client.

It offers the model `tiny`. The prompt chooses what happens, see `scripts.py`. As a program:
`python -m tests.support.fake_openai`.
"""

import base64
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.http_server import FakeServer, Received, Reply, run_alone
from tests.support.scripts import ScriptWire

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
    def frames(self, step: str, *given: Any) -> Iterator[object]:
        match step, given:
            case "say", [text]:
                yield chunk({"content": text})
            case "think", [text]:
                yield chunk({"reasoning_content": text})
            case "call", calls:  # in fragments that alternate, as those of parallel calls do
                for number, (id_, name, _) in enumerate(calls):
                    yield chunk({"tool_calls": [called(number, id_, name, "")]})
                for at in range(0, max(len(arguments) for _, _, arguments in calls), 3):
                    for number, (_, _, arguments) in enumerate(calls):
                        piece = {"index": number, "function": {"arguments": arguments[at : at + 3]}}
                        yield chunk({"tool_calls": [piece]})
            case "fail", [message]:
                yield {"error": {"message": message, "type": "server_error"}}
            case "end", [reason]:
                yield chunk({}, reason)
                options = self._body.get("stream_options")
                if isinstance(options, Mapping) and options.get("include_usage") is True:
                    yield _FRAME | {"choices": [], "usage": self._usage()}
                yield None

    def complete(self, reason: str) -> object:
        calls = [called(number, *call) for number, call in enumerate(self._calls)]
        more = {"reasoning_content": self._thinking, "tool_calls": calls}
        message: dict[str, object] = {"role": "assistant", "content": self._text}
        message |= {key: value for key, value in more.items() if value}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        whole = {"object": "chat.completion", "choices": [choice], "usage": self._usage()}
        return _FRAME | whole

    def _usage(self) -> Mapping[str, int]:
        usage = {"prompt_tokens": 7, "completion_tokens": self._tokens}
        return usage | {"total_tokens": 7 + self._tokens}


_FRAME: dict[str, object] = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "tiny",
}


def chunk(delta: Mapping[str, object], reason: str | None = None) -> dict[str, object]:
    return _FRAME | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def called(number: int, id_: str, name: str, arguments: str) -> dict[str, object]:
    function = {"name": name, "arguments": arguments}
    return {"index": number, "id": id_, "type": "function", "function": function}


if __name__ == "__main__":
    run_alone(FakeOpenAI())
