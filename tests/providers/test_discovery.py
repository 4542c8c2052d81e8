"""Telling engines apart by what only they say, within a second, whatever else answers."""

import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.config.backends import LLAMACPP_ROUTER
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.providers.discovery import ConnectionOptions, Discovery, probe
from ollm_tui.providers.fingerprint import PATHS, ProbeReply, identify
from tests.providers.certificates import make_authority
from tests.providers.engines import SHAPES
from tests.support import corpus
from tests.support.http_server import Received, Reply, serve

Bad = Callable[[Received, Reply], Awaitable[None]]


@pytest.mark.parametrize("name", SHAPES)
async def test_every_server_is_known_as_what_it_is(name: str) -> None:
    shape = SHAPES[name]
    async with serve(shape) as server:
        engine = (await probe(f"{server.url}/v1")).engine
    assert engine is not None
    assert engine.backend == shape.backend
    assert engine.version == shape.version
    assert engine.speaks_openai == shape.speaks_openai
    assert engine.wants_key == shape.wants_key
    assert {request.path for request in server.received} <= set(PATHS)


async def test_servers_without_a_backend_are_named_where_they_say_who_they_are() -> None:
    async with serve(SHAPES["sglang"]) as server:
        probe_result = await probe(server.url)
    assert probe_result.engine is not None
    assert probe_result.engine.label == "SGLang"


@corpus.needs_corpus
def test_recorded_replies_tell_their_engine() -> None:
    of_engine: dict[str, dict[str, ProbeReply]] = defaultdict(
        lambda: dict.fromkeys(PATHS, ProbeReply(404))
    )
    for case in corpus.load_cases("api_replies"):
        name = str(case["id"]).partition("-")[0]
        if case["method"] == "GET":
            of_engine[name][str(case["path"])] = ProbeReply(200, case["reply"])
    expected = {"ollama": "ollama", "koboldcpp": "kobold", "llamacpp": "llamacpp"}
    found = {name: identify(of_engine[name]) for name in (*expected, "lmstudio")}
    backends = {name: engine.backend for name, engine in found.items() if engine}
    assert backends == expected | {"lmstudio": "lmstudio"}


async def test_no_server_is_found_where_there_is_none() -> None:
    async with serve(SHAPES["vllm"]) as server:
        pass
    probe_result = await probe(server.url)
    assert (probe_result.engine, probe_result.latency_s) == (None, None)
    assert probe_result.failure == "no answer"


@pytest.mark.parametrize("missing", PATHS)
@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if shape.backend])
async def test_an_answer_that_did_not_come_makes_no_server_another(name: str, missing: str) -> None:
    shape = SHAPES[name]
    replies = {path: shape.reply_to(path) for path in PATHS if path != missing}
    engine = identify(replies)
    assert engine is not None
    alike = (
        "llamacpp" if shape.backend == LLAMACPP_ROUTER else None
    )  # the same server, asked for less
    assert engine.backend in (None, shape.backend, alike)


async def silent(_request: Received, _reply: Reply) -> None:
    await anyio.sleep_forever()


async def endless(_request: Received, reply: Reply) -> None:
    await reply.start()
    while True:
        await reply.write(b'{"version": "1"} ' * 100)


async def dripping(_request: Received, reply: Reply) -> None:
    await reply.start()
    while True:
        await reply.write(b" ")
        await anyio.sleep(0.01)


async def headers_without_end(_request: Received, reply: Reply) -> None:
    await reply.raw(b"HTTP/1.1 200 OK\r\n")
    while True:
        await reply.raw(b"x-more: " + b"y" * 1000 + b"\r\n")


async def no_http(_request: Received, reply: Reply) -> None:
    await reply.raw(b"SSH-2.0-OpenSSH_9.9\r\n")
    reply.cut()


async def cut(_request: Received, reply: Reply) -> None:
    await reply.start()
    await reply.write(b'{"version"')
    reply.cut()


@pytest.mark.parametrize("bad", [silent, endless, dripping, headers_without_end, no_http, cut])
async def test_no_server_costs_more_than_the_patience(bad: Bad) -> None:
    async with serve(bad) as server:
        began = time.monotonic()
        with anyio.fail_after(5):
            probe_result = await probe(server.url, timeout_s=0.3)
        assert probe_result.engine is None or probe_result.engine.backend is None
        assert time.monotonic() - began < 2.5
        await server.settled()
    assert server.connections == 0


@pytest.mark.parametrize(("lists", "backend"), [(1_000, "kobold"), (150_000, None)])
async def test_a_reply_of_more_values_than_are_taken_tells_nothing(
    lists: int, backend: str | None
) -> None:
    crowd = ",".join(["[]"] * lists)
    body = f'{{"result": "KoboldCpp", "version": "1.2", "more": [{crowd}]}}'.encode()

    async def answer(_request: Received, reply: Reply) -> None:
        await reply.whole(body)

    async with serve(answer) as server:
        engine = (await probe(server.url)).engine
    assert engine is not None
    assert engine.backend == backend


async def test_a_redirect_is_not_followed_and_nothing_secret_is_sent() -> None:
    async with serve(SHAPES["ollama"]) as other:

        async def away(request: Received, reply: Reply) -> None:
            await reply.whole(b"", 307, headers={"location": f"{other.url}{request.path}"})

        async with serve(away) as server:
            url = server.url.replace("http://", "http://somebody:s3cret-word@")
            engine = (await probe(f"{url}/v1?key=s3cret-word")).engine
    assert engine is not None
    assert engine.backend is None
    assert other.received == []
    heads = [f"{request.path} {dict(request.headers)}" for request in server.received]
    assert not [head for head in heads if "s3cret" in head or "authorization" in head]


async def test_a_server_is_asked_once_however_many_want_to_know() -> None:
    async with serve(SHAPES["vllm"]) as server:
        discovery = Discovery()
        async with anyio.create_task_group() as group:
            for address in (server.url, f"{server.url}/v1", f"{server.url}/"):
                group.start_soon(discovery.look, address)
        assert len(server.received) == len(PATHS)
        known = discovery.known(server.url)
        assert known is not None
        assert known is await discovery.look(server.url)
        discovery.forget()
        assert discovery.known(server.url) is None
        await discovery.look(server.url)
    assert len(server.received) == 2 * len(PATHS)


async def test_an_answer_grows_old() -> None:
    now = [0.0]
    async with serve(SHAPES["vllm"]) as server:
        discovery = Discovery(max_age_s=30, clock=lambda: now[0])
        for now[0], asked in ((0, 1), (29, 1), (30, 2), (31, 2)):
            await discovery.look(server.url)
            assert len(server.received) == asked * len(PATHS)


async def test_an_address_that_is_none_says_so() -> None:
    with pytest.raises(AIError, match="not usable"):
        await Discovery().look("ftp://example")


async def test_looking_for_engines_here_loads_no_certificates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def load(*_args: object, **_more: object) -> None:
        pytest.fail("loading certificates holds up the screen for 20 ms, once for each engine")

    monkeypatch.setattr("ssl.create_default_context", load)
    async with serve(SHAPES["vllm"]) as server:
        engine = (await probe(server.url.replace("127.0.0.1", "localhost"))).engine
    assert engine is not None
    assert engine.backend == "vllm"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["data", "models", "version", "result", "owned_by", "endpoints", "state"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(
    bodies=st.dictionaries(st.sampled_from(PATHS), JSON),
    status=st.sampled_from([200, 200, 200, 401, 404, 503]),
    header=st.text(max_size=12),
)
def test_whatever_is_answered_a_server_or_none_is_reported(
    bodies: dict[str, JsonValue], status: int, header: str
) -> None:
    engine = identify({path: ProbeReply(status, body, header) for path, body in bodies.items()})
    assert (engine is None) == (not bodies)
    assert engine is None or engine.version is None or "\x1b" not in engine.version


async def test_a_server_with_a_certificate_of_its_own_is_known_where_its_authority_is(
    tmp_path: Path,
) -> None:
    authority = make_authority(tmp_path)
    async with serve(SHAPES["vllm"], tls=authority.server("127.0.0.1")) as server:
        stranger = await probe(server.url)
        known = await probe(server.url, ConnectionOptions(ca_file=authority.file))
    assert stranger.engine is None
    assert known.engine is not None
    assert known.engine.backend == "vllm"


async def test_a_probe_of_this_machine_takes_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(SHAPES["ollama"]) as proxy, serve(SHAPES["vllm"]) as server:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        engine = (await probe(server.url, ConnectionOptions(proxy=proxy.url))).engine
    assert engine is not None
    assert engine.backend == "vllm"
    assert proxy.received == []
