"""Token counts are found wherever a server puts them, and zeros or nothing are unknown."""

import json
from collections.abc import Mapping, Sequence

import pytest

from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import SupportsDispose
from ollm_tui.protocol.provider_events import Finish, ProviderEvent
from ollm_tui.protocol.request import Request
from ollm_tui.providers import create_provider
from tests.support.fakes import REMOTES
from tests.support.http_server import Received, Reply, serve

Objects = Sequence[Mapping[str, object]]
Counts = tuple[int | None, int | None, int | None]
UNKNOWN: Counts = (None, None, None)


def chunk(content: str | None, reason: str | None = None, /, **more: object) -> dict[str, object]:
    delta = {} if content is None else {"content": content}
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **more}


def counted(prompt: int, completion: int, total: int) -> dict[str, object]:
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    return {"usage": counts}


SEVEN = counted(7, 3, 10)
ZEROS = counted(0, 0, 0)
OPENAI: Mapping[str, tuple[Objects, Counts]] = {
    "a last chunk without choices": (
        (chunk("hi"), chunk(None, "stop"), {"choices": [], **SEVEN}),
        (7, 3, 10),
    ),
    "a last chunk with choices of null": (
        (chunk("hi"), chunk(None, "stop"), {"choices": None, **SEVEN}),
        (7, 3, 10),
    ),
    "beside the reason": ((chunk("hi"), chunk(None, "stop", **SEVEN)), (7, 3, 10)),
    "twice": ((chunk("hi"), chunk(None, "stop", **SEVEN), {"choices": [], **SEVEN}), (7, 3, 10)),
    "on every chunk": (
        (chunk("hi", None, **counted(7, 1, 8)), chunk(None, "stop", **SEVEN)),
        (7, 3, 10),
    ),
    "null on every chunk but the last": (
        (chunk("hi", usage=None), chunk(None, "stop", usage=None), {"choices": [], **SEVEN}),
        (7, 3, 10),
    ),
    "then null": ((chunk("hi", None, **SEVEN), chunk(None, "stop", usage=None)), (7, 3, 10)),
    "inside x_groq": ((chunk("hi"), chunk(None, "stop", x_groq=SEVEN)), (7, 3, 10)),
    "a total with the reasoning": (
        (chunk("hi"), chunk(None, "stop"), {"choices": [], **counted(7, 3, 110)}),
        (7, 3, 110),
    ),
    "zeros": ((chunk("hi", None, **ZEROS), chunk(None, "stop", **ZEROS)), UNKNOWN),
    "counts and then zeros": (
        (chunk("hi", None, **SEVEN), chunk(None, "stop", **ZEROS)),
        (7, 3, 10),
    ),
    "never": ((chunk("hi"), chunk(None, "stop")), UNKNOWN),
    "of another type": ((chunk("hi", usage="7"), chunk(None, "stop", usage=[7])), UNKNOWN),
}


def line(content: str = "", done: bool = False, **more: object) -> dict[str, object]:
    end = {"done": True, "done_reason": "stop"} if done else {"done": False}
    return {"message": {"role": "assistant", "content": content}, **end, **more}


OLLAMA: Mapping[str, tuple[Objects, Counts]] = {
    "on the last line": (
        (line("hi"), line(done=True, prompt_eval_count=7, eval_count=3)),
        (7, 3, 10),
    ),
    "without the prompt, which was kept": (
        (line("hi"), line(done=True, eval_count=3)),
        (None, 3, None),
    ),
    "never": ((line("hi"), line(done=True)), UNKNOWN),
    "of another type": ((line("hi"), line(done=True, eval_count="3")), UNKNOWN),
    "before the last line": (
        (line("hi", eval_count=1), line(done=True, prompt_eval_count=7, eval_count=3)),
        (7, 3, 10),
    ),
}


def message(start: Mapping[str, object] | None, end: Mapping[str, object] | None) -> Objects:
    delta = {"type": "text_delta", "text": "hi"}
    return (
        {"type": "message_start", "message": {"usage": start}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": end},
        {"type": "message_stop"},
    )


ANTHROPIC: Mapping[str, tuple[Objects, Counts]] = {
    "at both ends": (
        message({"input_tokens": 7, "output_tokens": 1}, {"output_tokens": 3}),
        (7, 3, None),
    ),
    "at the end alone": (message(None, {"input_tokens": 7, "output_tokens": 3}), (7, 3, None)),
    "at the beginning alone": (
        message({"input_tokens": 7, "output_tokens": 3}, None),
        (7, 3, None),
    ),
    "again at the end": (
        message({"input_tokens": 5, "output_tokens": 1}, {"input_tokens": 7, "output_tokens": 3}),
        (7, 3, None),
    ),
    "with a cache": (
        message(
            {"input_tokens": 2, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 1},
            {"output_tokens": 3},
        ),
        (7, 3, None),
    ),
    "zeros": (message({"input_tokens": 0, "output_tokens": 0}, {"output_tokens": 0}), UNKNOWN),
    "never": (message(None, None), UNKNOWN),
}
TABLES = {"openai-compatible": OPENAI, "ollama": OLLAMA, "anthropic": ANTHROPIC}
PLACEMENTS = [(name, place) for name in REMOTES for place in TABLES[REMOTES[name].wire]]


async def answer(kind: str, objects: Objects) -> list[ProviderEvent]:
    lines = [json.dumps(value).encode() for value in objects]
    wire = REMOTES[kind].wire
    if wire == "ollama":
        body = b"".join(line + b"\n" for line in lines)
    else:
        lines += [] if wire == "anthropic" else [b"[DONE]"]
        body = b"".join(b"data: " + line + b"\n\n" for line in lines)

    async def handler(request: Received, reply: Reply) -> None:
        await reply.whole(
            body, 200, "application/x-ndjson" if wire == "ollama" else "text/event-stream"
        )

    async with serve(handler) as server:
        provider = create_provider(REMOTES[kind].spec(server.url))
        request = Request(model="tiny", messages=[Message("user", "hello")])
        async with provider.chat_stream(request) as stream:
            events = [event async for event in stream]
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()
    return events


@pytest.mark.parametrize(("kind", "name"), PLACEMENTS)
async def test_counts_are_found_wherever_they_stand(kind: str, name: str) -> None:
    objects, counts = TABLES[REMOTES[kind].wire][name]
    events = await answer(kind, objects)
    end = events[-1]
    assert isinstance(end, Finish)
    usage = end.usage
    found = (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) if usage else UNKNOWN
    assert found == counts
