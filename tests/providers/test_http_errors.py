"""What a server says about its failure reaches the person, with the right kind and advice."""

import json
import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.retry_after import retry_after
from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.providers.body.error_body import read_error_body
from ollm_tui.providers.http_errors import Head, http_error, is_error, stream_error
from ollm_tui.providers.http_faults import Endpoint
from tests.support.corpus import CORPUS, needs_corpus

ENDPOINT = Endpoint("p", "Server", "example.com", "Start it.")
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TAG = re.compile(r"</?[a-zA-Z!]")


def error_cases() -> list[tuple[str, dict[str, Any], bytes]]:
    paths = sorted(CORPUS.glob("http_errors/*/meta.json"))
    return [(p.parent.name, json.loads(p.read_text()), body_of(p)) for p in paths]


def body_of(path: Path) -> bytes:
    body = path.with_name("body.bin")
    return body.read_bytes() if body.is_file() else b""


@needs_corpus
@pytest.mark.parametrize(("name", "meta", "body"), error_cases(), ids=lambda v: str(v)[:40])
def test_a_recorded_error_answer_is_understood(
    name: str, meta: dict[str, Any], body: bytes
) -> None:
    expected = meta["expected"]
    error = http_error(Head(meta["status"], "", meta.get("headers") or {}), body, ENDPOINT)
    assert expected["message"] in error.message
    assert error.status == expected["status"]
    kinds = {expected["category"], *expected.get("category_alternatives", ())}
    assert error.details["category"] in kinds
    assert error.retryable in {expected["retryable"], *expected.get("retryable_alternatives", ())}
    waits = [expected["retry_after"], *expected.get("retry_after_alternatives", ())]
    known = [wait if isinstance(wait, int | float) else None for wait in waits]
    assert error.details.get("retry_after_s") in known
    assert not TAG.search(str(error))
    assert error.provider == "p"
    if "signin_url" in expected:
        assert expected["signin_url"] in str(error)


def test_sizes_of_a_full_window_are_read_from_any_phrase() -> None:
    phrases = {
        "request (6009 tokens) exceeds the available context size (4096 tokens)": (6009, 4096),
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens": (
            5000,
            4096,
        ),
        "prompt is too long: 210000 tokens > 200000 maximum": (210000, 200000),
        "This model's maximum context length is 4096 tokens. However, your request has 5000 input"
        " tokens. Please reduce the length of the input messages.": (5000, 4096),
        "This model's maximum context length is 4096 tokens. However, you requested 0 output tokens"
        " and your prompt contains at least 4097 input tokens, for a total of at least 4097"
        " tokens.": (4097, 4096),
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.": (
            5000,
            4096,
        ),
        "The prompt (total length 5000) is too long to fit into the model (context length 4096).": (
            5000,
            4096,
        ),
    }
    for message, sizes in phrases.items():
        body = json.dumps({"error": {"message": message}}).encode()
        error = http_error(Head(400), body, ENDPOINT)
        assert error.code == ErrorCode.CONTEXT_LENGTH_EXCEEDED
        assert (error.details["prompt_tokens"], error.details["context_tokens"]) == sizes


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "17"}, {}, 17.0),
        ({"retry-after": "1.5"}, {}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, {}, 1.5),
        ({"retry-after": format_datetime(NOW + timedelta(seconds=30), usegmt=True)}, {}, 30.0),
        ({"retry-after": format_datetime(NOW - timedelta(seconds=30), usegmt=True)}, {}, 0.0),
        ({"retry-after": "1771404540"}, {}, None),
        ({"retry-after": "soon"}, {}, None),
        ({"retry-after": "-3"}, {}, None),
        ({"retry-after": "nan"}, {}, None),
        ({"retry-after": "Mon, 01 Jan 2024 00:00:00 +99999999999999"}, {}, None),
        ({}, {"details": [{"@type": "RetryInfo", "retryDelay": "7s"}]}, 7.0),
        ({}, {"details": "later"}, None),
    ],
)
def test_the_time_to_wait_is_read_in_all_its_forms(
    headers: dict[str, str], body: dict[str, Any], seconds: float | None
) -> None:
    assert retry_after(headers, body, NOW) == seconds


def test_the_server_may_forbid_or_ask_for_another_try() -> None:
    assert not http_error(Head(500, "", {"x-should-retry": "false"}), b"", ENDPOINT).retryable
    assert http_error(Head(400, "", {"x-should-retry": "true"}), b"", ENDPOINT).retryable


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (500, "image input is not supported - hint: you may need to provide the mmproj"),
        (400, "tiny is not a multimodal model"),
        (400, "At most 0 image(s) may be provided in one prompt."),
        (400, "this model is missing data required for image input"),
        (404, "No endpoints found that support image input"),
        (400, "This model does not support image inputs"),
    ],
)
def test_a_refusal_of_pictures_is_distinguished_from_other_failures(
    status: int, message: str
) -> None:
    error = http_error(Head(status), json.dumps({"error": {"message": message}}).encode(), ENDPOINT)
    assert error.code == ErrorCode.UNSUPPORTED_MODALITY
    assert not error.retryable


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("model name=m is not removable (not from cache)", ErrorCode.BAD_REQUEST),
        ("model name=m failed to load", ErrorCode.MODEL_NOT_LOADED),
    ],
)
def test_what_fails_again_in_the_same_way_is_not_tried_again(message: str, code: ErrorCode) -> None:
    error = http_error(Head(500), json.dumps({"error": {"message": message}}).encode(), ENDPOINT)
    assert (error.code, error.retryable, error.message) == (code, False, message)


@pytest.mark.parametrize("reason", ["Not Found", "File Not Found", "Invalid URL (POST /v1/x)"])
def test_a_path_that_is_missing_is_not_a_model_that_is(reason: str) -> None:
    error = http_error(Head(404), json.dumps({"detail": reason}).encode(), ENDPOINT)
    assert error.message == f"Server at example.com does not know this path: {reason}"
    assert error.hint == "Check the server's address: it may lack a path, or have one too many."
    model = http_error(Head(404), b'{"error": "model \'m\' not found"}', ENDPOINT)
    assert (model.code, model.hint) == (ErrorCode.MODEL_NOT_FOUND, ENDPOINT.model_hint)


def test_a_refused_key_is_reported_with_the_provider() -> None:
    for place, message, hint in (
        (
            ENDPOINT,
            "Server requires an API key: Unauthorized",
            "Set api_key_env below [providers.p].",
        ),
        (
            Endpoint("p", "Server", "example.com", "", has_key=True),
            "Server rejected the API key: Unauthorized",
            "Check the API key of provider p.",
        ),
    ):
        error = http_error(Head(401), b'{"error": "Unauthorized"}', place)
        assert (error.code, error.message, error.hint) == (ErrorCode.AUTH_FAILED, message, hint)


def test_a_failure_without_words_names_who_failed() -> None:
    error = http_error(Head(500), b"Internal Server Error", ENDPOINT)
    assert error.message == "Server failed: Internal Server Error"


def test_a_key_that_the_server_echoes_is_not_shown() -> None:
    place = Endpoint("p", "Server", "example.com", "", secrets=("sk-canary-123",))
    body = b'{"error": {"message": "Incorrect API key provided: sk-canary-123."}}'
    error = http_error(Head(401), body, place)
    assert "canary" not in f"{error} {error!r} {error.details} {place!r}"
    assert error.code == ErrorCode.AUTH_FAILED


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (Head(302, "", {"location": "https://x.example/login?key=sk-canary-123"}), b""),
        (
            Head(400),
            b'{"error": {"message": "no", "code": "sk-canary-123", "type": "sk-canary-123"}}',
        ),
        (Head(422), b'{"message": "no", "detail": [{"loc": ["header", "sk-canary-123"]}]}'),
        (Head(401), b'{"error": "no", "signin_url": "https://x.example/?key=sk-canary-123"}'),
        (Head(400), b'{"error": "not sk-canary-1234"}'),
    ],
)
def test_a_key_that_the_server_echoes_is_shown_in_no_other_place_either(
    head: Head, body: bytes
) -> None:
    place = Endpoint("p", "Server", "example.com", "", secrets=("sk-canary-123", "sk-canary-1234"))
    error = http_error(head, body, place)
    assert "canary" not in f"{error} {error!r} {error.details}"
    assert "key»4" not in str(error)


def test_a_redirect_is_named_and_not_followed() -> None:
    error = http_error(Head(301, "", {"location": "https://evil.example/v1"}), b"", ENDPOINT)
    assert "https://evil.example/v1" in error.message
    assert not error.retryable


def test_an_error_of_null_on_a_chunk_is_no_error() -> None:
    assert not is_error({"error": None, "choices": []})
    assert is_error({"error": "out"})
    assert is_error({"object": "error", "message": "x"})
    assert is_error({}, "error")


def test_an_error_inside_a_stream_keeps_the_number_it_carries() -> None:
    error = stream_error({"error": {"message": "slow down", "code": 429}}, ENDPOINT)
    assert (error.code, error.status, error.retryable) == (ErrorCode.RATE_LIMITED, 429, True)
    assert stream_error({"error": "engine died"}, ENDPOINT).status is None


@given(st.binary(max_size=300))
def test_any_body_is_read_without_an_exception(body: bytes) -> None:
    reason = read_error_body(body)
    assert reason.message is None or reason.message.strip()


@given(
    st.recursive(
        st.none() | st.text(max_size=5) | st.integers(),
        lambda i: (
            st.lists(i, max_size=3)
            | st.dictionaries(
                st.sampled_from(["error", "message", "detail", "msg", "code", "loc"]), i, max_size=3
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_body_gives_one_error_in_plain_words(value: object) -> None:
    error = http_error(Head(500), json.dumps(value).encode(), ENDPOINT)
    assert error.message.strip()


@pytest.mark.parametrize("depth", [3, 200, 450])
@pytest.mark.parametrize(
    ("before", "after"), [('{"error":', "}"), ("[", "]"), ('{"detail":[', "]}")]
)
def test_a_sentence_hidden_however_deep_costs_no_exception(
    before: str, after: str, depth: int
) -> None:
    body = (before * depth + '{"message": "found"}' + after * depth).encode()
    error = http_error(Head(500, "Oops"), body, ENDPOINT)
    assert error.code == ErrorCode.INTERNAL_ERROR
    if depth == 3 and "error" in before:
        assert error.message == "found"


OVERFLOWS: dict[str, tuple[str, int | None, int | None]] = {
    "OpenAI": ("Your input exceeds the context window of this model", None, None),
    "OpenAI, in tokens": (
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in"
        " 300000 tokens. Please reduce the length of the messages.",
        None,
        None,
    ),
    "Gemini": (
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
        1196265,
        1048575,
    ),
    "Gemini, without a figure": (
        "The input token count exceeds the maximum number of tokens allowed 1048576.",
        None,
        None,
    ),
    "Bedrock": ("Input is too long for requested model.", None, None),
    "Anthropic": ("input length and `max_tokens` exceed context limit: 190000 + 20000", None, None),
    "Anthropic, in bytes": ("Request exceeds the maximum size", None, None),
    "xAI": (
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        537812,
        131072,
    ),
    "Groq": ("Please reduce the length of the messages or completion.", None, None),
    "Together": (
        "The input (516368 tokens) is longer than the model's context length (262144 tokens).",
        516368,
        262144,
    ),
    "Mistral": (
        "Prompt contains 200000 tokens, too large for model with 131072 maximum context length",
        200000,
        131072,
    ),
    "Moonshot": (
        "Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)",
        9000,
        8192,
    ),
    "DashScope": ("Range of input length should be [1, 30720]", None, 30720),
    "Zhipu": ("Prompt exceeds max length", None, None),
    "Zhipu, in Chinese": ("输入内容超长", None, None),
    "MiniMax": ("invalid params, context window exceeds limit", None, None),
    "Copilot": ("prompt token count of 200000 exceeds the limit of 128000", 200000, 128000),
    "LM Studio": (
        "The number of tokens to keep from the initial prompt is greater than the context length.",
        None,
        None,
    ),
    "llama.cpp": (
        "the request exceeds the available context size, try increasing it",
        None,
        None,
    ),
    "Poolside": (
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
        131393,
        131040,
    ),
    "SGLang": (
        "Input length (265330 tokens) exceeds the maximum allowed length (262139 tokens).",
        265330,
        262139,
    ),
    "TGI": ("`inputs` must have less than 4096 tokens. Given: 5000", 5000, 4096),
    "TGI, with the answer": (
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 500"
        " `max_new_tokens`",
        None,
        None,
    ),
    "Cohere": (
        "too many tokens: total number of tokens in the prompt cannot exceed 4081",
        None,
        None,
    ),
    "DS4": ("Prompt has 32769 tokens, but the configured context size is 32768", 32769, 32768),
    "Fireworks": (
        "The prompt is too long: 140000, model maximum context length: 131071",
        None,
        None,
    ),
    "Ollama": ("prompt too long; exceeded max context length by 100918 tokens", None, None),
}


@pytest.mark.parametrize("status", [400, 413, 422, 500, 503])
@pytest.mark.parametrize("server", [*OVERFLOWS])
def test_a_full_window_is_reported_by_many_sentences(server: str, status: int) -> None:
    message, used, limit = OVERFLOWS[server]
    error = http_error(Head(status), json.dumps({"message": message}).encode(), ENDPOINT)
    assert error.code == ErrorCode.CONTEXT_LENGTH_EXCEEDED
    assert not error.retryable
    assert error.details.get("prompt_tokens") == used
    assert error.details.get("context_tokens") == limit


@pytest.mark.parametrize(
    "body",
    [
        {"message": "no", "error_type": "TOO_MANY_TOKENS"},
        {"error": {"message": "no", "type": "too_many_prompt_tokens"}},
        {"error": {"message": "no", "code": "context_window_exceeded"}},
        {"errors": [{"message": "no", "code": "context_length_exceeded"}]},
        {"error_code": "prompt_too_long", "error_msg": "no"},
    ],
)
def test_a_full_window_is_reported_by_codes(body: dict[str, Any]) -> None:
    error = http_error(Head(400), json.dumps(body).encode(), ENDPOINT)
    assert (error.code, error.message) == (ErrorCode.CONTEXT_LENGTH_EXCEEDED, "no")


@pytest.mark.parametrize(
    ("status", "message", "category"),
    [
        (429, "Too many tokens, please wait before trying again.", "rate_limit"),
        (
            429,
            "Request too large for m: Limit 6000, Requested 9000 tokens per min (TPM). Please"
            " reduce the length of the messages.",
            "rate_limit",
        ),
        (429, "Daily token limit exceeded.", "rate_limit"),
        (400, "max_tokens is too large: 99999. At most 16384 completion tokens.", "bad_request"),
        (400, "n_ctx must be a positive number", "bad_request"),
        (500, "model runner crashed unexpectedly", "server"),
        (503, "Service unavailable", "overloaded"),
        (500, "cudaMalloc failed: out of memory for this context size", "out_of_memory"),
    ],
)
def test_what_is_no_full_window_is_not_reported_as_one(
    status: int, message: str, category: str
) -> None:
    error = http_error(Head(status), json.dumps({"error": {"message": message}}).encode(), ENDPOINT)
    assert error.details["category"] == category


TRACE = (
    "Internal Server Error, original exception: \x1b[36mray::Replica.chat()\x1b[39m (pid=1)\n"
    "    async for result in self._handle(\n"
    '  File "/opt/site-packages/ray/serve/replica.py", line 1820, in handle\n'
    "    self._raise(e)\n"
    "    ^^^^^^^^^^^^^^\n"
    '  File "/opt/site-packages/aiohttp/connector.py", line 1345, in _create\n'
    "    raise client_error(key, error) from error\n"
    "aiohttp.ClientConnectorError: Cannot connect to host 127.0.0.1:49029\n"
    "Connect call failed"
)


@pytest.mark.parametrize(
    "body", [json.dumps({"error": {"message": TRACE, "code": 500}}), TRACE], ids=["json", "plain"]
)
def test_of_a_stack_trace_the_exception_is_reported_and_whose_it_is(body: str) -> None:
    error = http_error(Head(500), body.encode(), ENDPOINT)
    assert error.message == (
        "Server failed: aiohttp.ClientConnectorError: Cannot connect to host 127.0.0.1:49029\n"
        "Connect call failed"
    )


def test_a_stack_trace_that_breaks_off_is_reported_as_it_is() -> None:
    words = TRACE[: TRACE.index("    raise client_error")]
    assert (
        http_error(Head(500), words.encode(), ENDPOINT).message == f"Server failed: {words.strip()}"
    )


def test_what_an_exception_says_counts_for_the_kind_of_failure() -> None:
    words = TRACE.replace("Cannot connect", "CUDA out of memory: cannot")
    assert http_error(Head(500), words.encode(), ENDPOINT).code == ErrorCode.OUT_OF_MEMORY
