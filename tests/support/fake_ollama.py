"""A server that speaks Ollama's API well enough for Ollama's own client.

Models: `tiny:latest` (text, tools) and `thinker:latest` (thinking too). The prompt chooses what
happens, see `scripts.py`. As a program: `python -m tests.support.fake_ollama`.
"""

import json

from tests.support import scripts
from tests.support.http_server import Received, Reply, run_alone
from tests.support.script_wire import CallTexts, ScriptWire

MODELS = {
    "tiny:latest": ["completion", "tools"],
    "thinker:latest": ["completion", "tools", "thinking"],
}
CREATED = "2026-01-02T03:04:05.000000Z"
DETAILS = {
    "parent_model": "",
    "format": "gguf",
    "family": "tiny",
    "families": ["tiny"],
    "parameter_size": "1M",
    "quantization_level": "Q4_0",
}


async def fake_ollama(request: Received, reply: Reply) -> None:
    """Answer one request."""
    match request.method, request.path:
        case "GET", "/":
            await reply.whole(b"Ollama is running", content_type="text/plain; charset=utf-8")
        case "GET", "/api/version":
            await reply.json({"version": "0.12.0"})
        case "GET", "/api/tags":
            await reply.json({"models": [listed(name) for name in MODELS]})
        case "GET", "/api/ps":
            running = {"expires_at": CREATED, "size_vram": 1000, "context_length": 4096}
            await reply.json({"models": [listed("tiny:latest") | running]})
        case "POST", "/api/show":
            await show(request, reply)
        case "POST", "/api/chat":
            await chat(request, reply)
        case _:
            await reply.whole(b"404 page not found", 404, "text/plain")


def listed(name: str) -> dict[str, object]:
    return {
        "name": name,
        "model": name,
        "modified_at": CREATED,
        "size": 1000,
        "digest": "ab" * 32,
        "details": DETAILS,
    }


def known(name: object) -> str | None:
    full = name if isinstance(name, str) and ":" in name else f"{name}:latest"
    return full if full in MODELS else None


async def show(request: Received, reply: Reply) -> None:
    asked = request.json()
    name = known(asked.get("model") or asked.get("name"))
    if name is None:
        await reply.json({"error": f"model '{asked.get('model')}' not found"}, 404)
        return
    await reply.json(
        {
            "parameters": 'num_ctx                        2048\nstop                 "<end>"',
            "template": "{{ .Prompt }}",
            "details": DETAILS,
            "model_info": {"general.architecture": "tiny", "tiny.context_length": 8192},
            "capabilities": MODELS[name],
            "modified_at": CREATED,
        }
    )


async def chat(request: Received, reply: Reply) -> None:
    body = request.json()
    name = known(body.get("model"))
    if name is None:
        await reply.json({"error": f"model '{body.get('model')}' not found"}, 404)
        return
    if body.get("think") not in (None, False) and "thinking" not in MODELS[name]:
        await reply.json({"error": f'"{body["model"]}" does not support thinking'}, 400)
        return
    wire = _Wire(str(body["model"]), reply, streams=body.get("stream") is not False)
    await wire.play(scripts.last_prompt(body.get("messages")))


class _Wire(ScriptWire):
    """Steps of a script to lines, or to one object."""

    content_type = "application/x-ndjson"

    def __init__(self, model: str, reply: Reply, *, streams: bool) -> None:
        super().__init__(reply, streams=streams)
        self._model = model
        self._text = self._thinking = ""
        self._calls: list[object] = []

    async def say(self, text: str) -> None:
        self._text += text
        await self._message(content=text)

    async def think(self, text: str) -> None:
        self._thinking += text
        await self._message(content="", thinking=text)

    async def call(self, calls: CallTexts) -> None:
        for id_, name, arguments in calls:
            try:
                function = {"name": name, "arguments": json.loads(arguments)}
            except ValueError:
                continue  # Ollama sends a call when it is whole
            self._calls.append({"id": id_, "function": function})
            await self._message(content="", tool_calls=self._calls[-1:])

    async def fail(self, message: str) -> None:
        await self._line({"error": message})

    async def end(self, reason: str) -> None:
        counts = {
            "done": True,
            "done_reason": "stop" if reason == "tool_calls" else reason,
            "total_duration": 2_000_000_000,
            "load_duration": 500_000_000,
            "prompt_eval_count": 7,
            "prompt_eval_duration": 100_000_000,
            "eval_count": self._tokens,
            "eval_duration": 1_000_000_000,
        }
        if self._streams:
            await self._line(self._frame(content="") | counts)
        else:
            whole = {"thinking": self._thinking or None, "tool_calls": self._calls or None}
            await self._reply.json(self._frame(content=self._text, **whole) | counts)

    async def _message(self, **message: object) -> None:
        if self._streams:
            await self._line(self._frame(**message) | {"done": False})

    def _frame(self, **message: object) -> dict[str, object]:
        filled = {"role": "assistant"} | {k: v for k, v in message.items() if v is not None}
        return {"model": self._model, "created_at": CREATED, "message": filled}

    async def _line(self, value: object) -> None:
        await self.write(json.dumps(value, ensure_ascii=False).encode() + b"\n")


if __name__ == "__main__":
    run_alone(fake_ollama)
