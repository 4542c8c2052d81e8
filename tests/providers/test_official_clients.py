"""The fakes are only worth something if the servers' own clients take them for the real thing."""

import pytest

from tests.support.fake_anthropic import SIGNATURE, FakeAnthropic
from tests.support.fake_backends import FakeKobold, FakeLlamaCpp, FakeLMStudio, FakeLocalAI
from tests.support.fake_ollama import OllamaServer, fake_ollama
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Handler, in_thread, serve


async def test_the_official_ollama_client_streams_from_the_fake() -> None:
    import ollama

    async with serve(fake_ollama) as server:
        client = ollama.AsyncClient(host=server.url)
        text, thinking, last = "", "", None
        messages = [{"role": "user", "content": "think"}]
        async for part in await client.chat("thinker", messages=messages, stream=True, think=True):
            text += part.message.content or ""
            thinking += part.message.thinking or ""
            last = part
        await client.close()  # type: ignore[no-untyped-call]  # the client has no types there
    assert (text, thinking) == ("Yes.", "Let me see.")
    assert last is not None
    assert (last.done, last.done_reason, last.prompt_eval_count) == (True, "stop", 7)


async def test_the_official_ollama_client_lists_shows_and_calls_tools() -> None:
    import ollama

    async with serve(fake_ollama) as server:
        client = ollama.AsyncClient(host=server.url)
        names = [model.model for model in (await client.list()).models]
        shown = await client.show("tiny")
        running = await client.ps()
        reply = await client.chat("tiny", messages=[{"role": "user", "content": "tools"}])
        with pytest.raises(ollama.ResponseError, match="not found"):
            await client.chat("nosuch", messages=[{"role": "user", "content": "hi"}])
        await client.close()  # type: ignore[no-untyped-call]  # the client has no types there
    assert names == ["tiny:latest", "thinker:latest"]
    assert shown.capabilities == ["completion", "tools"]
    assert (shown.template, shown.license) == (
        "{{ .Prompt }}",
        "A licence.\n\nWith two paragraphs.",
    )
    assert shown.modelfile == "FROM tiny:latest"
    assert shown.modelinfo is not None
    assert shown.modelinfo["tiny.block_count"] == 4
    assert running.models[0].context_length == 4096
    assert [
        (c.function.name, dict(c.function.arguments)) for c in reply.message.tool_calls or ()
    ] == [
        ("weather", {"city": "Oslo"}),
        ("clock", {}),
    ]


async def test_the_official_ollama_client_manages_the_models_of_the_fake() -> None:
    import ollama

    fake = OllamaServer()
    async with serve(fake) as server:
        client = ollama.AsyncClient(host=server.url)
        steps = [part async for part in await client.pull("new", stream=True)]
        copied = await client.copy("new", "newer")
        deleted = await client.delete("new")
        names = {model.model for model in (await client.list()).models}
        loaded = await client.chat("newer", messages=[], keep_alive="10m")
        running = {model.model for model in (await client.ps()).models}
        kept = await client.chat("newer", messages=[], keep_alive=-1)
        [lasting] = [m for m in (await client.ps()).models if m.model == "newer:latest"]
        dropped = await client.chat("newer", messages=[], keep_alive=0)
        left = {model.model for model in (await client.ps()).models}
        with pytest.raises(ollama.ResponseError, match="not found"):
            await client.delete("new")
        with pytest.raises(ollama.ResponseError, match="does not exist"):
            [part async for part in await client.pull("missing", stream=True)]
        with pytest.raises(ollama.ResponseError, match="no such host"):
            [part async for part in await client.pull("broken", stream=True)]
        await client.close()  # type: ignore[no-untyped-call]  # the client has no types there
    assert (steps[0].status, steps[-1].status) == ("pulling manifest", "success")
    assert {(step.digest, step.total) for step in steps if step.digest} == {
        (f"sha256:{'aa' * 32}", 1_000_000),
        (f"sha256:{'bb' * 32}", 500),
    }
    assert (copied.status, deleted.status) == ("success", "success")
    assert names == {"tiny:latest", "thinker:latest", "newer:latest"}
    assert kept.done_reason == "load"
    assert lasting.expires_at is not None
    assert (lasting.expires_at.year, lasting.size, lasting.size_vram) == (2318, 2000, 1000)
    assert (loaded.done_reason, dropped.done_reason) == ("load", "unload")
    assert running - left == {"newer:latest"}


async def test_the_official_openai_client_streams_text_calls_and_usage_from_the_fake() -> None:
    import openai

    async with (
        serve(FakeOpenAI("secret-key")) as server,
        openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="secret-key") as client,
    ):
        names = [model.id async for model in client.models.list()]
        async with client.chat.completions.stream(
            model="tiny",
            messages=[{"role": "user", "content": "tools"}],
            stream_options={"include_usage": True},
        ) as stream:
            done = await stream.get_final_completion()
    assert names == ["tiny"]
    message = done.choices[0].message
    assert message.content == "Looking."
    calls = [(c.function.name, c.function.arguments) for c in message.tool_calls or ()]
    assert calls == [("weather", '{"city": "Oslo"}'), ("clock", "{}")]
    assert done.usage is not None
    assert done.usage.prompt_tokens == 7


@pytest.mark.parametrize("fake", [FakeKobold(), FakeLlamaCpp(), FakeLMStudio(), FakeLocalAI()])
async def test_the_official_openai_client_takes_every_backends_fake_for_a_server(
    fake: Handler,
) -> None:
    import openai

    async with (
        serve(fake) as server,
        openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0) as client,
    ):
        names = [model.id async for model in client.models.list()]
        async with client.chat.completions.stream(
            model="tiny", messages=[{"role": "user", "content": "tools"}]
        ) as stream:
            done = await stream.get_final_completion()
        with pytest.raises(openai.RateLimitError):
            await client.chat.completions.create(
                model="tiny", messages=[{"role": "user", "content": "status 429"}]
            )
    assert "tiny" in names
    calls = [call.function.name for call in done.choices[0].message.tool_calls or ()]
    assert calls == ["weather", "clock"]


async def test_the_official_openai_client_reads_whole_answers_and_refusals_of_the_fake() -> None:
    import openai

    async with (
        serve(FakeOpenAI("secret-key")) as server,
        openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="secret-key") as client,
        openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="wrong") as stranger,
    ):
        reply = await client.chat.completions.create(
            model="tiny", messages=[{"role": "user", "content": "echo a b"}]
        )
        with pytest.raises(openai.AuthenticationError):
            await stranger.models.list()
    assert reply.choices[0].message.content == "a b"


async def test_the_official_anthropic_client_streams_text_thinking_and_calls_from_the_fake() -> (
    None
):
    import anthropic

    async with (
        serve(FakeAnthropic("secret-key")) as server,
        anthropic.AsyncAnthropic(base_url=server.url, api_key="secret-key") as client,
    ):
        async with client.messages.stream(
            model="tiny", max_tokens=50, messages=[{"role": "user", "content": "tools"}]
        ) as stream:
            called = await stream.get_final_message()
        async with client.messages.stream(
            model="tiny", max_tokens=50, messages=[{"role": "user", "content": "think"}]
        ) as stream:
            thought = await stream.get_final_message()
    text, *uses = called.content
    assert text.type == "text"
    assert text.text == "Looking."
    assert [(use.name, use.input) for use in uses if use.type == "tool_use"] == [
        ("weather", {"city": "Oslo"}),
        ("clock", {}),
    ]
    assert (called.stop_reason, called.usage.input_tokens) == ("tool_use", 7)
    thinking = thought.content[0]
    assert thinking.type == "thinking"
    assert (thinking.thinking, thinking.signature) == ("Let me see.", SIGNATURE)


async def test_the_official_anthropic_client_lists_counts_and_reads_refusals_of_the_fake() -> None:
    import anthropic

    async with (
        serve(FakeAnthropic("secret-key")) as server,
        anthropic.AsyncAnthropic(base_url=server.url, api_key="secret-key") as client,
        anthropic.AsyncAnthropic(base_url=server.url, api_key="wrong") as stranger,
    ):
        names = [model.id async for model in client.models.list(limit=1)]
        counted = await client.messages.count_tokens(
            model="tiny", messages=[{"role": "user", "content": "hello"}]
        )
        reply = await client.messages.create(
            model="tiny", max_tokens=50, messages=[{"role": "user", "content": "echo a b"}]
        )
        with pytest.raises(anthropic.AuthenticationError):
            await stranger.models.list()
        with pytest.raises(anthropic.NotFoundError):
            await client.messages.create(
                model="nosuch", max_tokens=5, messages=[{"role": "user", "content": "hi"}]
            )
    assert names == ["tiny", "small"]
    assert counted.input_tokens > 0
    assert reply.content[0].type == "text"
    assert reply.content[0].text == "a b"


def test_a_fake_runs_in_a_thread_for_tests_without_a_loop() -> None:
    import ollama

    with in_thread(fake_ollama) as server:
        client = ollama.Client(host=server.url)
        reply = client.chat("tiny", messages=[{"role": "user", "content": "hello"}])
        client.close()  # type: ignore[no-untyped-call]  # the client has no types there
    assert reply.message.content == "Hello, world!"
    assert [request.path for request in server.received] == ["/api/chat"]
