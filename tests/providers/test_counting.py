"""Counting tokens by asking the server: who can, and what is asked."""

from collections.abc import Mapping

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import SupportsDispose, SupportsTokenCount
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.tools import ToolSchema
from ollm_tui.providers import create_provider
from ollm_tui.providers.spec import ProviderSpec
from tests.support.http_server import Handler, Received, Reply, Server, in_thread, serve

REQUEST = Request(
    model="m",
    messages=[Message("user", "hello")],
    system_prompt="Be brief.",
    tools=[ToolSchema(name="t")],
    options=GenerationOptions(max_tokens=5),
)
AT_ONCE = "/v1/chat/completions/input_tokens"


def spec_for(url: str, backend: str | None) -> ProviderSpec:
    return ProviderSpec(name="p", kind="openai-compatible", base_url=url, backend=backend)


def answering(replies: Mapping[str, object]) -> Handler:
    """Answer paths with JSON, or with a status where the reply is a number; others with 404."""

    async def answer(request: Received, reply: Reply) -> None:
        found = replies.get(request.path, 404)
        if isinstance(found, int):
            await reply.json({"error": {"message": "no"}}, found)
        else:
            await reply.json(found)

    return answer


async def counted(server: Server, backend: str, times: int = 1) -> int:
    provider = create_provider(spec_for(server.url, backend))
    assert isinstance(provider, SupportsTokenCount)
    assert isinstance(provider, SupportsDispose)
    try:
        for _ in range(times):
            tokens = await provider.count_tokens(REQUEST)
        return tokens
    finally:
        await provider.dispose()


@pytest.mark.parametrize(
    ("kind", "backend", "can"),
    [
        ("openai-compatible", "llamacpp", True),
        ("openai-compatible", "vllm", True),
        ("openai-compatible", "lmstudio", False),
        ("openai-compatible", "kobold", False),
        ("openai-compatible", None, False),
        ("ollama", None, False),
    ],
)
def test_only_servers_that_count_the_whole_chat_are_known_to(
    kind: str, backend: str | None, can: bool
) -> None:
    spec = ProviderSpec(name="p", kind=kind, base_url="http://localhost:1", backend=backend)
    assert isinstance(create_provider(spec), SupportsTokenCount) == can


async def test_llamacpp_is_asked_at_once_with_all_that_makes_the_prompt() -> None:
    async with serve(answering({AT_ONCE: {"input_tokens": 46}})) as server:
        assert await counted(server, "llamacpp") == 46
    (asked,) = server.received
    body = asked.json()
    assert {"model", "messages", "tools"} <= body.keys()
    assert not {"stream", "stream_options", "max_tokens"} & body.keys()


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_an_older_llamacpp_is_asked_in_two_steps_from_then_on(status: int) -> None:
    replies = {
        AT_ONCE: status,
        "/apply-template": {"prompt": "<user>hello"},
        "/tokenize": {"tokens": [1, 2, 3]},
    }
    async with serve(answering(replies)) as server:
        assert await counted(server, "llamacpp", times=2) == 3
    paths = [request.path for request in server.received]
    assert paths == [AT_ONCE, *["/apply-template", "/tokenize"] * 2]
    assert server.received[2].json() == {
        "content": "<user>hello",
        "add_special": True,
        "parse_special": True,
    }


async def test_vllm_is_asked_beside_the_version_with_the_answers_first_words() -> None:
    async with serve(answering({"/tokenize": {"count": 12, "max_model_len": 99}})) as server:
        assert await counted(server, "vllm") == 12
    (asked,) = server.received
    body = asked.json()
    assert body.keys() == {"model", "messages", "tools", "add_generation_prompt"}
    assert body["add_generation_prompt"] is True


@pytest.mark.parametrize(
    ("backend", "replies"),
    [
        ("llamacpp", {AT_ONCE: {"input_tokens": "many"}}),
        ("llamacpp", {"/apply-template": {}}),
        ("llamacpp", {"/apply-template": {"prompt": "x"}, "/tokenize": {"tokens": 3}}),
        ("vllm", {"/tokenize": {"count": 0}}),
        ("vllm", {"/tokenize": []}),
    ],
)
async def test_a_reply_without_a_number_is_an_error(
    backend: str, replies: Mapping[str, object]
) -> None:
    async with serve(answering(replies)) as server:
        with pytest.raises(AIError) as caught:
            await counted(server, backend)
    assert caught.value.code == ErrorCode.ENGINE_ERROR


@pytest.mark.parametrize(("backend", "path"), [("llamacpp", AT_ONCE), ("vllm", "/tokenize")])
@pytest.mark.parametrize("status", [400, 401, 500, 503])
async def test_a_refusal_is_an_error_and_no_reason_to_ask_elsewhere(
    backend: str, path: str, status: int
) -> None:
    async with serve(answering({path: status})) as server:
        with pytest.raises(AIError) as caught:
            await counted(server, backend)
    assert caught.value.status == status
    assert [request.path for request in server.received] == [path]


# Feature: stage-02-core-provider, Property 11: Optional Method Presence
@settings(max_examples=100)
@given(st.sampled_from(["llamacpp", "vllm"]), st.integers(-5, 10**9))
def test_who_counts_gives_a_positive_number_or_an_error(backend: str, number: int) -> None:
    replies = {AT_ONCE: {"input_tokens": number}, "/tokenize": {"count": number}}

    async def main(server: Server) -> int | None:
        try:
            return await counted(server, backend)
        except AIError:
            return None

    with in_thread(answering(replies)) as server:
        assert anyio.run(main, server) == (number if number > 0 else None)
