"""A server that speaks the Messages API well enough for Anthropic's own client.

It offers the models `tiny` and `small`, one to a page if asked so. The prompt chooses what
happens, see `scripts.py`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.http_server import FakeServer, Received, Reply
from tests.support.scripts import ScriptWire
from tests.support.stored import stored

VERSION = "2023-06-01"
SIGNATURE = "c2lnbmVk"
_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
Event = dict[str, Any]
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
    """One block after the other, each of one kind."""

    def __init__(self, body: Mapping[str, object], reply: Reply) -> None:
        super().__init__(body, reply)
        self._index = -1
        self._open = ""
        """The kind of the block that is open."""

    def frames(self, step: str, *given: Any) -> Iterator[Event]:
        match step, given:
            case "say", [text]:
                yield from self._grown({"type": "text", "text": ""}, text)
            case "think", [text]:
                yield from self._grown({"type": "thinking", "thinking": "", "signature": ""}, text)
            case "call", calls:
                for id_, name, arguments in calls:
                    yield from self._opened(_use(id_, name, {}))
                    yield self._delta("input_json", partial_json="")
                    for at in range(0, 0 if arguments == "{}" else len(arguments), 3):
                        yield self._delta("input_json", partial_json=arguments[at : at + 3])
            case "fail", [message] if self._streams:
                yield {"type": "error", "error": {"type": "api_error", "message": message}}
            case "end", [reason]:
                yield from self._closed()
                usage = {"output_tokens": self._tokens}
                yield {"type": "message_delta", "delta": _stop(reason), "usage": usage}
                yield {"type": "message_stop"}

    def complete(self, reason: str) -> Event:
        thought = {"type": "thinking", "thinking": self._thinking, "signature": SIGNATURE}
        said = {"type": "text", "text": self._text}
        blocks = [block for block in (thought, said) if block[block["type"]]]
        blocks += [_use(id_, name, json.loads(given)) for id_, name, given in self._calls]
        usage = {"input_tokens": 7, "output_tokens": self._tokens}
        return self._message(_stop(reason) | {"content": blocks, "usage": usage})

    def spelled(self, frame: Any) -> bytes:
        return f"event: {frame['type']}\ndata: {json.dumps(frame)}\n\n".encode()

    def _message(self, more: Event) -> Event:
        head = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
        return head | {"model": self._body.get("model")} | _stop(None) | more

    def _grown(self, block: Event, text: str) -> Iterator[Event]:
        kind = block["type"]
        if self._open != kind:
            yield from self._opened(block)
        yield self._delta(kind, **{kind: text})

    def _opened(self, block: Event) -> Iterator[Event]:
        yield from self._closed()
        self._index += 1
        self._open = block["type"]
        yield self._block("start", content_block=block)

    def _closed(self) -> Iterator[Event]:
        """End the block that is open; before the first one, begin the message."""
        if self._open == "thinking":
            yield self._delta("signature", signature=SIGNATURE)
        if self._open:
            yield self._block("stop")
        elif self._index < 0:
            usage = {"input_tokens": 7, "output_tokens": 1}
            yield {"type": "message_start", "message": self._message({"usage": usage})}
            yield {"type": "ping"}
        self._open = ""

    def _delta(self, kind: str, **piece: str) -> Event:
        return self._block("delta", delta={"type": f"{kind}_delta", **piece})

    def _block(self, kind: str, **more: object) -> Event:
        return {"type": f"content_block_{kind}", "index": self._index, **more}


def _use(id_: str, name: str, given: object) -> Event:
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def _stop(reason: str | None) -> Event:
    return {"stop_reason": _REASONS[reason] if reason else None, "stop_sequence": None}
