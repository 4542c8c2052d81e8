"""Several answers to one request: each a request of its own, told apart by their index."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message, Usage
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, TextDelta
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.providers import create_provider
from ollm_tui.providers.base import BaseProvider
from tests.support.fakes import REMOTES
from tests.support.http_server import serve


class Counting(BaseProvider):
    """Answers with its seed; the one with the seed 13 fails."""

    def __init__(self) -> None:
        super().__init__("counting")
        self.bodies: list[object] = []

    async def stream(self, request: Request) -> AsyncIterator[str | TextDelta | Finish]:
        self.bodies.append(request.options.extra_body)
        yield f"seed {request.options.seed}"
        if request.options.seed == 13:
            raise AIError(ErrorCode.ENGINE_ERROR, "Bad luck.")
        yield Finish("stop", Usage(completion_tokens=1))


def asking(count: Any, *, seed: int | None = 4, stream: bool = False) -> Request:
    options = GenerationOptions(seed=seed, extra_body={"n": count, "top_a": 1})
    return Request(model="m", messages=[Message("user", "x")], options=options, stream=stream)


async def test_a_response_has_the_others_beside_it_and_seeds_count_up() -> None:
    provider = Counting()
    response = await provider.invoke(asking(3))
    assert isinstance(response, Response)
    assert [one.text for one in (response, *response.others)] == ["seed 4", "seed 5", "seed 6"]
    assert provider.bodies == [{"top_a": 1}] * 3
    one = await provider.invoke(asking(1))
    assert isinstance(one, Response)
    assert (one.text, one.others) == ("seed 4", ())


async def test_in_a_stream_each_answer_has_its_index_and_its_own_end() -> None:
    stream = await Counting().invoke(asking(3, seed=12, stream=True))
    assert not isinstance(stream, Response)
    async with stream as events:
        got = [event async for event in events]
    texts = {event.index: event.delta for event in got if isinstance(event, TextDelta)}
    ends = {event.index: type(event) for event in got if isinstance(event, Finish | ErrorEvent)}
    assert texts == {0: "seed 12", 1: "seed 13", 2: "seed 14"}
    assert ends == {0: Finish, 1: ErrorEvent, 2: Finish}


async def test_one_that_fails_is_the_error_of_a_whole_response() -> None:
    with pytest.raises(AIError, match="Bad luck"):
        await Counting().invoke(asking(2, seed=12))


async def test_leaving_the_stream_ends_all_answers() -> None:
    stream = await Counting().invoke(asking(16, stream=True))
    assert not isinstance(stream, Response)
    async with stream as events:
        async for _ in events:
            break


@pytest.mark.parametrize("count", [0, 17, "2", True, 1.5])
async def test_a_number_beyond_the_limits_is_refused(count: object) -> None:
    with pytest.raises(AIError, match=r"`n` takes a whole number from 1 to 16\."):
        await Counting().invoke(asking(count))


async def test_every_adapter_gives_several() -> None:
    for name, remote in REMOTES.items():
        async with serve(remote.make()) as server:
            provider: Any = create_provider(remote.spec(server.url))
            response = await provider.invoke(
                Request(
                    model="tiny",
                    messages=[Message("user", "hello")],
                    options=GenerationOptions(extra_body={"n": 2}),
                    stream=False,
                )
            )
            assert len(response.others) == 1, name
            assert response.text == response.others[0].text != "", name
            await provider.dispose()
