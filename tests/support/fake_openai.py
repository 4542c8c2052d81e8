"""A server that speaks chat completions well enough for OpenAI's own client.

It offers the model `tiny`. The prompt chooses what happens, see `scripts.py`. With `FAKE_KEY` in
the environment a key is asked for. As a program: `python -m tests.support.fake_openai`.
"""

import base64
import json
import os
import struct
from collections.abc import Mapping

from tests.support import scripts
from tests.support.http_server import Handler, Received, Reply, run_alone
from tests.support.script_wire import CallTexts, ScriptWire

NO_KEY = {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": None}


def fake_openai(key: str | None = None, refuses: Mapping[str, str] | None = None) -> Handler:
    """Make a handler; `refuses` maps request fields to the message that refuses them."""

    async def answer(request: Received, reply: Reply) -> None:
        if key and request.headers.get("authorization") != f"Bearer {key}":
            await reply.json({"error": NO_KEY}, 401)
            return
        match request.method, request.path:
            case "GET", "/v1/models":
                entry = {"id": "tiny", "object": "model", "created": 1, "owned_by": "test"}
                await reply.json({"object": "list", "data": [entry]})
            case "POST", "/v1/chat/completions":
                await chat(request, reply, refuses or {})
            case "POST", "/v1/embeddings":
                await embed(request, reply)
            case _:
                await reply.whole(b"404 page not found", 404, "text/plain")

    return answer


async def chat(request: Received, reply: Reply, refuses: Mapping[str, str]) -> None:
    body = request.json()
    for name, message in refuses.items():
        if name in body:
            error = {"message": message, "type": "invalid_request_error", "param": name}
            await reply.json({"error": error | {"code": "unsupported_parameter"}}, 400)
            return
    if body.get("model") != "tiny":
        message = f"The model `{body.get('model')}` does not exist"
        await reply.json({"error": {"message": message, "code": "model_not_found"}}, 404)
        return
    await Wire(body, reply).play(scripts.last_prompt(body.get("messages")))


async def embed(request: Received, reply: Reply) -> None:
    """Give vectors that say how long a text is and how it begins; in base64 where it is asked."""
    body = request.json()
    given = body["input"]
    texts = [str(text) for text in given] if isinstance(given, list) else [str(given)]
    packed = body.get("encoding_format") == "base64"
    data = []
    for index, text in enumerate(texts):
        vector = [float(len(text)), float(ord(text[0]) if text else 0)]
        raw = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
        data.append({"object": "embedding", "index": index, "embedding": raw if packed else vector})
    tokens = sum(len(text) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    listing = {"object": "list", "model": "tiny", "data": data[::-1], "usage": usage}
    await reply.json(listing)


class Wire(ScriptWire):
    """Steps of a script to events, or to one object."""

    content_type = "text/event-stream"

    def __init__(self, body: Mapping[str, object], reply: Reply) -> None:
        super().__init__(reply, streams=body.get("stream") is True)
        options = body.get("stream_options")
        self._counts = isinstance(options, Mapping) and options.get("include_usage") is True
        self._text = self._thinking = ""
        self._calls: list[object] = []

    async def say(self, text: str) -> None:
        self._text += text
        await self._delta(content=text)

    async def think(self, text: str) -> None:
        self._thinking += text
        await self._delta(reasoning_content=text)

    async def call(self, calls: CallTexts) -> None:
        """Send the calls in fragments that alternate, as parallel calls do."""
        self._calls = [_call(number, *call) for number, call in enumerate(calls)]
        for number, (id_, name, _) in enumerate(calls):
            await self._delta(tool_calls=[_call(number, id_, name, "")])
        longest = max(len(arguments) for _, _, arguments in calls)
        for at in range(0, longest, 3):
            for number, (_, _, arguments) in enumerate(calls):
                piece = {"index": number, "function": {"arguments": arguments[at : at + 3]}}
                await self._delta(tool_calls=[piece])

    async def fail(self, message: str) -> None:
        await self._event({"error": {"message": message, "type": "server_error"}})

    async def end(self, reason: str) -> None:
        usage = {"prompt_tokens": 7, "completion_tokens": self._tokens}
        usage["total_tokens"] = 7 + self._tokens
        if not self._streams:
            await self._reply.json(self._whole(reason) | {"usage": usage})
            return
        await self._event(self._chunk({}, reason))
        if self._counts:
            await self._event(_FRAME | {"choices": [], "usage": usage})
        await self.write(b"data: [DONE]\n\n")

    def _whole(self, reason: str) -> dict[str, object]:
        message: dict[str, object] = {"role": "assistant", "content": self._text}
        if self._thinking:
            message["reasoning_content"] = self._thinking
        if self._calls:
            message["tool_calls"] = self._calls
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return _FRAME | {"object": "chat.completion", "choices": [choice]}

    async def _delta(self, **delta: object) -> None:
        if self._streams:
            await self._event(self._chunk(delta))

    def _chunk(self, delta: Mapping[str, object], reason: str | None = None) -> dict[str, object]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return _FRAME | {"choices": [choice]}

    async def _event(self, value: object) -> None:
        await self.write(b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n")


_FRAME: dict[str, object] = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1,
    "model": "tiny",
}


def _call(number: int, id_: str, name: str, arguments: str) -> dict[str, object]:
    function = {"name": name, "arguments": arguments}
    return {"index": number, "id": id_, "type": "function", "function": function}


if __name__ == "__main__":
    run_alone(fake_openai(os.environ.get("FAKE_KEY")))
