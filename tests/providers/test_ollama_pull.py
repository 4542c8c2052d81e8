"""A pull is watched to its end, ends in one way, and leaves no connection behind."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import PullProgress
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.ollama import OllamaProvider
from ollm_tui.providers.ollama.pull import PullLines
from ollm_tui.providers.operations import pulling
from ollm_tui.providers.spec import ProviderSpec
from tests.support.corpus import CORPUS, needs_corpus
from tests.support.fake_ollama import LARGE, SMALL, OllamaServer
from tests.support.guarded.fair_clock import sleep
from tests.support.http_server import Handler, Received, Reply, Server, serve

ENDPOINT = Endpoint("p", "Ollama", "localhost:11434", "Start it.")
LAYER = {"status": "pulling a", "digest": "sha256:a", "total": 10, "completed": 4}


@asynccontextmanager
async def ollama(
    handler: Handler, *, first_s: float = 5.0, idle_s: float = 5.0
) -> AsyncIterator[tuple[OllamaProvider, Server]]:
    async with serve(handler) as server:
        spec = ProviderSpec(
            name="local",
            kind="ollama",
            label="Ollama",
            base_url=server.url,
            first_byte_timeout_s=first_s,
            idle_timeout_s=idle_s,
        )
        provider = OllamaProvider(spec)
        try:
            yield provider, server
        finally:
            await provider.dispose()


def saying(*lines: object, status: int = 200) -> Handler:
    async def answer(_request: Received, reply: Reply) -> None:
        body = "".join(line if isinstance(line, str) else f"{json.dumps(line)}\n" for line in lines)
        await reply.whole(body.encode(), status, "application/x-ndjson")

    return answer


async def pulled(provider: OllamaProvider, name: str) -> tuple[list[PullProgress], AIError | None]:
    steps: list[PullProgress] = []
    try:
        async for step in provider.pull_model(name):
            steps.append(step)
    except AIError as error:
        return steps, error
    return steps, None


def read(pieces: list[bytes]) -> tuple[list[PullProgress], PullLines]:
    lines = PullLines(ENDPOINT)
    steps = [step for piece in pieces for step in lines.feed(piece)]
    return steps + lines.finish(), lines


def recorded() -> list[tuple[str, bytes, dict[str, Any]]]:
    return [
        (path.parent.name, path.with_name("body.bin").read_bytes(), json.loads(path.read_text()))
        for path in sorted(Path(CORPUS).glob("pull/*/meta.json"))
    ]


def check_recorded(steps: list[PullProgress], error: AIError | None, expected: Any) -> None:
    assert [status for status, _ in groupby(step.status for step in steps)] == expected["statuses"]
    last = {step.digest: step for step in steps if step.digest}
    assert set(last) == set(expected["layers"])
    for digest, sizes in expected["layers"].items():
        assert (last[digest].total, last[digest].completed) == (sizes["total"], sizes["completed"])
    assert (error is None) == expected["success"]
    if expected["error"]:
        assert error is not None
        assert error.message == expected["error"]["message"]
    elif not expected["success"]:
        assert error is not None
        assert error.code == ErrorCode.STREAM_INCOMPLETE


@needs_corpus
@pytest.mark.parametrize(("name", "body", "meta"), recorded(), ids=lambda v: str(v)[:30])
async def test_a_recorded_pull_is_read_and_cut_anywhere_reads_the_same(
    name: str, body: bytes, meta: dict[str, Any]
) -> None:
    async def answer(_request: Received, reply: Reply) -> None:
        await reply.start(content_type=meta["content_type"])
        await reply.write(body)

    async with ollama(answer) as (provider, _server):
        steps, error = await pulled(provider, name)
    check_recorded(steps, error, meta["expected"])
    for cut in range(len(body)):
        again, lines = read([body[:cut], body[cut:]])
        assert again == steps
        assert (lines.failure is None) == (error is None)
    whole, lines = read([bytes([byte]) for byte in body])
    assert whole == steps
    assert lines.succeeded == meta["expected"]["success"]


async def test_layers_come_side_by_side_and_success_ends_the_pull() -> None:
    fake = OllamaServer()
    async with ollama(fake) as (provider, server):
        steps, error = await pulled(provider, "new")
        await server.settled()
        assert [info.name for info in await provider.list_models()] == [
            "tiny:latest",
            "thinker:latest",
            "new:latest",
        ]
    assert error is None
    assert (steps[0].status, steps[-1].status) == ("pulling manifest", "success")
    assert {step.digest for step in steps[1:4]} == {f"sha256:{'aa' * 32}", f"sha256:{'bb' * 32}"}
    small = [step for step in steps if step.total == SMALL]
    assert (small[0].completed, small[-1].completed) == (None, SMALL)
    assert server.received[0].json() == {"model": "new", "stream": True}


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("missing", ErrorCode.MODEL_NOT_FOUND, "does not exist"),
        ("broken", ErrorCode.SERVICE_UNAVAILABLE, "no such host"),
        ("cut", ErrorCode.STREAM_INCOMPLETE, "cut off"),
        ("half", ErrorCode.STREAM_INCOMPLETE, "cut off"),
        ("stuck", ErrorCode.TIMEOUT, "download stalled: Ollama sent nothing for 0.2 s"),
    ],
)
async def test_without_success_it_has_failed_and_the_connection_is_closed(
    name: str, code: ErrorCode, words: str
) -> None:
    async with ollama(OllamaServer(), idle_s=0.2) as (provider, server):
        steps, error = await pulled(provider, name)
        await server.settled()
    assert error is not None
    assert (error.code, error.provider) == (code, "local")
    assert words in error.message
    assert error.hint
    assert steps[0].status == "pulling manifest", "what came before the failure was given"
    assert name == "missing" or steps[-1].digest
    assert error.retryable == (name == "broken")


async def test_a_repeated_pull_goes_on_where_the_last_one_stopped() -> None:
    fake = OllamaServer()
    async with ollama(fake) as (provider, _server):
        before, error = await pulled(provider, "broken")
        after, none = await pulled(provider, "broken")
    assert error is not None
    assert none is None
    done = [step.completed or 0 for step in before if step.total == LARGE]
    more = [step.completed or 0 for step in after if step.total == LARGE]
    assert done[-1] < more[0]
    assert more[-1] == LARGE


@pytest.mark.parametrize("leave_after", range(1, 5))
async def test_leaving_early_closes_the_connection(leave_after: int) -> None:
    async with ollama(OllamaServer()) as (provider, server):
        async with pulling(provider, "stuck") as progress:
            for _ in range(leave_after):
                with anyio.fail_after(5):
                    await anext(progress)
        await server.settled()
        assert len(server.disconnects) == 1
        with pytest.raises(StopAsyncIteration):
            await anext(progress)


async def test_a_step_may_stand_below_a_scope_of_the_reader() -> None:
    async with ollama(OllamaServer()) as (provider, server):
        statuses: list[str] = []
        async with pulling(provider, "new") as progress:
            while not statuses or statuses[-1] != "success":
                with anyio.fail_after(5):
                    statuses.append((await anext(progress)).status)
            with anyio.fail_after(5), pytest.raises(StopAsyncIteration):
                await anext(progress)
        async with pulling(provider, "stuck") as progress:
            with anyio.move_on_after(0.2) as scope:
                async for _step in progress:
                    pass
            assert scope.cancelled_caught
        await server.settled()


async def test_a_reader_who_was_away_is_no_silence_of_the_server() -> None:
    async def answer(_request: Received, reply: Reply) -> None:
        await reply.start()
        await reply.write(json.dumps(LAYER).encode() + b"\n")
        await reply.write(json.dumps({**LAYER, "completed": 8}).encode() + b"\n")
        await came_back.wait()
        await reply.write(b'{"status": "success"}\n')

    came_back = anyio.Event()
    async with ollama(answer, idle_s=0.1) as (provider, _), pulling(provider, "m") as progress:
        first = await anext(progress)
        await anyio.sleep(0.2)
        second = await anext(progress)
        came_back.set()
        last = await anext(progress)
    assert (first.completed, second.completed, last.status) == (4, 8, "success")


async def test_a_program_that_was_held_up_reads_what_came_meanwhile() -> None:
    async def answer(_request: Received, reply: Reply) -> None:
        await reply.start()
        await reply.write(json.dumps(LAYER).encode() + b"\n")
        await is_read.wait()
        await anyio.wait_all_tasks_blocked()  # the next one is waited for
        sleep(0.3)  # nothing runs meanwhile, as after Ctrl+Z: the clock runs out
        await reply.write(json.dumps({**LAYER, "completed": 8}).encode() + b"\n")
        await reply.write(b'{"status": "success"}\n')

    is_read = anyio.Event()
    async with ollama(answer, idle_s=0.2) as (provider, _server):
        seen = []
        async for step in provider.pull_model("m"):
            seen.append(step.completed)
            is_read.set()
    assert seen == [4, 8, None]


async def test_what_is_no_line_does_not_keep_a_pull_alive() -> None:
    async def answer(_request: Received, reply: Reply) -> None:
        await reply.start()
        await reply.write(json.dumps(LAYER).encode() + b"\n")
        while True:
            await reply.write(b" ")
            await anyio.sleep(0.02)

    async with ollama(answer, idle_s=0.2) as (provider, server):
        with anyio.fail_after(5):
            steps, error = await pulled(provider, "m")
        await server.settled()
    assert len(steps) == 1
    assert error is not None
    assert error.code == ErrorCode.TIMEOUT


@pytest.mark.parametrize("cancels", [1, 2])
@pytest.mark.parametrize("steps", range(6))
async def test_a_cancelled_pull_closes_the_connection(steps: int, cancels: int) -> None:
    async with ollama(OllamaServer()) as (provider, server):
        seen, reached = 0, anyio.Event()

        async def watch() -> None:
            nonlocal seen
            async for _step in provider.pull_model("stuck"):
                seen += 1
                if seen == steps:
                    reached.set()

        task = asyncio.get_running_loop().create_task(watch())
        if steps:
            await reached.wait()
        else:
            await anyio.wait_all_tasks_blocked()
        for _ in range(cancels):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.settled()
        assert (await provider.list_models())[0].name == "tiny:latest", "it can still be used"


async def test_an_outer_scope_ends_a_pull_that_stands_still() -> None:
    async with ollama(OllamaServer()) as (provider, server):
        with anyio.move_on_after(0.2) as scope:
            await pulled(provider, "stuck")
        assert scope.cancelled_caught
        await server.settled()


async def test_checking_a_sum_may_take_longer_than_a_pause_between_bytes() -> None:
    async def answer(_request: Received, reply: Reply) -> None:
        await reply.start()
        await reply.write(json.dumps(LAYER).encode() + b"\n")
        await reply.write(b'{"status": "verifying sha256 digest"}\n')
        await anyio.sleep(0.3)
        await reply.write(b'{"status": "success"}\n')

    async with ollama(answer, idle_s=0.1) as (provider, _server):
        steps, error = await pulled(provider, "m")
    assert error is None
    assert steps[-1].status == "success"


async def test_a_server_that_never_answers_is_given_up() -> None:
    async def answer(_request: Received, _reply: Reply) -> None:
        await anyio.sleep_forever()

    async with ollama(answer, first_s=0.2) as (provider, server):
        steps, error = await pulled(provider, "m")
        await server.settled()
    assert steps == []
    assert error is not None
    assert error.code == ErrorCode.TIMEOUT


@pytest.mark.parametrize(
    ("lines", "code", "words"),
    [
        ((), ErrorCode.ENGINE_ERROR, "without sending anything"),
        (("<html><title>Log in</title>",), ErrorCode.SERVICE_UNAVAILABLE, "web page"),
        (("upstream is down\n",), ErrorCode.INTERNAL_ERROR, "upstream is down"),
        (({"error": {"message": "odd"}},), ErrorCode.INTERNAL_ERROR, "odd"),
        (({"error": "write: no space left on device"},), ErrorCode.INTERNAL_ERROR, "no space"),
        (("x" * (9 * 1024 * 1024),), ErrorCode.ENGINE_ERROR, "broke a limit"),
        (('{"a": [' + "[]," * 200_000 + "[]]}\n",), ErrorCode.ENGINE_ERROR, "broke a limit"),
    ],
)
async def test_nonsense_in_place_of_progress_is_a_failure_that_quotes_it(
    lines: tuple[object, ...], code: ErrorCode, words: str
) -> None:
    async with ollama(saying(*lines)) as (provider, _server):
        steps, error = await pulled(provider, "m")
    assert steps == []
    assert error is not None
    assert error.code == code
    assert words in error.message


async def test_lines_that_say_nothing_are_passed_over() -> None:
    lines = ("\n", "nonsense\n", "[1]\n", {"total": 5}, {"status": 7}, {"error": None, **LAYER})
    odd = LAYER | {"total": -1, "completed": "4"}
    async with ollama(saying(*lines, odd, {"status": "success"}, LAYER)) as (provider, _server):
        steps, error = await pulled(provider, "m")
    assert error is None
    assert [step.status for step in steps] == ["pulling a", "pulling a", "success"]
    assert (steps[1].total, steps[1].completed) == (None, None)


async def test_a_server_without_pulling_is_distinguished_from_a_model_that_is_missing() -> None:
    async def no_such_path(_request: Received, reply: Reply) -> None:
        await reply.whole(b"404 page not found", 404, "text/plain")

    async with ollama(no_such_path) as (provider, _server):
        _, without = await pulled(provider, "m")
    async with ollama(saying({"error": "model 'm' not found"}, status=404)) as (provider, _server):
        _, missing = await pulled(provider, "m")
    assert without is not None
    assert (without.code, without.status) == (ErrorCode.UNSUPPORTED_FEATURE, 404)
    assert "cannot pull models" in without.message
    assert missing is not None
    assert missing.code == ErrorCode.MODEL_NOT_FOUND


async def test_a_private_model_names_the_page_to_sign_in_at() -> None:
    refusal_body = {"error": "unauthorized", "signin_url": "https://ollama.com/connect/x"}
    async with ollama(saying(refusal_body, status=401)) as (provider, _server):
        _, error = await pulled(provider, "m")
    assert error is not None
    assert error.code == ErrorCode.AUTH_FAILED
    assert error.hint == "Sign in at https://ollama.com/connect/x"


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.sampled_from(
                [json.dumps(LAYER).encode(), b'{"status":"success"}', b'{"error":"x"}']
            ),
            st.just(b"\n"),
        )
    ),
    st.data(),
)
def test_any_bytes_end_in_one_way_however_they_are_cut(
    parts: list[bytes], data: st.DataObject
) -> None:
    body = b"".join(parts)
    steps, lines = read([body])
    assert lines.ended
    assert lines.succeeded != (lines.failure is not None)
    cut = data.draw(st.integers(0, len(body)))
    again, other = read([body[:cut], body[cut:]])
    assert again == steps
    assert (other.succeeded, other.failure) == (lines.succeeded, lines.failure)


async def test_no_server_answers_where_a_pull_was_asked_for() -> None:
    provider = OllamaProvider(
        ProviderSpec(name="local", kind="ollama", base_url="http://127.0.0.1:1")
    )
    _, error = await pulled(provider, "m")
    await provider.dispose()
    assert error is not None
    assert error.code == ErrorCode.SERVICE_UNAVAILABLE
