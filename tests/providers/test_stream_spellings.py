"""Failures, reasons and counts inside a stream, in the spellings and places of many servers."""

import json

import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.ports import SupportsDispose
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    ProviderEvent,
    TextDelta,
    ToolCallEvent,
)
from ollm_tui.providers import create_provider
from ollm_tui.providers.anthropic.from_wire import AnthropicDecoder
from ollm_tui.providers.body.error_body import find_failure
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.ollama.from_wire import OllamaDecoder
from ollm_tui.providers.openai_compatible.from_wire import OpenAIDecoder
from ollm_tui.providers.openai_compatible.models import read_models
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.providers.spec import ProviderSpec
from tests.support.http_server import Received, Reply, serve

ENDPOINT = Endpoint("p", "Server", "example.com", "Start it.")
TEXT: JsonObject = {"choices": [{"delta": {"content": "Hello"}}]}
FAILURES: dict[str, tuple[JsonObject, str]] = {
    "OpenAI": ({"error": {"message": "it broke"}}, "it broke"),
    "text": ({"error": "it broke"}, "it broke"),
    "Groq": ({"choices": [{"delta": {}}], "x_groq": {"error": "it broke"}}, "it broke"),
    "another vendor's": (
        {"choices": [], "x_other": {"error": {"message": "it broke"}}},
        "it broke",
    ),
    "OpenRouter": (
        {"choices": [{"delta": {}, "error": {"code": 502, "message": "it broke"}}]},
        "it broke",
    ),
    "OpenRouter, beside": (
        {"error": {"code": 502, "message": "it broke"}, "choices": [{"finish_reason": "error"}]},
        "it broke",
    ),
    "MiniMax": (
        {"choices": None, "base_resp": {"status_code": 1013, "status_msg": "it broke"}},
        "it broke",
    ),
    "DashScope": ({"code": "InternalError", "message": "it broke", "request_id": "1"}, "it broke"),
    "Spark": ({"code": 10013, "message": "it broke", "sid": "1"}, "it broke"),
    "Qianfan": ({"error_code": 336100, "error_msg": "it broke", "id": "1"}, "it broke"),
    "Cohere": ({"message": "it broke", "error_type": "INTERNAL"}, "it broke"),
    "Cloudflare": (
        {"success": False, "errors": [{"code": 7, "message": "it broke"}], "messages": []},
        "it broke",
    ),
    "FastAPI": ({"detail": "it broke"}, "it broke"),
    "FastAPI, with fields": ({"detail": "it broke", "status_code": 500}, "it broke"),
    "AWS": ({"errorMessage": "it broke", "errorType": "Fault"}, "it broke"),
    "gateway": ({"message": "it broke"}, "it broke"),
    "status": ({"status": "failed", "msg": "it broke"}, "it broke"),
    "object": ({"object": "error", "message": "it broke"}, "it broke"),
    "type": ({"type": "error", "message": "it broke"}, "it broke"),
}
REMARKS: list[JsonObject] = [
    {},
    {"error": None, "choices": []},
    {"choices": [], "usage": {"prompt_tokens": 1}},
    {"choices": [], "prompt_filter_results": []},
    {"code": 0, "message": "Success", "sid": "1", "choices": [{"delta": {}}]},
    {"code": 0, "message": "Success", "sid": "1"},
    {"choices": [{"delta": {}}], "base_resp": {"status_code": 0, "status_msg": ""}},
    {"choices": [{"delta": {}}], "x_groq": {"id": "req_1"}},
    {"status": "in_progress"},
    {"message": {"content": "Hello"}, "done": False},
    {"type": "ping"},
    {"type": "message_start", "message": {}},
]


def openai_events(*objects: JsonObject, done: bool = True) -> list[ProviderEvent]:
    stream = OpenAIDecoder(ENDPOINT)
    body = "".join(f"data: {json.dumps(value)}\n\n" for value in objects)
    return [*stream.feed((body + "data: [DONE]\n\n" * done).encode()), *stream.finish()]


def error_in(events: list[ProviderEvent]) -> AIError:
    assert isinstance(events[-1], ErrorEvent), events
    return events[-1].error


@pytest.mark.parametrize("has_text", [False, True])
@pytest.mark.parametrize("spelling", [*FAILURES])
def test_a_failure_is_an_error_in_every_spelling(spelling: str, *, has_text: bool) -> None:
    value, words = FAILURES[spelling]
    events = openai_events(*[TEXT][:has_text], value)
    assert events[:-1] == [TextDelta("Hello")][:has_text]
    assert error_in(events).message == words
    assert not error_in(events).retryable


@pytest.mark.parametrize("value", REMARKS, ids=str)
def test_what_is_no_failure_is_none(value: JsonObject) -> None:
    assert find_failure(value) is None


def test_text_beside_a_failure_is_kept() -> None:
    last: JsonObject = {**TEXT, "x_groq": {"error": "it broke"}}
    events = openai_events(TEXT, last)
    assert events[:-1] == [TextDelta("HelloHello")]
    assert error_in(events).message == "it broke"


def test_a_code_inside_a_failure_tells_its_kind() -> None:
    error_body: JsonObject = {"message": "no", "error_type": "TOO_MANY_TOKENS"}
    assert error_in(openai_events(error_body)).code == ErrorCode.CONTEXT_LENGTH_EXCEEDED


@pytest.mark.parametrize("name", ["error", "exception"])
def test_the_name_of_an_event_tells_a_failure(name: str) -> None:
    stream = OpenAIDecoder(ENDPOINT)
    events = stream.feed(f'event: {name}\ndata: {{"info": 1}}\n\n'.encode())
    assert not error_in(events).retryable


@pytest.mark.parametrize(
    "body", [b'{"error":"it broke"}\n', b'{"message":"it broke"}\n', b'{"detail":"it broke"}\n']
)
def test_ollama_s_first_line_may_be_a_failure(body: bytes) -> None:
    error = error_in(OllamaDecoder(ENDPOINT).feed(body))
    assert (error.message, error.retryable) == ("it broke", False)


def test_anthropic_s_first_event_may_be_a_failure() -> None:
    error_body = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    body = b"event: error\ndata: " + error_body + b"\n\n"
    error = error_in(AnthropicDecoder(ENDPOINT, "p://m").feed(body))
    assert (error.message, error.status, error.retryable) == ("Overloaded", 529, False)


def test_plain_words_in_place_of_an_answer_are_not_asked_for_again() -> None:
    stream = OpenAIDecoder(ENDPOINT)
    events = [*stream.feed(b"data: upstream is busy\n\n"), *stream.finish()]
    assert error_in(events).message == "upstream is busy"
    assert not error_in(events).retryable


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        *((raw, "stop") for raw in ("stop", "STOP", "FINISH_REASON_STOP", "end_turn", "COMPLETE")),
        *((raw, "stop") for raw in ("eos", "eos_token", "eosFound", "stop-sequence", "endTurn")),
        *((raw, "length") for raw in ("length", "MAX_TOKENS", "max_output_tokens", "maxTokens")),
        *((raw, "length") for raw in ("model_length", "max_length", "ERROR_LIMIT")),
        *((raw, "length") for raw in ("contextLengthReached", "model_context_window_exceeded")),
        *((raw, "content_filter") for raw in ("content_filter", "content-filter", "SAFETY")),
        *((raw, "content_filter") for raw in ("sensitive", "RECITATION", "guardrail_intervened")),
        ("pause_turn", "pause"),
        ("refusal", "refusal"),
        ("a_new_one", "a_new_one"),
    ],
)
def test_a_reason_is_known_in_every_spelling(raw: str, reason: str) -> None:
    end = openai_events({"choices": [{"delta": {"content": "x"}, "finish_reason": raw}]})[-1]
    assert isinstance(end, Finish)
    assert (end.reason, end.raw_reason) == (reason, raw)


@pytest.mark.parametrize("raw", ["tool_calls", "tool-calls", "toolCalls", "TOOL_CALL", "tool_use"])
def test_calls_are_recognised_in_every_spelling(raw: str) -> None:
    call: JsonObject = {"index": 0, "id": "1", "function": {"name": "f", "arguments": "{}"}}
    events = openai_events({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": raw}]})
    assert isinstance(events[0], ToolCallEvent)
    assert isinstance(events[-1], Finish)
    assert events[-1].reason == "tool_calls"


@pytest.mark.parametrize(
    "raw",
    [
        "error",
        "ERROR",
        "failed",
        "insufficient_system_resource",
        "network_error",
        "abort",
        "modelUnloaded",
        "MALFORMED_FUNCTION_CALL",
        "malformed_model_output",
        "time_limit",
    ],
)
def test_a_reason_that_means_a_failure_is_an_error(raw: str) -> None:
    events = openai_events(TEXT, {"choices": [{"delta": {}, "finish_reason": raw}]})
    assert events[0] == TextDelta("Hello")
    assert "gave up in the middle of the answer" in error_in(events).message
    assert raw.lower() == "error" or raw in error_in(events).message
    line = json.dumps({"message": {"content": "x"}, "done": True, "done_reason": raw}).encode()
    assert not error_in(OllamaDecoder(ENDPOINT).feed(line + b"\n")).retryable


@pytest.mark.parametrize("raw", ["null", "", "FINISH_REASON_UNSPECIFIED", "not_finished"])
def test_a_word_for_no_reason_is_none(raw: str) -> None:
    piece: JsonObject = {"choices": [{"delta": {"content": "x"}, "finish_reason": raw}]}
    end = openai_events(piece)[-1]
    assert isinstance(end, Finish)
    assert (end.reason, end.raw_reason) == ("stop", None)
    cut = error_in(openai_events(piece, done=False))
    assert cut.code == ErrorCode.STREAM_INCOMPLETE


@pytest.mark.parametrize(
    "holder",
    [
        {"choices": [{"delta": {}, "finishReason": "length"}]},
        {"choices": [{"delta": {"finish_reason": "length"}}]},
        {"choices": [{"delta": {}}], "finish_reason": "length"},
    ],
    ids=str,
)
def test_a_reason_may_stand_elsewhere(holder: JsonObject) -> None:
    end = openai_events(TEXT, holder, done=False)[-1]
    assert isinstance(end, Finish)
    assert end.reason == "length"


COUNTS: JsonObject = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
ENDS: JsonObject = {"delta": {}, "finish_reason": "stop"}
PLACES: dict[str, JsonObject] = {
    "top level": {"choices": [ENDS], "usage": COUNTS},
    "without choices": {"choices": [], "usage": COUNTS},
    "Moonshot": {"choices": [{**ENDS, "usage": COUNTS}]},
    "a delta": {"choices": [{"delta": {"usage": COUNTS}, "finish_reason": "stop"}]},
    "a message": {"choices": [{"message": {"usage": COUNTS}, "finish_reason": "stop"}]},
    "Groq": {"choices": [ENDS], "x_groq": {"usage": COUNTS}},
    "zeros beside": {
        "choices": [{**ENDS, "usage": COUNTS}],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0},
    },
    "null beside": {"choices": [ENDS], "usage": None, "x_groq": {"usage": COUNTS}},
    "llama.cpp": {"choices": [ENDS], "timings": {"prompt_n": 5, "cache_n": 2, "predicted_n": 3}},
    "flat": {"choices": [ENDS], "prompt_tokens": 7, "completion_tokens": 3},
    "Ollama's": {"choices": [ENDS], "prompt_eval_count": 7, "eval_count": 3},
    "Anthropic's": {"choices": [ENDS], "usage": {"input_tokens": 7, "output_tokens": 3}},
    "Gemini's": {
        "choices": [ENDS],
        "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3},
    },
    "camel case": {"choices": [ENDS], "usage": {"promptTokens": 7, "completionTokens": 3}},
}


@pytest.mark.parametrize("place", [*PLACES])
def test_counts_are_taken_wherever_they_stand(place: str) -> None:
    end = openai_events(TEXT, {"choices": [ENDS]}, PLACES[place])[-1]
    assert isinstance(end, Finish)
    assert end.usage is not None
    assert (end.usage.prompt_tokens, end.usage.completion_tokens) == (7, 3)


def test_counts_that_a_server_gives_win_over_those_of_its_times() -> None:
    timed: JsonObject = {"choices": [ENDS], "timings": {"prompt_n": 1, "predicted_n": 1}}
    for order in ((timed, PLACES["top level"]), (PLACES["top level"], timed)):
        end = openai_events(TEXT, *order)[-1]
        assert isinstance(end, Finish)
        assert end.usage is not None
        assert end.usage.prompt_tokens == 7


def test_counts_of_times_grow_with_the_answer() -> None:
    timed: list[JsonObject] = [
        {**TEXT, "timings": {"prompt_n": 7, "predicted_n": number}} for number in (1, 2, 3)
    ]
    end = openai_events(*timed, {"choices": [ENDS]})[-1]
    assert isinstance(end, Finish)
    assert end.usage is not None
    assert (end.usage.prompt_tokens, end.usage.completion_tokens) == (7, 3)


def test_litellm_tells_the_window_of_a_model() -> None:
    (model,) = read_models({"data": [{"id": "tiny", "max_input_tokens": 8192}]})
    assert model.context == 8192


@pytest.mark.parametrize("spelling", ["OpenAI", "Groq", "DashScope"])
async def test_a_failure_in_an_answer_is_not_asked_again(spelling: str) -> None:
    value, words = FAILURES[spelling]

    async def fails(_: Received, reply: Reply) -> None:
        await reply.start(content_type="text/event-stream")
        await reply.write(f"data: {json.dumps(value)}\n\n".encode())
        await reply.write(b"")
        await reply.raw(b"0\r\n\r\n")

    async def no_wait(_: float) -> None:
        raise AssertionError("asked again")

    async with serve(fails) as server:
        registry = ProviderRegistry()
        spec = ProviderSpec(name="p", kind="openai-compatible", base_url=server.url)
        registry.register(provider := create_provider(spec))
        parts = ChatParts(router=Router(registry, ModelCatalog(registry)), sleep=no_wait)
        client = ChatClient(parts, Conversation(model="p://m"))
        async with client.chat("hi") as events:
            *_, end = [event async for event in events]
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()
    assert isinstance(end, chat_events.ErrorEvent)
    assert end.error.message == words
    assert sum(request.path == "/v1/chat/completions" for request in server.received) == 1
