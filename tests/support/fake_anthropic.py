"""A server that speaks the Messages API well enough for Anthropic's own client.

It offers the models `tiny` and `small`, one to a page if asked so. The prompt chooses what
happens, see `scripts.py`. As a program: `python -m tests.support.fake_anthropic`.
"""

import json
import os
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

from tests.support import scripts
from tests.support.http_server import Handler, Received, Reply, run_alone
from tests.support.script_wire import CallTexts, ScriptWire

VERSION = "2023-06-01"
SIGNATURE = "c2lnbmVk"
_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
_YES, _NO = {"supported": True}, {"supported": False}


def model_entry(name: str) -> dict[str, object]:
    """Give a model as the listing tells it."""
    types = {"adaptive": _YES, "enabled": _NO, "disabled": _YES, "between_tools": _NO}
    return {
        "type": "model",
        "id": name,
        "display_name": name.title(),
        "created_at": "2026-01-02T03:04:05Z",
        "lifecycle": "active",
        "max_input_tokens": 200_000,
        "max_tokens": 64_000,
        "capabilities": {
            "image_input": _YES,
            "structured_outputs": _NO,
            "thinking": {"supported": True, "types": types},
        },
    }


MODELS = [model_entry("tiny"), model_entry("small")]


def fake_anthropic(key: str | None = None, refuses: Mapping[str, str] | None = None) -> Handler:
    """Make a handler; `refuses` maps pieces of a request's JSON to the message against them."""

    async def answer(request: Received, reply: Reply) -> None:
        if request.headers.get("anthropic-version") != VERSION:
            await fail(reply, 400, "invalid_request_error", "anthropic-version: header is required")
            return
        if key and request.headers.get("x-api-key") != key:
            await fail(reply, 401, "authentication_error", "invalid x-api-key")
            return
        parts = urlsplit(request.path)
        match request.method, parts.path:
            case "GET", "/v1/models":
                await reply.json(page(parse_qs(parts.query)))
            case "POST", "/v1/messages/count_tokens":
                await reply.json({"input_tokens": len(request.body)})
            case "POST", "/v1/messages":
                await chat(request, reply, refuses or {})
            case _:
                await fail(reply, 404, "not_found_error", "Not found")

    return answer


async def fail(reply: Reply, status: int, kind: str, message: str) -> None:
    """Answer with an error in the API's shape."""
    error = {"type": kind, "message": message}
    await reply.json({"type": "error", "error": error, "request_id": "req_1"}, status)


def page(query: Mapping[str, list[str]]) -> dict[str, object]:
    """Give one page of the listing."""
    limit = int(query.get("limit", ["20"])[0])
    names = [str(entry["id"]) for entry in MODELS]
    start = names.index(query["after_id"][0]) + 1 if "after_id" in query else 0
    shown = MODELS[start : start + limit]
    return {
        "data": shown,
        "has_more": start + limit < len(MODELS),
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
    }


async def chat(request: Received, reply: Reply, refuses: Mapping[str, str]) -> None:
    body = request.json()
    sent = json.dumps(body)
    for piece, message in refuses.items():
        if piece in sent:
            await fail(reply, 400, "invalid_request_error", message)
            return
    if not isinstance(body.get("max_tokens"), int):
        await fail(reply, 400, "invalid_request_error", "max_tokens: Field required")
        return
    if body.get("model") not in {entry["id"] for entry in MODELS}:
        await fail(reply, 404, "not_found_error", f"model: {body.get('model')}")
        return
    await _Wire(body, reply).play(scripts.last_prompt(body.get("messages")))


class _Wire(ScriptWire):
    """Steps of a script to events, or to one object."""

    content_type = "text/event-stream"

    def __init__(self, body: Mapping[str, object], reply: Reply) -> None:
        super().__init__(reply, streams=body.get("stream") is True)
        self._message: dict[str, object] = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
        }
        self._blocks: list[dict[str, object]] = []
        self._is_open = False
        self._started = False

    async def say(self, text: str) -> None:
        await self._grow({"type": "text", "text": ""}, text=text)

    async def think(self, text: str) -> None:
        await self._grow({"type": "thinking", "thinking": "", "signature": ""}, thinking=text)

    async def call(self, calls: CallTexts) -> None:
        """Send the calls one after the other, their arguments in pieces."""
        for id_, name, arguments in calls:
            await self._open({"type": "tool_use", "id": id_, "name": name, "input": {}})
            await self._delta({"type": "input_json_delta", "partial_json": ""})
            pieces = "" if arguments == "{}" else arguments
            for at in range(0, len(pieces), 3):
                await self._delta({"type": "input_json_delta", "partial_json": pieces[at : at + 3]})
            if not self._streams:
                self._blocks[-1]["input"] = json.loads(arguments)

    async def fail(self, message: str) -> None:
        error = {"type": "api_error", "message": message}
        await self._event({"type": "error", "error": error})

    async def end(self, reason: str) -> None:
        await self._start()
        await self._close()
        stop = {"stop_reason": _REASONS[reason], "stop_sequence": None}
        usage = {"output_tokens": self._tokens}
        if not self._streams:
            whole = self._message | stop | {"content": self._blocks}
            await self._reply.json(whole | {"usage": {"input_tokens": 7, **usage}})
            return
        await self._event({"type": "message_delta", "delta": stop, "usage": usage})
        await self._event({"type": "message_stop"})

    async def _grow(self, block: dict[str, object], **piece: str) -> None:
        ((key, text),) = piece.items()
        if not self._is_open or self._blocks[-1]["type"] != block["type"]:
            await self._open(block)
        if not self._streams:
            self._blocks[-1][key] = f"{self._blocks[-1][key]}{text}"
        await self._delta({"type": f"{block['type']}_delta", key: text})

    async def _open(self, block: dict[str, object]) -> None:
        await self._start()
        await self._close()
        self._blocks.append(dict(block))
        self._is_open = True
        await self._indexed("content_block_start", content_block=block)

    async def _close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        if self._blocks[-1]["type"] == "thinking":
            self._blocks[-1]["signature"] = SIGNATURE
            await self._delta({"type": "signature_delta", "signature": SIGNATURE})
        await self._indexed("content_block_stop")

    async def _start(self) -> None:
        if not self._started:
            self._started = True
            usage = {"input_tokens": 7, "output_tokens": 1}
            await self._event(
                {"type": "message_start", "message": self._message | {"usage": usage}}
            )
            await self._event({"type": "ping"})

    async def _delta(self, delta: Mapping[str, object]) -> None:
        await self._indexed("content_block_delta", delta=delta)

    async def _indexed(self, kind: str, **rest: object) -> None:
        await self._event({"type": kind, "index": len(self._blocks) - 1, **rest})

    async def _event(self, value: Mapping[str, object]) -> None:
        if self._streams:
            await self.write(f"event: {value['type']}\ndata: {json.dumps(value)}\n\n".encode())


if __name__ == "__main__":
    run_alone(fake_anthropic(os.environ.get("FAKE_KEY")))
