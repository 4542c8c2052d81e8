"""A pool of real servers on loopback, which die, hang and come back."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import (
    RemembersListError,
    SupportsDispose,
    SupportsList,
    SupportsRunning,
    SupportsShow,
    SupportsTokenCount,
)
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent, Rerouted, TextDelta
from ollm_tui.protocol.request import Request
from ollm_tui.providers import create_provider
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.pool import Member, PoolProvider, pool_of
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.providers.spec import ProviderSpec
from tests.support.clock import ManualClock
from tests.support.fake_ollama import fake_ollama
from tests.support.fake_openai import FakeOpenAI
from tests.support.http_server import Handler, Received, Reply, Server, serve

ASK = Request(model="tiny", messages=[Message("user", "hello")])


@dataclass
class Replica:
    """A server whose way to answer a test changes."""

    server: Server
    handler: Handler

    @property
    def prompts(self) -> int:
        return sum("/chat" in request.path for request in self.server.received)


@dataclass
class Team:
    pool: PoolProvider
    replicas: tuple[Replica, ...]
    clock: ManualClock

    async def ask(self, request: Request = ASK) -> list[ProviderEvent]:
        async with self.pool.chat_stream(request) as stream:
            return [event async for event in stream]

    def prompts(self) -> list[int]:
        return [replica.prompts for replica in self.replicas]


@asynccontextmanager
async def team_of(
    *handlers: Handler, kind: str = "openai-compatible", of_first: Mapping[str, object] = {}
) -> AsyncIterator[Team]:
    """Give a pool whose clock the test turns; `of_first` is said of its first member alone."""
    async with AsyncExitStack() as stack:
        replicas = []
        for handler in handlers:
            replica = Replica(Server(), handler)

            async def play(request: Received, reply: Reply, replica: Replica = replica) -> None:
                await replica.handler(request, reply)

            await stack.enter_async_context(serve(play, replica.server))
            replicas.append(replica)
        spec = {"name": "team", "kind": kind, "api_key": "k-1"}
        members = []
        for replica in replicas:
            url = replica.server.url
            own = of_first if replica is replicas[0] else {}
            made = ProviderSpec(base_url=url, **{**spec, **own})  # type: ignore[arg-type]
            members.append(Member(create_provider(made), url))
        clock = ManualClock()
        pool = pool_of("team", "Team", members, clock=clock, jitter=lambda: 0.5)
        yield Team(pool, tuple(replicas), clock)
        assert isinstance(pool, SupportsDispose)
        await pool.dispose()


async def hangs(_request: Received, _reply: Reply) -> None:
    await anyio.sleep_forever()


async def hangs_up(_request: Received, reply: Reply) -> None:
    reply.cut()


def status(code: int, body: bytes = b"<html><title>Bad</title></html>") -> Handler:
    async def handler(_request: Received, reply: Reply) -> None:
        await reply.whole(body, code, "text/html")

    return handler


GONE: Mapping[str, Handler] = {
    "502": status(502),
    "503": status(503),
    "504": status(504),
    "hangs up": hangs_up,
    "hangs": hangs,
}


@pytest.mark.parametrize("how", GONE)
async def test_a_server_that_is_gone_is_passed_over_skipped_and_taken_back(how: str) -> None:
    limits = {"first_byte_timeout_s": 0.3} if how == "hangs" else {}
    async with team_of(GONE[how], FakeOpenAI(), of_first=limits) as team:
        first, *answer = await team.ask()
        assert isinstance(first, Rerouted)
        assert isinstance(answer[-1], Finish)
        for _ in range(3):
            assert isinstance((await team.ask())[-1], Finish)
        assert team.prompts() == [1, 4], "it is skipped"
        if how == "hangs":
            return  # it may be slow to begin for any reason: its limit is for the clock alone
        team.replicas[0].handler = FakeOpenAI()
        team.clock.now = 2.0
        for _ in range(4):
            assert not isinstance((await team.ask())[0], Rerouted)
        assert team.prompts() == [3, 6], "it does its share again"
        keys = {r.headers["authorization"] for m in team.replicas for r in m.server.received}
        assert keys == {"Bearer k-1"}


async def test_an_answer_that_breaks_off_is_not_asked_for_again() -> None:
    async def breaks_off(_request: Received, reply: Reply) -> None:
        await reply.start(content_type="text/event-stream")
        chunk = {"choices": [{"index": 0, "delta": {"content": "Hel"}}]}
        await reply.write(f"data: {json.dumps(chunk)}\n\n".encode())
        reply.cut()

    async with team_of(breaks_off, FakeOpenAI()) as team:
        text, end = await team.ask()
        assert text == TextDelta("Hel")
        assert isinstance(end, ErrorEvent)
        assert end.error.code == ErrorCode.STREAM_INCOMPLETE
        assert team.prompts() == [1, 0]


async def test_many_requests_at_once_are_shared_out_and_all_are_closed() -> None:
    async with team_of(FakeOpenAI(), FakeOpenAI(), FakeOpenAI()) as team:
        forever = Request(model="tiny", messages=[Message("user", "forever")])
        async with AsyncExitStack() as stack:
            for _ in range(9):
                stream = await stack.enter_async_context(team.pool.chat_stream(forever))
                assert isinstance(await anext(stream), TextDelta)
            assert team.prompts() == [3, 3, 3]
        for replica in team.replicas:
            await replica.server.settled()
            assert len(replica.server.disconnects) == 3


async def test_all_gone_is_one_error_with_how_many_were_tried() -> None:
    async with team_of(status(503), hangs_up, status(502)) as team:
        *rerouted, end = await team.ask()
        assert len(rerouted) == 2
        assert isinstance(end, ErrorEvent)
        assert end.error.message.startswith("None of the 3 servers of Team answers.")
        assert end.error.details["tried"] == 3
        assert isinstance(team.pool, SupportsList)
        assert isinstance(team.pool, RemembersListError)
        assert await team.pool.list_models() == []
        assert team.pool.last_error is not None
        assert "None of the 3 servers" in team.pool.last_error.message


async def test_a_pool_of_ollamas_offers_what_ollama_does() -> None:
    async with team_of(fake_ollama, fake_ollama, kind="ollama") as team:
        assert isinstance(team.pool, SupportsShow)
        assert isinstance(team.pool, SupportsRunning)
        assert not isinstance(team.pool, SupportsTokenCount)
        assert not isinstance(team.pool, RemembersListError)
        assert isinstance(team.pool, SupportsList)
        names = [info.name for info in await team.pool.list_models()]
        assert len(names) == len(set(names)) > 0
        assert (await team.pool.show_model(names[0])).name == names[0]
        await team.pool.list_running()


async def test_a_member_that_cannot_be_made_closes_the_pool() -> None:
    with pytest.raises(AIError, match="header"):
        create_provider(
            ProviderSpec(
                name="team",
                kind="ollama",
                base_urls=("http://a.example", "http://b.example"),
                api_key="k\n",
            )
        )


async def test_the_router_finds_a_pool_s_model_although_a_member_hangs() -> None:
    async with team_of(hangs, FakeOpenAI()) as team:
        registry = ProviderRegistry()
        registry.register(team.pool)
        router = Router(registry, ModelCatalog(registry))
        with anyio.fail_after(5):
            found = await router.resolve("tiny")
        assert (str(found.ref), found.provider) == ("team://tiny", team.pool)


@pytest.mark.parametrize("backend", ["localai", "llamacpp"])
async def test_a_member_that_still_starts_is_not_waited_for(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first of the two is asked first, which is otherwise left to chance.
    defaults = pool_of.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "jitter", lambda: 0.5)

    async def starts(_request: Received, reply: Reply) -> None:
        error = {"error": {"message": "Loading model", "code": 503, "type": "unavailable_error"}}
        await reply.json(error, 503)

    async with serve(starts) as starting, serve(FakeOpenAI()) as ready:
        spec = ProviderSpec(
            name="team",
            kind="openai-compatible",
            backend=backend,
            base_urls=(starting.url, ready.url),
        )
        pool = create_provider(spec)
        with anyio.fail_after(5):
            async with pool.chat_stream(ASK) as stream:
                first, *_, end = [event async for event in stream]
        assert isinstance(first, Rerouted)
        assert isinstance(end, Finish)
        assert isinstance(pool, SupportsDispose)
        await pool.dispose()
