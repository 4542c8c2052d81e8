"""The fetcher: redirects by hand, a token that stays at home, clocks, bounds, and nothing left."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import anyio
import httpx
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.fetch import FetchRequest
from ollm_tui.providers.fetcher import FetchClocks, HttpFetcher
from tests.contract.observe import no_task_left, tasks
from tests.library.downloads.file_host import FileHost, Lie, content
from tests.providers.asking import closed_port
from tests.providers.certificates import make_authority
from tests.providers.proxy import serve_proxy
from tests.support.canaries import coded, listening
from tests.support.http_server import Handler, Received, Reply, Server, serve

TOKEN = "planted-token-2718281828"
DATA = content(200_000)


@asynccontextmanager
async def fetching(handler: Handler) -> AsyncIterator[tuple[HttpFetcher, Server]]:
    async with serve(handler) as server, aclosing(HttpFetcher()) as fetcher:
        yield fetcher, server


async def body_of(fetcher: HttpFetcher, url: str, **more: object) -> bytes:
    request = FetchRequest(url=url, **more)  # type: ignore[arg-type]
    async with fetcher.fetch(request) as answer:
        return b"".join([piece async for piece in answer.pieces()])


async def failure(fetcher: HttpFetcher, url: str, **more: object) -> AIError:
    try:
        await body_of(fetcher, url, **more)
    except AIError as error:
        return error
    raise AssertionError("it came")


def sends_to(*places: str, status: int = 302) -> Handler:
    """Answer the first requests with redirects, all others with a word."""
    left = list(places)

    async def handler(request: Received, reply: Reply) -> None:
        if left:
            await reply.whole(b"away", status, headers={"location": left.pop(0), "etag": '"x"'})
        else:
            await reply.whole(request.path.encode(), headers={"etag": '"y"'})

    return handler


async def test_status_headers_and_body_come_as_they_were_sent() -> None:
    async def handler(request: Received, reply: Reply) -> None:
        assert request.headers["accept-encoding"] == "identity"
        assert request.headers["range"] == "bytes=5-"
        await reply.whole(b"\x1f\x8b not unpacked", 418, headers={"Content-Encoding": "gzip"})

    async with fetching(handler) as (fetcher, server):
        request = FetchRequest(url=f"{server.url}/a?key=secret", headers={"Range": "bytes=5-"})
        async with fetcher.fetch(request) as answer:
            assert answer.status == 418
            assert answer.headers["content-encoding"] == "gzip"
            assert answer.url == f"{server.url}/a"
            assert b"".join([p async for p in answer.pieces()]) == b"\x1f\x8b not unpacked"
    assert server.received[0].path == "/a?key=secret"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed_also_relative_ones(status: int) -> None:
    async with (
        fetching(sends_to("../b/c?sign=%2F+x", status=status)) as (fetcher, server),
        fetcher.fetch(FetchRequest(url=f"{server.url}/x/y/z")) as answer,
    ):
        assert b"".join([p async for p in answer.pieces()]) == b"/x/b/c?sign=%2F+x"
        assert answer.url == f"{server.url}/x/b/c"
        assert (answer.first_headers["etag"], answer.headers["etag"]) == ('"x"', '"y"')


async def test_five_redirects_are_followed_and_six_are_not() -> None:
    async with fetching(sends_to(*"abcde")) as (fetcher, server):
        assert await body_of(fetcher, f"{server.url}/start") == b"/e"
    async with fetching(sends_to(*"abcdef")) as (fetcher, server):
        error = await failure(fetcher, f"{server.url}/start")
        assert "more than 5 redirects" in error.message
        assert len(server.received) == 6


async def test_a_caller_that_follows_none_is_given_the_redirect() -> None:
    async with (
        fetching(sends_to("/elsewhere")) as (fetcher, server),
        fetcher.fetch(FetchRequest(url=server.url, redirects=0)) as answer,
    ):
        assert (answer.status, answer.headers["location"]) == (302, "/elsewhere")
        assert answer.first_headers is answer.headers


@pytest.mark.parametrize(
    "place",
    [
        "ftp://127.0.0.1/x",
        "file:///etc/passwd",
        "http://:80",
        "http://[::1",
        "http://a b/",
        "http://127.0.0.1:0/",
        "http://127.0.0.1:99999/",
        "javascript:1",
        f"/{'x' * 9000}",
    ],
)
async def test_a_redirect_to_no_web_server_is_refused(place: str) -> None:
    async with fetching(sends_to(place)) as (fetcher, server):
        error = await failure(fetcher, server.url)
        # httpx refuses some of them itself, before anybody has seen the answer.
        assert error.code in {ErrorCode.SERVICE_UNAVAILABLE, ErrorCode.BAD_REQUEST}
        assert len(server.received) == 1


async def test_a_redirect_from_https_to_http_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = make_authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    async with (
        listening() as ear,
        serve(sends_to(f"{ear.url}/x"), tls=authority.server("127.0.0.1")) as safe,
        aclosing(HttpFetcher()) as fetcher,
    ):
        error = await failure(fetcher, safe.url, token=TOKEN)
        assert "without encryption" in error.message
        assert ear.received == b""
        assert await body_of(fetcher, f"{safe.url}/now") == b"/now"
        async with serve(sends_to(f"{safe.url}/up")) as plain:
            assert await body_of(fetcher, plain.url, token=TOKEN) == b"/up"
        assert TOKEN not in repr(safe.received[1:])


async def test_a_server_whose_certificate_is_unknown_is_refused(tmp_path: Path) -> None:
    authority = make_authority(tmp_path)
    async with (
        serve(sends_to(), tls=authority.server("127.0.0.1")) as safe,
        aclosing(HttpFetcher()) as fetcher,
    ):
        error = await failure(fetcher, safe.url)
        assert "No secure connection to" in error.message
        assert error.hint is not None
        assert "SSL_CERT_FILE" in error.hint


async def test_a_file_of_authorities_that_is_none_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "authorities").write_text("none")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authorities"))
    async with aclosing(HttpFetcher()) as fetcher:
        error = await failure(fetcher, "https://127.0.0.1:1/x")
        assert error.code == ErrorCode.BAD_REQUEST
        assert "SSL_CERT_FILE" in str(error)


async def test_a_token_goes_to_the_first_origin_alone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with listening() as ear:
        async with fetching(sends_to("/again", f"{ear.url}/x?q=1")) as (fetcher, server):
            url = f"{server.url}/x?sign=planted-query-31415"
            assert await body_of(fetcher, url, token=TOKEN) == b"{}"
        assert [r.headers["authorization"] for r in server.received] == [f"Bearer {TOKEN}"] * 2
        assert not any(form in ear.received for form in coded(TOKEN))
        assert b"planted-query" not in ear.received
    assert "planted" not in caplog.text


async def test_no_more_redirects_are_followed_however_many_are_wanted() -> None:
    async with fetching(sends_to(*["/again"] * 6)) as (fetcher, server):
        error = await failure(fetcher, server.url, redirects=50)
        assert "more than 5 redirects" in error.message
        assert len(server.received) == 6


async def test_who_left_the_first_origin_is_a_stranger_when_led_back() -> None:
    back: list[str] = []

    async def away(request: Received, reply: Reply) -> None:
        await reply.whole(b"", 302, headers={"location": back[0]})

    async with serve(away) as other, fetching(sends_to(f"{other.url}/o")) as (fetcher, server):
        back.append(f"{server.url}/back")
        assert await body_of(fetcher, server.url, token=TOKEN) == b"/back"
    assert [r.headers.get("authorization") for r in server.received] == [f"Bearer {TOKEN}", None]
    assert TOKEN not in repr(other.received)


async def test_who_left_the_first_origin_is_a_stranger_on_the_rest_of_the_way() -> None:
    async with serve(sends_to("/further")) as other:
        async with fetching(sends_to(f"{other.url}/o")) as (fetcher, server):
            assert await body_of(fetcher, server.url, token=TOKEN) == b"/further"
        assert [one.path for one in other.received] == ["/o", "/further"]
        assert TOKEN not in repr(other.received)
        assert len(server.received) == 1


async def test_name_and_password_of_an_address_stay_there_too() -> None:
    async with listening() as ear:
        async with fetching(sends_to(f"{ear.url}/x")) as (fetcher, server):
            await body_of(fetcher, f"http://me:planted-word@127.0.0.1:{server.port}/")
            assert server.received[0].headers["authorization"].startswith("Basic ")
        assert not any(form in ear.received for form in coded("planted-word"))


async def test_cookies_are_not_kept() -> None:
    async def handler(request: Received, reply: Reply) -> None:
        await reply.whole(b"", headers={"set-cookie": "who=you; path=/"})

    async with fetching(handler) as (fetcher, server):
        await body_of(fetcher, server.url)
        await body_of(fetcher, server.url)
    assert not any("cookie" in request.headers for request in server.received)


@pytest.mark.parametrize(
    ("headers", "reason"),
    [({"x-a": "a" * 70_000}, "headers of more than 64 KB"), ({"x-a": "a" * 300_000}, "too large")],
)
async def test_headers_have_a_bound(headers: dict[str, str], reason: str) -> None:
    async def handler(request: Received, reply: Reply) -> None:
        await reply.whole(b"", headers=headers)

    async with fetching(handler) as (fetcher, server):
        assert reason in (await failure(fetcher, server.url)).message


@pytest.mark.parametrize("url", ["", "x", "ftp://a/b", "http://", "http://h/" + "x" * 9000])
async def test_an_address_that_is_none_is_reported(url: str) -> None:
    async with aclosing(HttpFetcher()) as fetcher:
        assert (await failure(fetcher, url)).code == ErrorCode.BAD_REQUEST


@pytest.mark.parametrize("value", ["a\r\nx: y", "ä", "a\0"])
async def test_a_header_that_cannot_be_sent_is_reported(value: str) -> None:
    async with fetching(sends_to()) as (fetcher, server):
        error = await failure(fetcher, server.url, headers={"if-range": value})
        assert error.code == ErrorCode.BAD_REQUEST
        assert server.received == []


async def test_no_server_is_reported_without_naming_the_address_twice() -> None:
    port = closed_port()
    async with aclosing(HttpFetcher()) as fetcher:
        error = await failure(fetcher, f"http://127.0.0.1:{port}/m.gguf")
        assert error.message == f"localhost:{port} does not answer."
        assert error.retryable
        assert error.provider is None


async def test_a_server_that_says_nothing_is_waited_for_so_long() -> None:
    async def silent(request: Received, reply: Reply) -> None:
        await anyio.sleep_forever()

    async with serve(silent) as server:
        async with aclosing(HttpFetcher(FetchClocks(first_byte_s=0.05))) as fetcher:
            error = await failure(fetcher, server.url)
        assert error.code == ErrorCode.TIMEOUT
        assert "sent no answer within 0.05 s" in error.message
        await server.settled()


async def test_a_body_that_stands_still_is_waited_for_so_long_and_what_came_was_given() -> None:
    async def handler(request: Received, reply: Reply) -> None:
        await reply.start()
        await reply.write(b"some")
        await anyio.sleep_forever()

    came = b""
    async with (
        serve(handler) as server,
        aclosing(HttpFetcher(FetchClocks(idle_s=0.05))) as fetcher,
    ):
        with pytest.raises(AIError, match=r"sent nothing for 0\.05 s") as caught:
            async with fetcher.fetch(FetchRequest(url=server.url)) as answer:
                async for piece in answer.pieces():
                    came += piece
    assert caught.value.code == ErrorCode.TIMEOUT
    assert came == b"some"


async def test_a_reader_that_takes_nothing_holds_the_server_up() -> None:
    """What nobody takes stays with the server: memory does not grow with its speed."""
    host = FileHost(content(64 * 1024) * 640)

    async with (
        serve(host) as server,
        aclosing(HttpFetcher()) as fetcher,
        fetcher.fetch(FetchRequest(url=server.url)) as answer,
    ):
        pieces = answer.pieces()
        first = await anext(pieces)
        sent = -1
        while sent != host.sent:  # until the server cannot get rid of more
            sent = host.sent
            await anyio.sleep(0.2)
        assert sent < 20 * 1024 * 1024, "the rest has to wait"
        length = len(first)
        async for piece in pieces:
            length += len(piece)
            assert len(piece) <= 128 * 1024
    assert length == len(host.data)


async def test_a_cut_is_no_end() -> None:
    def half(host: FileHost, sending: object, chance: object) -> None:
        sending.cut_at = 100_000  # type: ignore[attr-defined]

    lie: Lie = half
    async with serve(FileHost(DATA, lies=[lie])) as server, aclosing(HttpFetcher()) as fetcher:
        error = await failure(fetcher, server.url)
        assert error.code == ErrorCode.STREAM_INCOMPLETE
        assert await body_of(fetcher, server.url) == DATA


async def test_this_machine_is_never_asked_through_a_proxy_and_others_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with (
        serve(sends_to()) as server,
        serve_proxy({f"files.example:{server.port}": server.port}) as proxy,
    ):
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        async with aclosing(HttpFetcher()) as fetcher:
            assert await body_of(fetcher, f"{server.url}/near") == b"/near"
            assert proxy.asked == []
            far = f"http://files.example:{server.port}/far"
            assert await body_of(fetcher, far, token=TOKEN) == b"/far"
            assert proxy.asked == [f"GET files.example:{server.port}"]


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


Way = Callable[[HttpFetcher, str], Awaitable[None]]


async def by_leaving(fetcher: HttpFetcher, url: str) -> None:
    async with fetcher.fetch(FetchRequest(url=url)) as answer:
        await anext(answer.pieces())


async def by_an_exception(fetcher: HttpFetcher, url: str) -> None:
    with pytest.raises(LookupError, match="mine"):
        async with fetcher.fetch(FetchRequest(url=url)) as answer:
            await anext(answer.pieces())
            raise LookupError("mine")


def by_cancelling(times: int) -> Way:
    async def way(fetcher: HttpFetcher, url: str) -> None:
        reached = anyio.Event()

        async def read() -> None:
            async with fetcher.fetch(FetchRequest(url=url)) as answer:
                await anext(answer.pieces())
                reached.set()
                await anyio.sleep_forever()

        task = asyncio.get_running_loop().create_task(read())
        await reached.wait()
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task

    return way


@pytest.mark.parametrize("way", [by_leaving, by_an_exception, by_cancelling(1), by_cancelling(2)])
async def test_however_the_block_is_left_nothing_stays(way: Way) -> None:
    async with serve(FileHost(content(64 * 1024) * 640)) as server:
        before, files = tasks(), open_files()
        async with aclosing(HttpFetcher()) as fetcher:
            await way(fetcher, server.url)
            await server.settled()
            await no_task_left(before)
        with anyio.fail_after(5):
            while server.connections or open_files() > files:
                await anyio.sleep(0.001)


async def test_a_client_that_follows_by_itself_would_be_noticed() -> None:
    """What is looked for above is there where nobody takes care."""
    async with listening() as ear:
        async with (
            serve(sends_to(f"{ear.url}/x?k={TOKEN}")) as server,
            httpx.AsyncClient(follow_redirects=True) as client,
        ):
            await client.get(server.url)
        assert TOKEN.encode() in ear.received
