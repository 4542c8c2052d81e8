"""A server that speaks the Messages API well enough for Anthropic's own client.

It offers the models `tiny` and `small`, one to a page if asked so. The prompt chooses what
happens, see `scripts.py`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from tests.support.http_server import FakeServer, Received, Reply
from tests.support.scripts import CallText, ScriptWire
from tests.support.stored import stored

VERSION = "2023-06-01"
SIGNATURE = "c2lnbmVk"
_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
NAMES = ("tiny", "small")
STORED = stored("servers.json")["anthropic"]["model"]
MODELS = [STORED | {"id": name, "display_name": name.title()} for name in NAMES]


def error(status: int, kind: str, message: str) -> tuple[object, int]:
    details = {"type": kind, "message": message}
    return {"type": "error", "error": details, "request_id": "req_1"}, status


def page(query: Mapping[str, list[str]]) -> dict[str, object]:
    start = NAMES.index(query["after_id"][0]) + 1 if "after_id" in query else 0
    end = start + int(query.get("limit", ["20"])[0])
    shown, more = NAMES[start:end], end < len(NAMES)
    first, last = (shown[0], shown[-1]) if shown else (None, None)
    return {"data": MODELS[start:end], "has_more": more, "first_id": first, "last_id": last}


@dataclass
class FakeAnthropic(FakeServer):
    key: str | None = None
    refuses: Mapping[str, str] = field(default_factory=dict)
    """Pieces of a request's JSON, and the message against each."""

    async def answer(self, request: Received, reply: Reply) -> object:
        if request.headers.get("anthropic-version") != VERSION:
            return error(400, "invalid_request_error", "anthropic-version: header is required")
        if self.key and request.headers.get("x-api-key") != self.key:
            return error(401, "authentication_error", "invalid x-api-key")
        parts = urlsplit(request.path)
        match request.method, parts.path:
            case "GET", "/v1/models":
                return page(parse_qs(parts.query))
            case "POST", "/v1/messages/count_tokens":
                return {"input_tokens": len(request.body)}
            case "POST", "/v1/messages":
                return await self._chat(request.json(), reply)
        return error(404, "not_found_error", "Not found")

    async def _chat(self, body: Mapping[str, object], reply: Reply) -> object:
        if piece := next(filter(json.dumps(body).__contains__, self.refuses), None):
            return error(400, "invalid_request_error", self.refuses[piece])
        if not isinstance(body.get("max_tokens"), int):
            return error(400, "invalid_request_error", "max_tokens: Field required")
        if body.get("model") not in NAMES:
            return error(404, "not_found_error", f"model: {body.get('model')}")
        await _Wire(body, reply).play()
        return None


class _Wire(ScriptWire):
    def __init__(self, body: Mapping[str, object], reply: Reply) -> None:
        super().__init__(body, reply)
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
        self._is_open = self._started = False

    async def say(self, text: str) -> None:
        await self._grow({"type": "text", "text": ""}, text)

    async def think(self, text: str) -> None:
        await self._grow({"type": "thinking", "thinking": "", "signature": ""}, text)

    async def call(self, *calls: CallText) -> None:
        """Send the calls one after the other, their arguments in pieces."""
        for id_, name, arguments in calls:
            await self._open({"type": "tool_use", "id": id_, "name": name, "input": {}})
            await self._delta("input_json", partial_json="")
            for at in range(0, 0 if arguments == "{}" else len(arguments), 3):
                await self._delta("input_json", partial_json=arguments[at : at + 3])
            if not self._streams:
                self._blocks[-1]["input"] = json.loads(arguments)

    async def fail(self, message: str) -> None:
        await self._event("error", error={"type": "api_error", "message": message})

    async def end(self, reason: str) -> None:
        await self._start()
        await self._close()
        stop = {"stop_reason": _REASONS[reason], "stop_sequence": None}
        usage = {"output_tokens": self._tokens}
        if not self._streams:
            whole = self._message | stop | {"content": self._blocks}
            await self._reply.json(whole | {"usage": {"input_tokens": 7, **usage}})
            return
        await self._event("message_delta", delta=stop, usage=usage)
        await self._event("message_stop")

    async def _grow(self, block: dict[str, object], text: str) -> None:
        kind = str(block["type"])
        if not self._is_open or self._blocks[-1]["type"] != kind:
            await self._open(block)
        if not self._streams:
            self._blocks[-1][kind] = f"{self._blocks[-1][kind]}{text}"
        await self._delta(kind, **{kind: text})

    async def _open(self, block: dict[str, object]) -> None:
        await self._start()
        await self._close()
        self._blocks.append(dict(block))
        self._is_open = True
        await self._event("content_block_start", index=len(self._blocks) - 1, content_block=block)

    async def _close(self) -> None:
        if self._is_open:
            self._is_open = False
            if self._blocks[-1]["type"] == "thinking":
                self._blocks[-1]["signature"] = SIGNATURE
                await self._delta("signature", signature=SIGNATURE)
            await self._event("content_block_stop", index=len(self._blocks) - 1)

    async def _start(self) -> None:
        if not self._started:
            self._started = True
            usage = {"input_tokens": 7, "output_tokens": 1}
            await self._event("message_start", message=self._message | {"usage": usage})
            await self._event("ping")

    async def _delta(self, kind: str, **piece: str) -> None:
        delta = {"type": f"{kind}_delta", **piece}
        await self._event("content_block_delta", index=len(self._blocks) - 1, delta=delta)

    async def _event(self, kind: str, **rest: object) -> None:
        if self._streams:
            data = json.dumps({"type": kind, **rest})
            await self.write(f"event: {kind}\ndata: {data}\n\n".encode())
