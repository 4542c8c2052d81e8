"""Servers that are newer or older than what is known: what they cannot do is told in a line, and
what nobody knows yet is passed over."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import SupportsDispose
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
)
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.tools import ToolSchema
from ollm_tui.providers import create_provider
from ollm_tui.providers.spec import ProviderSpec
from tests.support.http_server import Received, Reply, Server, serve

TOOL = ToolSchema(name="look", parameters={"type": "object", "properties": {}})


@dataclass(frozen=True)
class Skew:
    """A server of another version; `refuses` maps a field of requests to its refusal."""

    kind: str
    answer: Sequence[object] = ()
    """Objects of the stream; bytes come as they are."""
    refuses: Mapping[str, tuple[int, object]] = field(default_factory=dict)
    text: str = "hi"
    thinking: str = ""
    calls: Sequence[tuple[str, JsonObject]] = ()
    says: str | None = None
    """Part of the error, where there must be one."""
    code: ErrorCode | None = None
    asked: int = 1
    """How often the server is asked."""


def chunk(reason: str | None = None, /, **delta: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def line(done: bool = False, /, **message: object) -> dict[str, object]:
    return {"message": {"role": "assistant", "content": "", **message}, "done": done}


def block(index: int, kind: str, **more: object) -> dict[str, object]:
    return {"type": f"content_block_{kind}", "index": index, **more}


HI_OPENAI = (chunk(content="hi"), chunk("stop"))
HI_OLLAMA = (line(content="hi"), line(True))
SKEWS: Mapping[str, Skew] = {
    "ollama with fields that nobody knows": Skew(
        "ollama",
        (
            line(content="hi", mood={"x": [1]}) | {"remote_model": "m", "logprobs": []},
            line(True) | {"energy": 3.5},
        ),
    ),
    "chunks with fields that nobody knows": Skew(
        "openai-compatible",
        (
            chunk(content="hi", vendor={"a": None}) | {"system_fingerprint": {}, "obfuscation": 1},
            {"object": "vendor.note", "choices": [], "note": "x"},
            chunk("stop") | {"service_tier": None},
        ),
    ),
    "events and blocks that nobody knows": Skew(
        "anthropic",
        (
            {"type": "message_start", "message": {"container": None}},
            block(0, "start", content_block={"type": "hologram", "data": "zz"}),
            block(0, "delta", delta={"type": "hologram_delta", "x": 1}),
            block(0, "stop"),
            {"type": "mood", "mood": "good"},
            block(1, "start", content_block={"type": "text", "text": ""}),
            block(1, "delta", delta={"type": "text_delta", "text": "hi"}),
            block(1, "delta", delta={"type": "sparkle_delta"}),
            block(1, "stop"),
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "context": {}},
            {"type": "message_stop"},
        ),
    ),
    "ollama before tools": Skew(
        "ollama",
        refuses={"tools": (400, {"error": "registry.example/tiny does not support tools"})},
        says="does not support tools",
        code=ErrorCode.UNSUPPORTED_FEATURE,
    ),
    "ollama before its chat": Skew(
        "ollama",
        refuses={"messages": (404, b"404 page not found")},
        says="404 page not found",
        code=ErrorCode.BAD_REQUEST,
    ),
    "ollama without a reason": Skew("ollama", HI_OLLAMA),
    "ollama with arguments as text": Skew(
        "ollama",
        (
            line(tool_calls=[{"function": {"name": "look", "arguments": '{"at": 1}'}}]),
            line(True),
        ),
        text="",
        calls=[("look", {"at": 1})],
    ),
    "vllm without a tool parser": Skew(
        "openai-compatible",
        refuses={
            "tools": (
                400,
                {
                    "object": "error",
                    "message": '"auto" tool choice requires --enable-auto-tool-choice and '
                    "--tool-call-parser to be set",
                    "type": "BadRequestError",
                    "code": 400,
                },
            )
        },
        says="--enable-auto-tool-choice",
        code=ErrorCode.UNSUPPORTED_FEATURE,
    ),
    "llama.cpp without templates": Skew(
        "openai-compatible",
        refuses={
            "tools": (500, {"error": {"code": 500, "message": "tools param requires --jinja flag"}})
        },
        says="--jinja",
        code=ErrorCode.UNSUPPORTED_FEATURE,
    ),
    "llama.cpp with errors as a field": Skew(
        "openai-compatible",
        (chunk(content="hi"), b'error: {"code": 500, "message": "slot lost"}\n\n'),
        says="slot lost",
    ),
    "a gateway before counts in streams": Skew(
        "openai-compatible",
        HI_OPENAI,
        {
            "stream_options": (
                422,
                {"detail": [{"loc": ["body", "stream_options"], "msg": "extra"}]},
            )
        },
        asked=2,
    ),
    "chat completions with function_call": Skew(
        "openai-compatible",
        (
            chunk(function_call={"name": "look", "arguments": '{"at"'}),
            chunk(function_call={"arguments": ": 1}"}),
            chunk("function_call"),
        ),
        text="",
        calls=[("look", {"at": 1})],
    ),
    "vllm's newer name of reasoning": Skew(
        "openai-compatible",
        (chunk(reasoning="hm"), *HI_OPENAI),
        thinking="hm",
    ),
    "vllm's older name of reasoning": Skew(
        "openai-compatible",
        (chunk(reasoning_content="hm", content=None), *HI_OPENAI),
        thinking="hm",
    ),
    "a relay of messages without names of events": Skew(
        "anthropic",
        (
            block(0, "start", content_block={"type": "text", "text": "hi"}),
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        ),
    ),
}


def body_of(skew: Skew) -> bytes:
    written = b""
    for value in skew.answer:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        if isinstance(value, bytes):
            written += data
        else:
            written += data + b"\n" if skew.kind == "ollama" else b"data: " + data + b"\n\n"
    return written


async def answered(skew: Skew) -> tuple[list[ProviderEvent], Server]:
    async def handler(request: Received, reply: Reply) -> None:
        for name, (status, refusal) in skew.refuses.items():
            if name in request.json():
                data = refusal if isinstance(refusal, bytes) else json.dumps(refusal).encode()
                await reply.whole(data, status)
                return
        await reply.whole(body_of(skew), content_type="text/event-stream")

    async with serve(handler) as server:
        provider = create_provider(ProviderSpec(name="p", kind=skew.kind, base_url=server.url))
        request = Request(model="tiny", messages=[Message("user", "hello")], tools=[TOOL])
        async with provider.chat_stream(request) as stream:
            events = [event async for event in stream]
            assert [event async for event in stream] == []
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()
        await server.settled()
    return events, server


@pytest.mark.parametrize("name", SKEWS)
async def test_another_version_answers_as_far_as_it_can_and_the_rest_is_reported(name: str) -> None:
    skew = SKEWS[name]
    events, server = await answered(skew)
    ends = [event for event in events if isinstance(event, Finish | ErrorEvent)]
    assert ends == [events[-1]]
    assert len(server.received) == skew.asked
    if skew.says is not None:
        end = ends[0]
        assert isinstance(end, ErrorEvent)
        assert skew.says in end.error.message
        assert skew.code in (None, end.error.code)
        assert end.error.hint
        assert not end.error.retryable
        return
    assert isinstance(ends[0], Finish)
    assert "".join(e.delta for e in events if isinstance(e, TextDelta)) == skew.text
    assert "".join(e.delta for e in events if isinstance(e, ThinkingDelta)) == skew.thinking
    calls = [(e.call.name, e.call.args) for e in events if isinstance(e, ToolCallEvent)]
    assert calls == list(skew.calls)


def test_there_are_as_many_shapes_as_were_asked_for() -> None:
    assert len(SKEWS) >= 12
