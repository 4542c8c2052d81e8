"""Requests that are sent once more without the field that a server refused."""

from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.provider_events import Finish, LeftOut
from ollm_tui.protocol.request import GenerationOptions, Request
from tests.providers.asking import ASK, ask, connected, error_of, spec_for
from tests.support.fake_ollama import fake_ollama
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Received, Reply, serve


async def test_a_field_that_the_server_refuses_is_left_out_where_nothing_is_lost() -> None:
    refuses = {
        "stream_options": "Unknown field: stream_options",
        "max_tokens": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
    }
    request = Request(
        model="tiny", messages=ASK.messages, options=GenerationOptions(max_tokens=9, top_k=3)
    )
    async with serve(FakeOpenAI(refuses=refuses)) as server:
        events = await ask(spec_for(server.url, "openai-compatible"), request)
    assert isinstance(events[-1], Finish)
    bodies = [seen.json() for seen in server.received]
    assert [("stream_options" in b, "max_tokens" in b) for b in bodies] == [
        (True, True),
        (False, True),
        (False, False),
    ]
    assert bodies[-1]["max_completion_tokens"] == 9
    assert bodies[-1]["top_k"] == 3


async def test_what_a_model_refused_once_is_not_sent_to_it_again() -> None:
    async with (
        serve(FakeOpenAI(refuses={"stream_options": "no stream_options here"})) as server,
        connected(spec_for(server.url, "openai-compatible")) as provider,
    ):
        for _ in range(2):
            async with provider.chat_stream(ASK) as stream:
                assert isinstance([event async for event in stream][-1], Finish)
    assert ["stream_options" in seen.json() for seen in server.received] == [True, False, False]


async def test_a_wish_that_the_server_refuses_is_left_out_once_and_reported() -> None:
    async with serve(FakeOpenAI(refuses={"top_k": "Unknown parameter: 'top_k'"})) as server:
        options = GenerationOptions(top_k=3)
        request = Request(model="tiny", messages=ASK.messages, options=options)
        first, *_, last = await ask(spec_for(server.url, "openai-compatible"), request)
    assert isinstance(first, LeftOut)
    assert first.field == "top_k"
    assert "top_k" in first.error.message
    assert isinstance(last, Finish)
    assert ["top_k" in each.json() for each in server.received] == [True, False]


async def test_a_model_that_cannot_think_refuses_a_wish_to_and_takes_no_wish() -> None:
    async with serve(fake_ollama) as server:
        request = Request(model="tiny", messages=ASK.messages, should_think=True)
        error = await error_of(spec_for(server.url), request)
        events = await ask(spec_for(server.url))
    assert error.code == ErrorCode.UNSUPPORTED_FEATURE
    assert isinstance(events[-1], Finish)
    assert "think" not in server.received[-1].json()


async def test_an_older_ollama_that_refuses_think_off_is_asked_again() -> None:
    async def old(request: Received, reply: Reply) -> None:
        if "think" in request.json():
            await reply.json({"error": '"m" does not support thinking'}, 400)
        else:
            await fake_ollama(request, reply)

    async with serve(old) as server:
        request = Request(model="tiny", messages=ASK.messages, should_think=False)
        events = await ask(spec_for(server.url), request)
    assert isinstance(events[-1], Finish)
    assert len(server.received) == 2
