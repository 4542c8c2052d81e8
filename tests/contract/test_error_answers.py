"""Every shape of refusal, from every kind of server: its own words, its kind, and what to do.

What is asked is in `ANSWERS`, a table of answers with an error status and of failures inside an
answer of status 200; each is given by a real server to each provider.
"""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from ollm_tui.decode.clean import clean
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import ProviderAdapter, SupportsDispose
from ollm_tui.protocol.provider_events import ErrorEvent
from ollm_tui.protocol.request import Request
from ollm_tui.providers import create_provider
from tests.contract.selection import remotes_with
from tests.support.fakes import REMOTES
from tests.support.http_server import Received, Reply, serve

ASK = Request(model="tiny", messages=[Message("user", "hello")])
HTML = b"<!DOCTYPE html><html><head><title>Bad gateway</title></head><body>nginx</body></html>"


@dataclass(frozen=True)
class Answer:
    """What a server answers, and what has to come of it."""

    status: int
    body: object
    """Bytes as they are, anything else as JSON."""
    says: str
    category: str
    retryable: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_s: float | None = None
    code: ErrorCode | None = None

    @property
    def data(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def openai(message: str, **more: object) -> dict[str, object]:
    return {"error": {"message": message, "type": "invalid_request_error", **more}}


def anthropic(kind: str, message: str) -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def as_sent(value: str) -> str:
    """Write a moment as a date of HTTP, now that it is sent."""
    if not value.startswith("in "):
        return value
    moment = datetime.now(UTC) + timedelta(seconds=int(value.split()[1]))
    return format_datetime(moment, usegmt=True)


SLOW = openai("Slow down.")
SHAPES: Mapping[str, Answer] = {
    "openai's error": Answer(400, openai("Bad temperature."), "Bad temperature.", "bad_request"),
    "ollama's error": Answer(400, {"error": "bad option"}, "bad option", "bad_request"),
    "anthropic's error": Answer(
        400, anthropic("invalid_request_error", "max_tokens: too large"), "too large", "bad_request"
    ),
    "a message alone": Answer(400, {"message": "no such path"}, "no such path", "bad_request"),
    "a detail": Answer(400, {"detail": "Not valid"}, "Not valid", "bad_request"),
    "fastapi's details": Answer(
        422,
        {"detail": [{"loc": ["body", "xyzzy"], "msg": "Field is odd", "type": "v"}]},
        "Field is odd",
        "bad_request",
    ),
    "an error with details": Answer(
        422, {"error": {"detail": [{"msg": "too short"}]}}, "too short", "bad_request"
    ),
    "google's list": Answer(
        400,
        [{"error": {"code": 400, "message": "Bad turn.", "status": "X"}}],
        "Bad turn.",
        "bad_request",
    ),
    "json in json": Answer(
        400, openai('{"error": {"message": "deep inside"}}'), "deep inside", "bad_request"
    ),
    "plain text": Answer(400, b"engine is not ready", "engine is not ready", "bad_request"),
    "octets": Answer(
        400,
        openai("Bad octets."),
        "Bad octets.",
        "bad_request",
        headers={"content-type": "application/octet-stream"},
    ),
    "an event": Answer(
        400, b'data: {"error": {"message": "as an event"}}\n\n', "as an event", "bad_request"
    ),
    "a web page": Answer(502, HTML, "HTTP 502 Bad Gateway (Bad gateway)", "overloaded", True),
    "a web page inside json": Answer(503, {"error": HTML.decode()}, "nginx", "overloaded", True),
    "nothing": Answer(500, b"", "HTTP 500 Internal Server Error", "server", True),
    "null": Answer(500, b"null", "HTTP 500", "server", True),
    "an error of null": Answer(500, {"error": None}, "HTTP 500", "server", True),
    "a number": Answer(500, b"42", "HTTP 500", "server", True),
    "a list of nothing": Answer(500, b"[]", "HTTP 500", "server", True),
    "half an object": Answer(
        500,
        b'{"error": {"message": "the engine d',
        "HTTP 500 Internal Server Error: the engine d",
        "server",
        True,
    ),
    "no utf-8": Answer(500, b"\xff\xfe br\xe9ak", "ak", "server", True),
    "control characters": Answer(
        500, openai("\x1b]0;owned\x07red\x1b[31m \x9b2J ok"), "ok", "server", True
    ),
}
STATUSES: Mapping[str, Answer] = {
    "401": Answer(401, openai("No key."), "No key.", "auth", code=ErrorCode.AUTH_FAILED),
    "402": Answer(402, openai("No credit."), "No credit.", "quota"),
    "403": Answer(403, openai("Not you."), "Not you.", "auth", code=ErrorCode.PERMISSION_DENIED),
    "404 of a model": Answer(
        404,
        openai("model 'tiny' not found"),
        "not found",
        "not_found",
        code=ErrorCode.MODEL_NOT_FOUND,
    ),
    "404 of a path": Answer(
        404, b"404 page not found", "404 page not found", "not_found", code=ErrorCode.BAD_REQUEST
    ),
    "405": Answer(405, b"method not allowed", "method not allowed", "bad_request"),
    "407": Answer(407, b"proxy wants a name", "proxy wants a name", "auth"),
    "408": Answer(408, openai("Too late."), "Too late.", "timeout", True),
    "409": Answer(409, openai("Busy."), "Busy.", "overloaded", True, code=ErrorCode.CONFLICT),
    "410": Answer(410, openai("Gone for good."), "Gone for good.", "not_found"),
    "413": Answer(413, openai("Too large."), "Too large.", "bad_request"),
    "429": Answer(429, SLOW, "Slow down.", "rate_limit", True),
    "429 of a quota": Answer(
        429, openai("Pay.", code="insufficient_quota"), "Pay.", "quota", False
    ),
    "451": Answer(451, openai("Not here."), "Not here.", "content_filter"),
    "500": Answer(500, openai("It broke."), "It broke.", "server", True),
    "501": Answer(
        501, openai("Not built."), "Not built.", "unsupported", code=ErrorCode.NOT_IMPLEMENTED
    ),
    "503": Answer(503, openai("Loading model"), "Loading model", "overloaded", True),
    "504": Answer(504, b"", "HTTP 504", "timeout", True),
    "529": Answer(
        529, anthropic("overloaded_error", "Overloaded"), "Overloaded", "overloaded", True
    ),
    "599": Answer(599, b"", "HTTP 599", "server", True),
    "a filter": Answer(
        400,
        openai("Stopped by content_filter."),
        "Stopped",
        "content_filter",
        code=ErrorCode.CONTENT_FILTERED,
    ),
    "no memory": Answer(
        500,
        {"error": "model requires more system memory (9 GiB) than is available"},
        "9 GiB",
        "out_of_memory",
        code=ErrorCode.OUT_OF_MEMORY,
    ),
    "no tools": Answer(
        400,
        {"error": "tiny does not support tools"},
        "does not support tools",
        "unsupported",
        code=ErrorCode.UNSUPPORTED_FEATURE,
    ),
    "openai's full window": Answer(
        400,
        openai("Too much.", code="context_length_exceeded"),
        "Too much.",
        "context_overflow",
        code=ErrorCode.CONTEXT_LENGTH_EXCEEDED,
    ),
    "anthropic's full window": Answer(
        400,
        anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        "210000 tokens",
        "context_overflow",
        code=ErrorCode.CONTEXT_LENGTH_EXCEEDED,
    ),
    "llama.cpp's full window": Answer(
        400,
        openai("request (9 tokens) exceeds the available context size (4 tokens)"),
        "9 tokens",
        "context_overflow",
        code=ErrorCode.CONTEXT_LENGTH_EXCEEDED,
    ),
    "a redirect": Answer(
        302,
        b"",
        "redirects to https://elsewhere.example",
        "redirect",
        headers={"location": "https://elsewhere.example/v1"},
    ),
}


def later(wait_s: float | None, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(429, SLOW, "Slow down.", "rate_limit", True, named, wait_s)


WAITS: Mapping[str, Answer] = {
    "seconds": later(17, retry_after="17"),
    "a decimal": later(1.5, retry_after="1.5"),
    "milliseconds first": later(0.25, retry_after_ms="250", retry_after="9"),
    "milliseconds that are none": later(9, retry_after_ms="soon", retry_after="9"),
    "milliseconds beyond sense": later(9, retry_after_ms="1771404540000", retry_after="9"),
    "a date": later(30, retry_after="in 30 s"),
    "a date of the past": later(0, retry_after="in -30 s"),
    "a date years ahead": later(None, retry_after="in 100000000 s"),
    "an epoch": later(None, retry_after="1771404540"),
    "a word": later(None, retry_after="soon"),
    "less than nothing": later(None, retry_after="-3"),
    "no number": later(None, retry_after="nan"),
    "google's delay": Answer(
        429,
        {"error": {"message": "Slow down.", "details": [{"retryDelay": "7s"}]}},
        "Slow down.",
        "rate_limit",
        True,
        wait_s=7,
    ),
    "do not retry": Answer(
        503, SLOW, "Slow down.", "overloaded", False, {"x-should-retry": "false"}
    ),
    "do retry": Answer(400, SLOW, "Slow down.", "bad_request", True, {"x-should-retry": "true"}),
}
ANSWERS: Mapping[str, Answer] = {**SHAPES, **STATUSES, **WAITS}
OFTEN = ("openai's error", "401", "503", "no tools", "seconds", "a redirect")
"""What every backend is asked in the usual run too."""


@asynccontextmanager
async def answered_with(kind: str, answer: Answer) -> AsyncIterator[ProviderAdapter]:
    async def handler(request: Received, reply: Reply) -> None:
        if request.method == "GET":  # the server has started: what it refuses is the question
            await reply.json({"status": "ok"})
            return
        media = answer.headers.get("content-type", "application/json")
        headers = {name: as_sent(value) for name, value in answer.headers.items()}
        headers.pop("content-type", None)
        await reply.whole(answer.data, answer.status, media, headers)

    async with serve(handler) as server:
        provider = create_provider(REMOTES[kind].spec(server.url, api_key="sk-0123456789"))
        try:
            yield provider
        finally:
            assert isinstance(provider, SupportsDispose)
            await provider.dispose()
        await server.settled()
        assert server.connections == 0 or not server.answering


async def error_of(provider: ProviderAdapter) -> AIError:
    async with provider.chat_stream(ASK) as stream:
        events = [event async for event in stream]
        assert [event async for event in stream] == []
    (end,) = events
    assert isinstance(end, ErrorEvent)
    return end.error


def test_there_are_enough_shapes() -> None:
    assert len(ANSWERS) + len(INSIDE) >= 60


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("kind", "name"), remotes_with(ANSWERS, OFTEN))
async def test_a_refusal_is_a_sentence_with_the_servers_words_and_what_to_do(
    kind: str, name: str
) -> None:
    answer = ANSWERS[name]
    async with answered_with(kind, answer) as provider:
        error = await error_of(provider)
    assert answer.says in error.message
    assert (error.status, error.provider) == (answer.status, "p")
    assert error.details["category"] == answer.category
    assert error.retryable == answer.retryable
    assert answer.code in (None, error.code)
    assert error.known_code in set(ErrorCode)
    wait = error.details.get("retry_after_s")
    if answer.wait_s is None:
        assert wait is None
    else:
        assert isinstance(wait, int | float)
        assert answer.wait_s - 5 <= wait <= answer.wait_s
    shown = clean(str(error))
    assert "<" not in shown
    assert not any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in shown if c != "\n")


def frame(wire: str, value: object) -> bytes:
    data = json.dumps(value).encode()
    return data + b"\n" if wire == "ollama" else b"data: " + data + b"\n\n"


INSIDE: Mapping[str, tuple[object, str]] = {
    "openai's error": (openai("the engine died"), "the engine died"),
    "a text": ({"error": "the engine died"}, "the engine died"),
    "beside an answer": (
        {"choices": [], "message": {}, "error": {"message": "the engine died", "code": 502}},
        "the engine died",
    ),
    "anthropic's error": (anthropic("overloaded_error", "Overloaded"), "Overloaded"),
    "older vllm's error": ({"object": "error", "message": "the engine died"}, "the engine died"),
    "without words": ({"error": {"code": 500}}, "HTTP 500"),
}


@pytest.mark.parametrize("after_text", [False, True], ids=["first", "after text"])
@pytest.mark.parametrize(("kind", "name"), remotes_with(INSIDE, OFTEN))
async def test_a_failure_inside_a_good_answer_is_never_shown_as_success(
    kind: str, name: str, after_text: bool
) -> None:
    value, says = INSIDE[name]
    wire = REMOTES[kind].wire
    text = {
        "ollama": {"message": {"content": "It was "}, "done": False},
        "anthropic": {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "It was "},
        },
    }.get(wire, {"choices": [{"index": 0, "delta": {"content": "It was "}}]})
    text_frame = frame(wire, text) if after_text else b""
    answer = Answer(200, text_frame + frame(wire, value), says, "")
    async with (
        answered_with(kind, answer) as provider,
        provider.chat_stream(ASK) as stream,
    ):
        events = [event async for event in stream]
    *before, end = events
    assert len(before) == after_text
    assert isinstance(end, ErrorEvent)
    assert says in end.error.message
    assert not (after_text and end.error.retryable)
