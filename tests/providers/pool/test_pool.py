"""A pool: who is asked, what is passed over, and what is said when nobody is there."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Sequence

import anyio
import anyio.lowlevel
import pytest

from ollm_tui.models.capabilities import (
    ABILITIES,
    Fact,
    ModelOverrides,
    capabilities_of,
    with_overrides,
)
from ollm_tui.protocol import media_ports, ports
from ollm_tui.protocol.blocks import EmbeddingContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelCapability, ModelInfo, PullProgress
from ollm_tui.protocol.ports import ProviderAdapter, SupportsList
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    LeftOut,
    ProviderEvent,
    Rerouted,
    TextDelta,
)
from ollm_tui.protocol.request import Request, Response
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.operations import pulling
from ollm_tui.providers.pool import Member, PoolProvider, pool_of
from ollm_tui.providers.pool.members import merged
from ollm_tui.providers.pool.provider import OFFERS
from tests.providers.pool.fake_pools import Puppet, refused
from tests.support.clock import ManualClock

ANSWER: list[ProviderEvent] = [TextDelta("one "), TextDelta("two"), Finish("stop")]


def ask_for(model: str = "tiny", signal: AbortSignal | None = None) -> Request:
    return Request(model=model, messages=[Message("user", "hi")], signal=signal)


class Stage:
    """A pool of puppets and its clock."""

    def __init__(self, *puppets: Puppet) -> None:
        self.puppets = puppets
        self.clock = ManualClock()
        self.pool: PoolProvider = pool_of(
            "team",
            "Team",
            [Member(puppet, puppet.address) for puppet in puppets],
            clock=self.clock,
            jitter=lambda: 0.5,
        )

    async def ask(self, request: Request | None = None) -> list[ProviderEvent]:
        async with self.pool.chat_stream(request or ask_for()) as stream:
            events = [event async for event in stream]
            assert [event async for event in stream] == []
        assert all(puppet.open == 0 for puppet in self.puppets)
        return events

    async def names(self) -> list[str]:
        assert isinstance(self.pool, SupportsList)
        return [info.name for info in await self.pool.list_models()]

    def asked(self) -> list[int]:
        return [puppet.asked for puppet in self.puppets]


def stage(*addresses: str) -> Stage:
    return Stage(*(Puppet(address) for address in addresses))


async def test_requests_go_round() -> None:
    team = stage("a", "b", "c")
    for _ in range(6):
        assert await team.ask() == ANSWER
    assert team.asked() == [2, 2, 2]


async def test_a_dead_member_is_passed_over_visibly_then_skipped_then_tried_again() -> None:
    team = stage("a", "b")
    team.puppets[0].up = False
    first, *rest = await team.ask()
    assert isinstance(first, Rerouted)
    assert first.error.message == "Server does not answer at a."
    assert rest == ANSWER
    for _ in range(5):
        assert await team.ask() == ANSWER
    assert team.asked() == [1, 6]
    team.puppets[0].up = True
    team.clock.now = 1.0
    for _ in range(2):
        assert await team.ask() == ANSWER
    assert team.asked() == [2, 7]


async def test_what_a_member_leaves_out_comes_before_its_answer() -> None:
    team = stage("a")
    refusal = AIError(ErrorCode.BAD_REQUEST, "Unknown.", status=400)
    script: list[ProviderEvent] = [LeftOut("top_k", refusal), LeftOut("min_p", refusal), *ANSWER]
    team.puppets[0].answer = lambda: [*script]
    assert await team.ask() == script


async def test_a_member_that_dies_after_it_announced_it_is_passed_over_all_the_same() -> None:
    team = stage("a", "b")
    gone = refused("a")
    script = LeftOut("top_k", AIError(ErrorCode.BAD_REQUEST, "Unknown.", status=400))
    team.puppets[0].answer = lambda: [script, ErrorEvent(gone)]
    assert await team.ask() == [Rerouted(gone), *ANSWER]


async def test_a_member_that_stays_dead_is_tried_ever_less_often() -> None:
    team = stage("a", "b")
    team.puppets[0].up = False
    for second in range(120):
        team.clock.now = float(second)
        await team.ask()
    assert team.puppets[0].asked == 7, "at 0, 1, 3, 7, 15, 31 and 63 s"


async def test_when_all_are_dead_one_error_names_how_many_were_tried() -> None:
    team = stage("a", "b", "c")
    for puppet in team.puppets:
        puppet.up = False
    *rerouted, end = await team.ask()
    assert [type(event) for event in rerouted] == [Rerouted, Rerouted]
    assert isinstance(end, ErrorEvent)
    assert end.error.message == (
        "None of the 3 servers of Team answers. The last one: Server does not answer at c."
    )
    assert "base_urls below [providers.team]" in (end.error.hint or "")
    assert end.error.details["tried"] == 3
    assert (end.error.provider, end.error.retryable) == ("team", True)
    with pytest.raises(AIError, match="None of the 3 servers of Team answers"):
        await team.pool.invoke(Request(model="tiny", messages=[Message("user", "x")], stream=False))
    for puppet in team.puppets:
        puppet.up = True
    assert await team.ask() == ANSWER, "the dead are asked where nobody else is"


@pytest.mark.parametrize(
    ("error", "goes_on"),
    [
        (AIError(503, "busy", status=503), True),
        (AIError(503, "gateway", status=502), True),
        (AIError(503, "gateway", status=504), True),
        (AIError(ErrorCode.TIMEOUT, "late", details={"fault": "first_byte"}), True),
        (AIError(503, "cut", details={"fault": "closed"}), True),
        (AIError(ErrorCode.SERVICE_UNAVAILABLE, "cert", details={"fault": "tls"}), True),
        (AIError(ErrorCode.AUTH_FAILED, "no", status=401), False),
        (AIError(ErrorCode.BAD_REQUEST, "no", status=400), False),
        (AIError(ErrorCode.RATE_LIMITED, "slow", status=429), False),
        (AIError(ErrorCode.INTERNAL_ERROR, "oops", status=500), False),
        (AIError(ErrorCode.STREAM_INCOMPLETE, "cut", details={"fault": "cut"}), False),
    ],
    ids=lambda value: str(getattr(value, "status", None) or getattr(value, "message", value)),
)
async def test_only_who_is_not_there_is_a_reason_to_ask_another(
    error: AIError, *, goes_on: bool
) -> None:
    team = stage("a", "b")
    team.puppets[0].error = error
    events = await team.ask()
    assert team.asked() == ([1, 1] if goes_on else [1, 0])
    assert events == ([Rerouted(error), *ANSWER] if goes_on else [ErrorEvent(error)])


async def test_after_the_first_event_no_other_member_is_asked() -> None:
    team = stage("a", "b")
    lost = AIError(503, "gone", status=503, details={"fault": "closed"})
    team.puppets[0].answer = lambda: [TextDelta("one "), ErrorEvent(lost)]
    assert await team.ask() == [TextDelta("one "), ErrorEvent(lost)]
    assert team.asked() == [1, 0]


async def test_a_model_of_some_members_goes_to_these_alone() -> None:
    team = stage("a", "b", "c")
    team.puppets[1].models = ("tiny", "big:latest")
    team.puppets[2].models = ("tiny", "big:latest")
    assert await team.names() == ["tiny", "big:latest"]
    for puppet in team.puppets:
        puppet.models = (*puppet.models, "big")
    for _ in range(4):
        assert await team.ask(ask_for("big")) == ANSWER
    assert team.asked() == [0, 2, 2]


async def test_before_any_listing_a_member_without_the_model_is_found_out_once() -> None:
    team = stage("a", "b")
    team.puppets[1].models = ("big",)
    first, *rest = await team.ask(ask_for("big"))
    assert isinstance(first, Rerouted)
    assert rest == ANSWER
    assert await team.ask(ask_for("big")) == ANSWER
    assert team.asked() == [1, 2]
    (*_, end) = await team.ask(ask_for("nowhere"))
    assert isinstance(end, ErrorEvent)
    assert end.error.code == ErrorCode.MODEL_NOT_FOUND


async def test_a_listing_leaves_out_the_dead_and_does_not_wait_for_the_slow() -> None:
    team = stage("a", "b", "c")
    a, b, c = team.puppets
    a.up, a.models, b.models, c.models = False, ("only-a",), ("only-b",), ("only-c",)
    assert await team.names() == ["only-b", "only-c"]
    c.hold = anyio.Event()
    with anyio.fail_after(3):
        assert await team.names() == ["only-b", "only-c"], "the slow one's last listing counts"
    assert a.listed == 1, "the dead one is not asked again so soon"
    a.up, team.clock.now = True, 2.0
    assert "only-a" in await team.names()


async def test_a_member_that_was_away_when_the_models_were_listed_is_tried_later() -> None:
    team = stage("a", "b")
    a, b = team.puppets
    b.up = False
    assert await team.names() == ["tiny"]
    b.up, team.clock.now = True, 2.0
    for _ in range(4):
        assert await team.ask() == ANSWER
    assert team.asked() == [2, 2]
    a.up = False
    (*_, last) = await team.ask()
    assert last == Finish("stop")


async def test_a_listing_without_any_answer_asks_the_dead_too_and_raises() -> None:
    team = stage("a", "b")
    for puppet in team.puppets:
        puppet.up = False
    for _ in range(2):
        with pytest.raises(AIError, match="None of the 2 servers"):
            await team.names()
    assert [puppet.listed for puppet in team.puppets] == [2, 2]


def test_a_model_on_several_members_is_what_is_true_of_all() -> None:
    sees = ModelCapability(frozenset({"text", "image"}), frozenset({"text"}), frozenset({"stream"}))
    reads = ModelCapability(frozenset({"text"}), frozenset({"text"}), frozenset({"stream"}))
    (info,) = merged(
        [
            [ModelInfo(name="m", context=8192, capability=sees, loaded=False)],
            [ModelInfo(name="m", context=4096, capability=reads, loaded=True)],
            [ModelInfo(name="m")],
        ]
    )
    assert (info.context, info.capability, info.loaded) == (4096, reads, True)


SEES = ModelCapability(frozenset({"text", "image"}), frozenset({"text"}), frozenset({"tool_use"}))


@pytest.mark.parametrize("turned", [False, True])
def test_an_ability_is_known_where_all_members_with_the_model_tell_it(turned: bool) -> None:
    telling = ModelInfo(name="m", capability=SEES)
    silent = ModelInfo(name="m")
    listings = [[telling], [silent]]
    (info,) = merged(reversed(listings) if turned else listings)
    found = capabilities_of(info)
    assert {found.ability(name).source for name in ABILITIES} == {"assumed"}
    info, _other = merged([[telling], [ModelInfo(name="other")], [telling]])
    assert capabilities_of(info) == capabilities_of(telling)


@pytest.mark.parametrize("turned", [False, True])
def test_what_only_one_member_was_set_to_is_not_set_for_all(turned: bool) -> None:
    telling = ModelInfo(name="m", capability=SEES, context=4096)
    corrected = with_overrides(telling, ModelOverrides(vision=False, context=2048))
    listings = [[telling], [corrected]]
    (info,) = merged(reversed(listings) if turned else listings)
    assert info.chosen == frozenset()
    assert (info.context, capabilities_of(info).vision) == (2048, Fact(False, "known"))
    (info,) = merged([[corrected], [corrected]])
    assert capabilities_of(info) == capabilities_of(corrected)


async def test_the_least_busy_member_is_asked() -> None:
    team = stage("a", "b")
    busy = team.puppets[0]
    busy.hold = anyio.Event()
    async with team.pool.chat_stream(ask_for()):
        with anyio.fail_after(2):
            while not busy.asked:
                await anyio.lowlevel.checkpoint()
        for _ in range(3):
            async with team.pool.chat_stream(ask_for()) as stream:
                assert [event async for event in stream] == ANSWER
    assert team.asked() == [1, 3]


PORTS = {
    port
    for module in (ports, media_ports)
    for _, port in inspect.getmembers(module, inspect.isclass)
    if port.__module__ == module.__name__
    and getattr(port, "_is_runtime_protocol", False)
    and port.__name__.startswith(("Supports", "Remembers"))
}


ONE_SERVERS = {ports.RemembersListError}
"""What a pool has no part of."""


def test_every_optional_port_has_its_part_of_a_pool() -> None:
    needed = [{*vars(port), *port.__annotations__} for port in PORTS - ONE_SERVERS]
    assert {name for names in needed for name in names if not name.startswith("_")} == OFFERS


class Counting(Puppet):
    async def count_tokens(self, request: Request) -> int:
        self.asked += 1
        return len(request.model)


async def test_a_count_and_a_list_before_each_prompt_take_no_turn() -> None:
    members = [Counting("a"), Counting("b"), Counting("c")]
    team = Stage(*members)
    totals = [0, 0, 0]
    for _ in range(6):
        assert isinstance(team.pool, ports.SupportsTokenCount)
        before = team.asked()
        await team.pool.count_tokens(Request(model="m", input="x"))
        counted = [now - then for now, then in zip(team.asked(), before, strict=True)]
        await team.names()
        assert await team.ask() == ANSWER
        asked = [n - t - c for n, t, c in zip(team.asked(), before, counted, strict=True)]
        assert counted == asked, "who counts is who answers"
        totals = [one + more for one, more in zip(totals, asked, strict=True)]
    assert totals == [2, 2, 2]


class Reader(Puppet):
    """A member that knows its tokenizer, and makes vectors."""

    async def count_text_tokens(self, _model: str, text: str) -> int:
        self.refuse()
        return len(text)

    async def embed(self, request: Request) -> Response:
        self.refuse()
        return Response(content=(EmbeddingContent((float(len(request.model)),)),))

    def refuse(self) -> None:
        self.asked += 1
        if not self.up:
            raise refused(self.address)


class Owner(Counting):
    """A member that also changes models."""

    async def delete_model(self, name: str) -> None:
        if name not in self.models:
            raise AIError(ErrorCode.MODEL_NOT_FOUND, f"{self.address} has no {name}.")
        self.models = [model for model in self.models if model != name]

    async def dispose(self) -> None:
        self.up = False


@pytest.mark.parametrize(
    "kinds",
    [
        (Counting, Counting),
        (Counting, Puppet),
        (Owner, Counting),
        (Owner, Owner),
        (Reader, Reader),
        (Reader, Counting),
    ],
)
def test_a_pool_offers_exactly_what_all_its_members_do(kinds: Sequence[type[Puppet]]) -> None:
    members = [kind(str(n)) for n, kind in enumerate(kinds)]
    pool = Stage(*members).pool
    for port in PORTS:
        offered = all(isinstance(member, port) for member in members)
        assert isinstance(pool, port) == offered, port
    assert isinstance(pool, ProviderAdapter)


async def test_what_changes_models_is_done_by_every_member_that_has_it() -> None:
    owners = [Owner("a", models=("m", "n")), Owner("b", models=("n",)), Owner("c", models=("m",))]
    team = Stage(*owners)
    await team.names()
    assert isinstance(team.pool, ports.SupportsDelete)
    await team.pool.delete_model("m")
    assert [list(owner.models) for owner in owners] == [["n"], ["n"], []]
    assert isinstance(team.pool, ports.SupportsTokenCount)
    assert await team.pool.count_tokens(ask_for("n")) == 1
    assert isinstance(team.pool, ports.SupportsDispose)
    await team.pool.dispose()
    assert not any(owner.up for owner in owners)


async def test_a_member_without_the_model_is_no_failure_where_another_one_has_it() -> None:
    owners = [Owner("a", models=("m",)), Owner("b", models=("n",))]
    team = Stage(*owners)
    assert isinstance(team.pool, ports.SupportsDelete)
    await team.pool.delete_model(name="m")
    assert [list(owner.models) for owner in owners] == [[], ["n"]]
    with pytest.raises(AIError) as caught:
        await team.pool.delete_model("nowhere")
    assert caught.value.code == ErrorCode.MODEL_NOT_FOUND


async def test_texts_are_counted_and_embedded_by_the_first_member_that_answers() -> None:
    team = Stage(Reader("a", up=False), Reader("b"))
    assert isinstance(team.pool, ports.SupportsTextTokenCount)
    assert isinstance(team.pool, ports.SupportsEmbed)
    assert await team.pool.count_text_tokens("tiny", "hello") == 5
    made = await team.pool.embed(Request(model="tiny", input="hello"))
    assert made.content == (EmbeddingContent((4.0,)),)
    assert team.asked() == [1, 2], "a dead member is asked once"


async def test_a_pool_takes_arguments_by_the_names_of_the_protocol() -> None:
    class OwnNames(Counting):
        async def show_model(self, _name: str) -> ModelInfo:
            return ModelInfo(name=_name)

        async def count_tokens(self, _request: Request) -> int:
            return 7

        async def count_text_tokens(self, _model: str, _text: str) -> int:
            return len(_text)

        async def embed(self, _request: Request) -> Response:
            return Response(content=())

    pool = Stage(OwnNames("a")).pool
    assert isinstance(pool, ports.SupportsShow)
    assert isinstance(pool, ports.SupportsTokenCount)
    assert isinstance(pool, ports.SupportsTextTokenCount)
    assert isinstance(pool, ports.SupportsEmbed)
    assert (await pool.show_model(name="tiny")).name == "tiny"
    assert await pool.count_tokens(request=ask_for()) == 7
    assert await pool.count_text_tokens(text="hello", model="tiny") == 5
    assert await pool.embed(request=ask_for()) == Response(content=())


async def test_a_signal_between_two_members_ends_with_an_abort() -> None:
    team = stage("a", "b")
    signal = AbortSignal()
    a, b = team.puppets
    a.up = False
    b.answer = lambda: [Finish("abort")] if signal.aborted else ANSWER
    events = []
    async with team.pool.chat_stream(ask_for(signal=signal)) as stream:
        signal.abort()
        events = [event async for event in stream]
    assert events[-1] == Finish("abort")
    assert (a.open, b.open) == (0, 0)


async def test_an_aborted_request_does_not_tell_that_its_member_is_up() -> None:
    team = stage("a", "b")
    a, b = team.puppets
    a.models, b.models = ("tiny", "only-a"), ("tiny",)
    await team.names()
    a.up = False
    while not a.asked:
        await team.ask()
    a.up = True
    a.answer = lambda: [Finish("abort")]
    assert await team.ask(ask_for("only-a")) == [Finish("abort")]
    a.up = False
    for _ in range(2):
        assert await team.ask() == ANSWER


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("dead", [0, 1, 2])
@pytest.mark.parametrize("wanted", range(5))
async def test_a_cancel_at_any_event_leaves_no_member_asked(
    wanted: int, dead: int, times: int
) -> None:
    team = stage("a", "b", "c")
    for puppet in team.puppets[:dead]:
        puppet.up = False
    reached, seen = anyio.Event(), 0

    async def read() -> None:
        nonlocal seen
        async with team.pool.chat_stream(ask_for()) as stream:
            while True:
                if seen == wanted:
                    reached.set()
                    await anyio.sleep_forever()
                try:
                    await anext(stream)
                except StopAsyncIteration:
                    reached.set()
                    await anyio.sleep_forever()
                seen += 1

    task = asyncio.get_running_loop().create_task(read())
    await reached.wait()
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [puppet.open for puppet in team.puppets] == [0, 0, 0]
    states = [team.pool._selection.health.busy(m) for m in range(3)]
    assert states == [0, 0, 0]
    for puppet in team.puppets:
        puppet.up = True
    assert (await team.ask())[-3:] == ANSWER


class Puller(Puppet):
    """A member that fetches models, and knows whether somebody still looks."""

    pulls = 0

    async def pull_model(self, name: str) -> AsyncIterator[PullProgress]:
        if not self.up:
            raise refused(self.address)
        self.pulls += 1
        try:
            for step in range(3):
                yield PullProgress(status=f"{self.address} {name} {step}")
        finally:
            self.pulls -= 1


async def test_a_model_is_fetched_to_every_member_and_a_dead_one_is_reported_at_the_end() -> None:
    pullers = [Puller("a"), Puller("b", up=False), Puller("c")]
    pool = Stage(*pullers).pool
    seen = []
    with pytest.raises(AIError, match="Server does not answer at b"):
        async with pulling(pool, "m") as steps:
            async for progress in steps:
                seen.append(progress.status)
    assert seen == [f"{address} m {step}" for address in "ac" for step in range(3)]


@pytest.mark.parametrize("wanted", range(8))
async def test_a_download_that_is_left_at_any_step_is_closed(wanted: int) -> None:
    pullers = [Puller("a"), Puller("b")]
    stage = Stage(*pullers)
    seen = 0
    async with pulling(stage.pool, "m") as steps:
        while seen < wanted:
            try:
                with anyio.fail_after(5):
                    await anext(steps)
            except StopAsyncIteration:
                break
            seen += 1
    assert seen == min(wanted, 6)
    assert [puller.pulls for puller in pullers] == [0, 0]
    assert [stage.pool._selection.health.busy(m) for m in range(2)] == [0, 0]
