"""What a server refuses is left out from then on, and said where somebody had set it."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, LeftOut, ProviderEvent
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.protocol.tools import ToolSchema
from ollm_tui.providers import create_provider
from ollm_tui.providers.http_errors import Head, http_error
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.openai_compatible.adapt import Refusals
from ollm_tui.providers.spec import ProviderSpec
from tests.support.fake_anthropic import FakeAnthropic
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Handler, Received, Reply, Server, serve

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonValue

ASK = Request(model="tiny", messages=[Message("user", "hello", name="ann")])
OPTIONS = GenerationOptions(top_k=40, min_p=0.1, max_tokens=9, extra_body={"logit_bias": {"1": 2}})


def strict(known: set[str], *, at_once: bool) -> Handler:
    """Refuse what is not known, as a validator does: all of it at once, or one by one."""
    answers = FakeOpenAI()

    async def handler(request: Received, reply: Reply) -> None:
        unknown = [key for key in request.json() if key not in known]
        if not unknown:
            await answers(request, reply)
            return
        detail = [
            {
                "type": "extra_forbidden",
                "loc": ["body", key],
                "msg": "Extra inputs are not permitted",
            }
            for key in (unknown if at_once else unknown[:1])
        ]
        await reply.json({"object": "error", "message": {"detail": detail}}, 422)

    return handler


async def answers(server: Server, *requests: Request, kind: str = "openai-compatible") -> Any:
    provider = create_provider(ProviderSpec(name="p", kind=kind, base_url=server.url))
    events: list[ProviderEvent] = []
    for request in requests:
        async with provider.chat_stream(request) as stream:
            events += [event async for event in stream]
    await provider.dispose()  # type: ignore[attr-defined]
    return events


def fields(events: list[ProviderEvent]) -> list[str]:
    return [event.field for event in events if isinstance(event, LeftOut)]


def bodies(server: Server) -> list[dict[str, Any]]:
    return [request.json() for request in server.received]


@pytest.mark.parametrize(("at_once", "requests"), [(True, 2), (False, 5)])
async def test_what_a_strict_server_does_not_know_is_left_out_once_and_remembered(
    at_once: bool, requests: int
) -> None:
    handler = strict({"model", "messages", "stream", "max_tokens"}, at_once=at_once)
    asked = replace(ASK, options=OPTIONS)
    async with serve(handler) as server:
        events = await answers(server, asked, asked)
        assert len(server.received) == requests + 1, "the second question is asked once"
        other = replace(asked, model="other")
        await answers(server, other)
    assert sorted(fields(events)) == sorted(["logit_bias", "min_p", "top_k"] * 2)
    assert [e.reason for e in events if isinstance(e, Finish)] == ["stop", "stop"]
    assert isinstance(events[0], LeftOut), "it is said before the answer"
    assert bodies(server)[requests].keys() == {"model", "messages", "stream", "max_tokens"}
    assert "top_k" in bodies(server)[requests + 1], "another model is asked in full"


async def test_a_limit_goes_under_the_name_that_is_known_and_nothing_is_reported() -> None:
    known = {"model", "messages", "stream", "stream_options", "max_completion_tokens"}
    asked = replace(ASK, options=GenerationOptions(max_tokens=9))
    async with serve(strict(known, at_once=True)) as server:
        events = await answers(server, asked)
    assert fields(events) == []
    assert bodies(server)[-1]["max_completion_tokens"] == 9


async def test_an_older_server_gets_the_older_name() -> None:
    known = {"model", "messages", "stream", "stream_options", "max_tokens"}
    asked = replace(ASK, options=GenerationOptions(extra_body={"max_completion_tokens": 9}))
    async with serve(strict(known, at_once=True)) as server:
        assert fields(await answers(server, asked)) == []
    assert bodies(server)[-1]["max_tokens"] == 9


async def test_a_limit_that_has_no_name_there_is_reported() -> None:
    known = {"model", "messages", "stream", "stream_options"}
    asked = replace(ASK, options=GenerationOptions(max_tokens=9))
    async with serve(strict(known, at_once=True)) as server:
        events = await answers(server, asked, asked)
    assert fields(events) == ["max_tokens", "max_tokens"], "the name that a person knows"
    assert len(server.received) == 4
    assert not {"max_tokens", "max_completion_tokens"} & bodies(server)[-1].keys()


@pytest.mark.parametrize(
    "options",
    [
        GenerationOptions(response_format="json"),
        GenerationOptions(extra_body={"structured_outputs": {"regex": "a+"}}),
        GenerationOptions(extra_body={"tool_choice": "required"}),
    ],
)
async def test_what_gives_the_answer_its_form_is_never_left_out(options: GenerationOptions) -> None:
    known = {"model", "messages", "stream", "stream_options"}
    async with serve(strict(known, at_once=True)) as server:
        events = await answers(server, replace(ASK, options=options))
    (end,) = events
    assert isinstance(end, ErrorEvent)
    assert end.error.code == ErrorCode.BAD_REQUEST
    assert len(server.received) == 1


async def test_tools_are_never_left_out() -> None:
    known = {"model", "messages", "stream", "stream_options"}
    asked = replace(ASK, tools=[ToolSchema(name="t")])
    async with serve(strict(known, at_once=True)) as server:
        (end,) = await answers(server, asked)
    assert isinstance(end, ErrorEvent)
    assert len(server.received) == 1


async def test_a_whole_answer_tells_what_it_was_made_without() -> None:
    known = {"model", "messages", "stream", "stream_options"}
    async with serve(strict(known, at_once=True)) as server:
        spec = ProviderSpec(name="p", kind="openai-compatible", base_url=server.url)
        provider = create_provider(spec)
        options = GenerationOptions(top_k=1)
        response = await provider.invoke(replace(ASK, options=options, stream=False))
        await provider.dispose()  # type: ignore[attr-defined]
    assert isinstance(response, Response)
    assert response.metadata["left_out"] == ["top_k"]


def test_a_limit_beyond_the_window_is_no_reason_to_ask_under_another_name() -> None:
    words = (
        "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context "
        "length is 4096 tokens and your request has 12 input tokens (5000 > 4096 - 12)."
    )
    left_out = json.dumps({"error": {"message": words, "code": 400}}).encode()
    error = http_error(Head(400), left_out, Endpoint("p", "P", "http://x", ""))
    assert Refusals().adapt({"model": "m", "max_tokens": 5000}, error) is None


def test_the_name_in_a_message_goes_from_all_messages_of_that_model() -> None:
    refusals = Refusals()
    error = AIError(
        400, "no", status=422, details={"refused": ["body.messages.0.user.name"], "param": "x"}
    )
    left_out: list[LeftOut] = []
    messages: list[JsonValue] = [
        {"role": "user", "content": "a", "name": "n"},
        {"role": "user", "content": "b"},
    ]
    body = refusals.adapt({"model": "m", "messages": messages}, error, left_out.append)
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
    }
    assert [event.field for event in left_out] == ["messages.name"]


REFUSES: Mapping[str, str] = {
    '"top_k"': "`top_k` is not supported with this model.",
    '"mood"': "mood: Extra inputs are not permitted",
}


async def test_anthropic_is_asked_again_without_keys_that_it_does_not_know() -> None:
    options = GenerationOptions(top_k=4, extra_body={"mood": "good"})
    async with serve(FakeAnthropic(refuses=REFUSES)) as server:
        asked = replace(ASK, options=options)
        events = await answers(server, asked, asked, kind="anthropic")
    names = ["messages.name", "messages.name"]  # which the protocol has no place for
    assert sorted(fields(events)) == [*names, "mood", "mood", "top_k", "top_k"]
    assert [event.reason for event in events if isinstance(event, Finish)] == ["stop", "stop"]
    assert len(server.received) == 4
