"""What the loopback hub does with parts of files, with strangers, and when it is told to fail."""

from collections.abc import AsyncIterator
from urllib.parse import urljoin

import httpx
import pytest

from tests.support.fake_hub import Answer, FakeHub, serve_hub
from tests.support.hub_repos import FakeFile, FakeRepo

MODEL = FakeFile("a.gguf", bytes(range(256)) * 4)
LARGE = FakeFile("b.gguf", pattern=(200_001, 7))


@pytest.fixture
async def hub() -> AsyncIterator[FakeHub]:
    note = FakeFile("note.txt", b"hello", lfs=False)
    repos = [FakeRepo("o/r", [MODEL, LARGE, note]), FakeRepo("o/secret", [MODEL], private=True)]
    async with serve_hub(FakeHub(repos, tokens={"t": frozenset()})) as hub:
        yield hub


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient() as client:
        yield client


async def place_of(client: httpx.AsyncClient, hub: FakeHub, path: str) -> str:
    answer = await client.get(f"{hub.url}/o/r/resolve/main/{path}")
    assert answer.headers["x-repo-commit"] == hub.repos[0].sha
    return urljoin(str(answer.url), answer.headers["location"])


async def test_a_large_file_comes_from_the_other_server(
    hub: FakeHub, client: httpx.AsyncClient
) -> None:
    place = await place_of(client, hub, "b.gguf")
    assert place.startswith(hub.files_url)
    got = (await client.get(place)).content
    assert got == b"".join(LARGE.pieces(0, LARGE.size))
    assert len(got) == LARGE.size
    assert hub.asked[-1].sent == LARGE.size


async def test_a_small_file_comes_from_the_hub_itself(
    hub: FakeHub, client: httpx.AsyncClient
) -> None:
    place = await place_of(client, hub, "note.txt")
    assert place.startswith(hub.url)
    assert (await client.get(place)).text == "hello"


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        ("bytes=0-9", 206, slice(0, 10)),
        ("bytes=1000-", 206, slice(1000, None)),
        ("bytes=-24", 206, slice(1000, None)),
        ("bytes=1000-9999", 206, slice(1000, None)),
        ("bytes=1024-", 416, slice(0, 0)),
        ("bytes=5-4", 416, slice(0, 0)),
        ("lines=1-2", 200, slice(None)),
    ],
)
async def test_parts(
    hub: FakeHub, client: httpx.AsyncClient, asked: str, status: int, part: slice
) -> None:
    answer = await client.get(await place_of(client, hub, "a.gguf"), headers={"range": asked})
    assert answer.status_code == status
    assert answer.content == MODEL.content[part]
    if status == 416:
        assert answer.headers["content-range"] == "bytes */1024"


@pytest.mark.parametrize("start", [0, 1, 65_535, 65_536, 131_000, 200_000])
async def test_parts_of_made_content_are_those_of_the_whole(start: int) -> None:
    whole = b"".join(LARGE.pieces(0, LARGE.size))
    assert b"".join(LARGE.pieces(start, LARGE.size)) == whole[start:]
    assert b"".join(LARGE.pieces(0, start)) == whole[:start]


async def test_a_part_of_another_state_is_the_whole_of_this_one(
    hub: FakeHub, client: httpx.AsyncClient
) -> None:
    place = await place_of(client, hub, "a.gguf")
    etag = (await client.head(place)).headers["etag"]
    same = await client.get(place, headers={"range": "bytes=1000-", "if-range": etag})
    other = await client.get(place, headers={"range": "bytes=1000-", "if-range": '"else"'})
    assert (same.status_code, other.status_code) == (206, 200)
    assert other.content == MODEL.content


async def test_who_shows_a_token_gets_no_file_of_the_other_server(
    hub: FakeHub, client: httpx.AsyncClient
) -> None:
    place = await place_of(client, hub, "a.gguf")
    assert (await client.get(place, headers={"authorization": "Bearer t"})).status_code == 400
    assert (await client.get(place.partition("&Signature")[0])).status_code == 403


async def test_an_unknown_token_is_refused_and_a_strange_one_sees_no_secrets(
    hub: FakeHub, client: httpx.AsyncClient
) -> None:
    place = f"{hub.url}/api/models/o/secret"
    codes = [
        (await client.get(place, headers={"authorization": f"Bearer {token}"})).status_code
        for token in ("unknown", "t")
    ]
    assert codes == [401, 404]


async def test_an_old_commit_stays_what_it_was(hub: FakeHub, client: httpx.AsyncClient) -> None:
    repo = hub.repos[0]
    old = repo.sha
    new = repo.commit([FakeFile("a.gguf", b"new")])
    for commit, size in ((old, 1024), (new, 3), ("main", 3)):
        answer = await client.head(f"{hub.url}/o/r/resolve/{commit}/a.gguf")
        assert answer.headers["x-linked-size"] == str(size)


async def test_a_file_can_break_off_and_another_answer_be_given(
    hub: FakeHub, client: httpx.AsyncClient
) -> None:
    place = await place_of(client, hub, "b.gguf")
    hub.cut_after = 70_000
    with pytest.raises(httpx.RemoteProtocolError):
        await client.get(place)
    assert hub.asked[-1].sent == 70_000
    hub.instead = lambda _request: Answer(503, b"<html>", "text/html", {"retry-after": "3"})
    answer = await client.get(place)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "3")
