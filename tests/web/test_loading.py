"""One page: checked at every redirect, bounded in size, time and packing, without a proxy."""

import gzip
import ipaddress
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager

import anyio
import httpcore
import pytest
import trustme

from ollm_tui.web.addresses import read_address
from ollm_tui.web.loading import PageLoader
from ollm_tui.web.page import MAX_BYTES, LoadedPage, LoadFailure
from tests.support.http_server import Received, Reply, Server, raw_server, sending, serve

HERE = [ipaddress.ip_network("127.0.0.0/8")]


async def to_loopback(_host: str, _port: int) -> list[str]:
    return ["127.0.0.1"]


@asynccontextmanager
async def site(
    handler: Callable[[Received, Reply], Awaitable[None]],
) -> AsyncIterator[tuple[PageLoader, Server]]:
    async with serve(handler) as server:
        yield PageLoader(HERE, resolve=to_loopback, within_s=5), server


async def load(loader: PageLoader, server: Server, path: str = "/") -> LoadedPage:
    with anyio.fail_after(20):
        return await loader.load(read_address(f"http://site.example:{server.port}{path}"))


async def test_a_page_is_asked_for_with_its_own_host_and_nothing_of_the_person(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")

    async def page(_request: Received, reply: Reply) -> None:
        await reply.whole("grüß".encode("latin-1"), content_type="text/plain; charset=latin-1")

    async with site(page) as (loader, server):
        loaded = await load(loader, server, "/a?b=c")
        (request,) = server.received
    assert (request.method, request.path) == ("GET", "/a?b=c")
    assert request.headers["host"] == f"site.example:{server.port}"
    assert set(request.headers) == {
        *("host", "user-agent", "accept", "accept-encoding", "connection")
    }
    assert (loaded.media_type, loaded.charset, loaded.status) == ("text/plain", "latin-1", 200)
    assert (bytes(loaded.body), loaded.stopped) == ("grüß".encode("latin-1"), "")


class Network(httpcore.AsyncNetworkBackend):
    """Notes what is dialled, and answers with a page."""

    def __init__(self) -> None:
        self.dialled: list[tuple[str, int]] = []

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        self.dialled.append((host, port))
        return httpcore.AsyncMockStream(
            [b"HTTP/1.1 302 Found\r\nlocation: /next\r\ncontent-length: 0\r\n\r\n"]
        )


async def test_a_name_that_changes_its_address_never_leads_inside() -> None:
    answers: list[str] = []

    async def rebinding(_host: str, _port: int) -> list[str]:
        answers.append("93.184.216.34" if len(answers) % 2 == 0 else "127.0.0.1")
        return answers[-1:]

    network = Network()
    for _try in range(100):
        with pytest.raises(LoadFailure, match=r"private address \(127.0.0.1\)"):
            await PageLoader(resolve=rebinding, network=network).load(
                read_address("http://rebound.example/")
            )
    assert network.dialled == [("93.184.216.34", 80)] * 100
    assert len(answers) == 200


async def test_one_private_address_among_others_refuses_the_name() -> None:
    async def mixed(_host: str, _port: int) -> list[str]:
        return ["93.184.216.34", "10.0.0.1"]

    network = Network()
    with pytest.raises(LoadFailure, match=r"10\.0\.0\.1"):
        await PageLoader(resolve=mixed, network=network).load(read_address("http://mixed.example/"))
    assert network.dialled == []


async def test_redirects_stay_with_the_host_and_end() -> None:
    async def hops(request: Received, reply: Reply) -> None:
        where = {"/away": "http://other.example/", "/file": "file:///etc/passwd"}
        target = where.get(request.path, "/again")
        await reply.whole(b"moved", 302, "text/html", {"location": target})

    async with site(hops) as (loader, server):
        with pytest.raises(LoadFailure, match="over 5 redirects"):
            await load(loader, server)
        assert len(server.received) == 6
        assert (await load(loader, server, "/away")).elsewhere == "http://other.example/"
        with pytest.raises(LoadFailure, match="redirects to no page"):
            await load(loader, server, "/file")


async def endless(_request: Received, reply: Reply) -> None:
    await reply.start(content_type="text/plain")
    while True:
        await reply.write(b"x" * 65536)


async def bomb(_request: Received, reply: Reply) -> None:
    packer = zlib.compressobj(wbits=31)
    body = b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()
    await reply.whole(body, content_type="text/plain", headers={"content-encoding": "gzip"})


@pytest.mark.parametrize("handler", [endless, bomb])
async def test_a_page_without_end_stops_at_10_mb(
    handler: Callable[[Received, Reply], Awaitable[None]],
) -> None:
    async with site(handler) as (loader, server):
        page = await load(loader, server)
    assert page.stopped == "over 10 MB"
    assert len(page.body) == MAX_BYTES


async def test_a_slow_page_stops_in_time_and_keeps_what_came() -> None:
    async def drip(request: Received, reply: Reply) -> None:
        if request.path == "/silent":
            await anyio.sleep_forever()
        await reply.start(content_type="text/plain")
        await reply.write(b"first")
        await anyio.sleep_forever()

    async with serve(drip) as server:
        loader = PageLoader(HERE, resolve=to_loopback, within_s=0.3)
        page = await load(loader, server)
        assert (bytes(page.body), page.stopped) == (b"first", "after 0.3 s")
        with pytest.raises(LoadFailure, match=r"did not answer within 0\.3 s"):
            await load(loader, server, "/silent")


@pytest.mark.parametrize(
    ("body", "encoding", "expected"),
    [
        (gzip.compress(b"packed"), "gzip", b"packed"),
        (zlib.compress(b"packed"), "deflate", b"packed"),
        (b"plain", "identity", b"plain"),
        (gzip.compress(gzip.compress(b"twice")), "gzip, gzip", None),
        (b"\x1b\x03", "br", None),
        (b"not packed", "gzip", None),
    ],
    ids=["gzip", "deflate", "identity", "twice", "brotli", "broken"],
)
async def test_a_packed_page_is_unpacked_once(
    body: bytes, encoding: str, expected: bytes | None
) -> None:
    async def page(_request: Received, reply: Reply) -> None:
        await reply.whole(body, 200, "text/plain", {"content-encoding": encoding})

    async with site(page) as (loader, server):
        if expected is None:
            with pytest.raises(LoadFailure, match="pack"):
                await load(loader, server)
        else:
            assert bytes((await load(loader, server)).body) == expected


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "does not speak HTTP"),
        (b"", "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 30000, "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc", "does not speak HTTP"),
    ],
)
async def test_broken_answers_are_one_sentence(answer: bytes, why: str) -> None:
    async with raw_server(sending(answer)) as port:
        loader = PageLoader(HERE, resolve=to_loopback)
        with pytest.raises(LoadFailure, match=why):
            await loader.load(read_address(f"http://site.example:{port}/"))


async def test_a_certificate_for_another_name_is_refused() -> None:
    authority = trustme.CA()
    server_tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("good.example").configure_cert(server_tls)
    client_tls = ssl.create_default_context()
    authority.configure_trust(client_tls)

    async def page(_request: Received, reply: Reply) -> None:
        await reply.whole(b"here", content_type="text/plain")

    async with serve(page, tls=server_tls) as server:
        loader = PageLoader(HERE, resolve=to_loopback, tls=client_tls)
        loaded = await loader.load(read_address(f"https://good.example:{server.port}/"))
        assert bytes(loaded.body) == b"here"
        with pytest.raises(LoadFailure, match="certificate is not valid"):
            await loader.load(read_address(f"https://bad.example:{server.port}/"))


@pytest.mark.parametrize(
    ("error", "sentence"),
    [(OSError("none"), "was not found"), (UnicodeError("label"), "was not found")],
)
async def test_a_name_without_an_address_is_one_sentence(error: Exception, sentence: str) -> None:
    async def fails(_host: str, _port: int) -> list[str]:
        raise error

    with pytest.raises(LoadFailure, match=sentence):
        await PageLoader(resolve=fails).load(read_address("http://nowhere.example/"))


def test_headers_say_nothing_of_the_system() -> None:
    from ollm_tui.web.loading import request_headers

    headers: Mapping[str, str] = request_headers(read_address("https://example.org/"))
    assert headers["User-Agent"] == "ollm-tui"
