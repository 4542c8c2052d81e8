"""What a hub tells, and what becomes of its refusals."""

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import anyio
import pytest

from ollm_tui.library.hub import client
from ollm_tui.library.hub.client import MAX_REPLY_BYTES, HubClient
from ollm_tui.library.hub.repo import HubFile
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.fetch import Fetched, FetchRequest
from ollm_tui.providers.fetcher import HttpFetcher
from tests.library.hub.conftest import MakeClient
from tests.support.fake_hub import Answer, FakeHub
from tests.support.http_server import Received
from tests.support.hub_repos import FakeFile, FakeRepo
from tests.support.hub_samples import TOKEN

SMALL, GATED, SECRET = "someone/Small-1.7B-GGUF", "another/Gated-8B-GGUF", "someone/Secret-GGUF"


async def test_a_search_gives_the_most_downloaded_first_with_their_facts(
    hub: FakeHub, client_of: MakeClient
) -> None:
    found = await client_of().search("  gguf ")
    expected = [repo for repo in hub.repos if "gguf" in repo.tags and not repo.private]
    assert [model.repo for model in found] == [repo.id for repo in expected]
    first, repo = found[0], hub.repos[0]
    assert (first.downloads, first.likes, first.licence) == (54_321, 321, "apache-2.0")
    assert (first.architecture, first.parameters) == ("qwen3", 1_720_574_976)
    assert (first.context, first.modified_at, first.gated) == (40_960, repo.modified, False)
    assert {model.repo: model.gated for model in found}[GATED] is True
    assert hub.paths() == ["/api/models"]


async def test_a_search_gives_no_more_than_was_wanted(hub: FakeHub, client_of: MakeClient) -> None:
    hub.page = 2
    assert len(await client_of().search("", limit=3)) == 3
    assert len(hub.paths()) == 2
    assert len(await client_of().search("small", limit=0)) == 1
    assert await client_of().search("no such words") == []


async def test_a_repository_is_pinned_to_its_commit(hub: FakeHub, client_of: MakeClient) -> None:
    repo = hub.repos[0]
    old = repo.sha
    found = await client_of().repo(repo.id)
    new = repo.commit([FakeFile("m-Q8_0.gguf", b"new")])
    again = await client_of().repo(repo.id)
    before = await client_of().repo(repo.id, revision=old)
    assert (found.revision, again.revision) == (old, new)
    assert before == found
    assert [variant.quantization for variant in found.variants] == [
        *("Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "IQ3_XXS")
    ]
    assert found.model.licence == "apache-2.0"
    assert found.details["pipeline"] == "text-generation"


async def test_files_have_sizes_and_sums(hub: FakeHub, client_of: MakeClient) -> None:
    large = hub.repos[3]
    found = await client_of().repo(large.id)
    reply = {file.path: file for variant in found.variants for file in variant.files}
    assert reply == {
        f.path: HubFile(path=f.path, size=f.size, sha256=f.sha256) for f in large.files if f.lfs
    }
    assert [(v.name, len(v.files), v.problem) for v in found.variants] == [
        ("Large-70B-Q8_0", 4, None),
        ("Large-70B-Q4_K_M", 3, None),
    ]


def without_sizes(request: Received) -> Answer | None:
    """Be a hub that ignores `blobs`."""
    if "/revision/" not in request.path:
        return None
    reply = {"id": SMALL, "sha": "a" * 40, "siblings": [{"rfilename": "m.gguf"}]}
    return Answer(200, json.dumps(reply).encode())


async def test_where_the_details_lack_sizes_the_tree_has_them_page_by_page(
    hub: FakeHub, client_of: MakeClient
) -> None:
    repo = hub.repos[0]
    repo.commits["a" * 40] = repo.files
    hub.page = 2
    hub.instead = without_sizes
    found = await client_of().repo(SMALL)
    assert len(found.variants) == 5
    assert all(variant.size for variant in found.variants)
    assert [path.rpartition("/")[0] for path in hub.paths()][1:] == [
        f"/api/models/{SMALL}/tree"
    ] * 3


@pytest.mark.parametrize("number", [600, 1200])
async def test_many_files_are_listed_whole(
    hub: FakeHub, client_of: MakeClient, number: int
) -> None:
    files = [FakeFile(f"m{n}-Q4_K_M.gguf", b"x") for n in range(number)]
    hub.repos = [FakeRepo("o/many", files)]
    hub.page = 500
    assert len((await client_of().repo("o/many")).variants) == number


async def test_speech_models_are_identified_by_what_the_repository_says(
    client_of: MakeClient,
) -> None:
    found = await client_of().repo("someone/whisper.cpp")
    assert [(v.name, v.kind, v.quantization) for v in found.variants] == [
        ("ggml-base-q5_1", "whisper", "Q5_1"),
        ("ggml-base", "whisper", None),
    ]


def test_a_file_has_an_address_at_its_commit() -> None:
    client = HubClient(HttpFetcher(), "https://hub.example/mirror/", None)
    url = client.file_url("o/r", "refs/pr/1", "a b/m#1?.gguf")
    assert url == "https://hub.example/mirror/o/r/resolve/refs%2Fpr%2F1/a%20b/m%231%3F.gguf"


@pytest.mark.parametrize(
    ("url", "given"),
    [
        ("https://hub.example/o/r/resolve/main/m.gguf", True),
        ("https://HUB.example:443/x", True),
        ("https://hub.example./x", True),
        ("http://hub.example/x", False),
        ("https://hub.example:444/x", False),
        ("https://hub.example.evil.org/x", False),
        ("https://cdn.hub.example/x", False),
        ("https://hub.example@evil.org/x", False),
        ("https://evil.org@hub.example/x", False),
        ("https://hub.example\\@evil.org/x", False),
        ("https://evil.org\\.hub.example/x", False),
        ("https://hub.example\n.evil.org/x", False),
        ("https://hub.ex\u00e4mple/x", False),
        ("//hub.example/x", False),
        ("file://hub.example/x", False),
        ("https://hub.example:x/", False),
        ("", False),
    ],
)
def test_the_token_is_for_the_hub_alone(url: str, given: bool) -> None:
    client = HubClient(HttpFetcher(), "https://hub.example/mirror", "secret")
    assert client.token_for(url) == ("secret" if given else None)
    assert HubClient(HttpFetcher(), "https://hub.example", None).token_for(url) is None


def test_the_place_holds_no_password() -> None:
    client = HubClient(HttpFetcher(), "https://me:word@hub.example/?key=word", "t")
    assert "word" not in client.address


async def test_the_token_is_sent_and_opens_what_is_private(
    hub: FakeHub, client_of: MakeClient
) -> None:
    assert len((await client_of(TOKEN).repo(SECRET)).variants) == 5
    assert {asked.headers["authorization"] for asked in hub.asked} == {f"Bearer {TOKEN}"}
    assert await client_of().search("small")
    assert "authorization" not in hub.asked[-1].headers


async def asked_for(client: HubClient, repo: str = SMALL, revision: str = "main") -> AIError:
    with pytest.raises(AIError) as raised:
        await client.repo(repo, revision=revision)
    return raised.value


async def test_what_is_not_there_or_not_public(hub: FakeHub, client_of: MakeClient) -> None:
    unknown = await asked_for(client_of(), "someone/none")
    assert unknown.code == ErrorCode.MODEL_NOT_FOUND
    assert str(unknown) == (
        f"someone/none is not on {hub.url}, or it is private. "
        "Check the name, or search for it. For a private one set HF_TOKEN."
    )
    known = await asked_for(client_of(TOKEN), "someone/none")
    assert str(known) == (f"someone/none is not on {hub.url}. Check the name, or search for it.")
    assert (await asked_for(client_of(), SECRET)).code == ErrorCode.MODEL_NOT_FOUND
    revision = await asked_for(client_of(), revision="v9")
    assert str(revision) == f"{SMALL} has no revision v9. Leave it out for the newest."
    token = await asked_for(client_of("hf_wrong"))
    assert token.code == ErrorCode.AUTH_FAILED
    assert str(token) == (
        f"{hub.url} does not accept the token. "
        f"Make a new one at {hub.url}/settings/tokens and set HF_TOKEN, or unset it."
    )


@pytest.mark.parametrize("repo", ["", "a/b/c", "../x", "o/..", "a b", "o/r?x", "o/\x1b[2J", "ö/r"])
async def test_what_is_no_name_is_not_asked_for(
    hub: FakeHub, client_of: MakeClient, repo: str
) -> None:
    error = await asked_for(client_of(), repo)
    assert error.code == ErrorCode.MODEL_NOT_FOUND
    assert "\x1b" not in str(error)
    assert hub.asked == []


@pytest.mark.parametrize(
    ("answer", "code", "sentence"),
    [
        (
            Answer(401, headers={"x-error-code": "GatedRepo"}),
            ErrorCode.AUTH_FAILED,
            f"{SMALL} is gated: its terms must be accepted first. "
            f"Accept its terms at {{hub}}/{SMALL}, then set HF_TOKEN.",
        ),
        (
            Answer(403),
            ErrorCode.AUTH_FAILED,
            f"{{hub}} refuses access to {SMALL}. Set HF_TOKEN to a token that may read it.",
        ),
        (
            Answer(404, b"<html>", "text/html"),
            ErrorCode.SERVICE_UNAVAILABLE,
            "{hub} answered with HTTP 404, not as a hub of model files. Check HF_ENDPOINT, and "
            "whether a proxy or a login page stands in between; the built-in list still works "
            "offline.",
        ),
        (
            Answer(429, headers={"retry-after": "34"}),
            ErrorCode.RATE_LIMITED,
            "{hub} received too many requests. "
            "Wait 34 s and try again; with a token in HF_TOKEN the limit is higher.",
        ),
        (
            Answer(429, headers={"ratelimit": '"api";r=0;t=120'}),
            ErrorCode.RATE_LIMITED,
            "{hub} received too many requests. "
            "Wait 120 s and try again; with a token in HF_TOKEN the limit is higher.",
        ),
        (
            Answer(429, headers={"retry-after": "soon"}),
            ErrorCode.RATE_LIMITED,
            "{hub} received too many requests. "
            "Wait a little and try again; with a token in HF_TOKEN the limit is higher.",
        ),
        (
            Answer(503, b"<html>busy", "text/html", {"retry-after": "7"}),
            ErrorCode.SERVICE_UNAVAILABLE,
            "{hub} has a server error (HTTP 503). "
            "Try again later; the built-in list still works offline.",
        ),
        (
            Answer(400, headers={"x-error-message": "not \x1b[2Jso"}),
            ErrorCode.BAD_REQUEST,
            "{hub} does not answer this (HTTP 400): not ␛[2Jso. "
            "Check HF_ENDPOINT, if it is set: it may name no hub of model files.",
        ),
    ],
)
async def test_refusals_are_sentences(
    hub: FakeHub, client_of: MakeClient, answer: Answer, code: ErrorCode, sentence: str
) -> None:
    hub.instead = lambda _request: answer
    error = await asked_for(client_of())
    assert str(error) == sentence.format(hub=hub.url)
    assert (error.code, error.status) in {(code, answer.status), (code, None)}
    wait = answer.headers.get("retry-after", "")
    assert error.details.get("retry_after_s") == (
        float(wait) if wait.isdigit() else 120 if "ratelimit" in answer.headers else None
    )


async def test_one_whose_token_may_not_read_what_is_gated_is_sent_to_accept_the_terms(
    hub: FakeHub, client_of: MakeClient
) -> None:
    hub.instead = lambda _request: Answer(403, headers={"x-error-code": "GatedRepo"})
    error = await asked_for(client_of(TOKEN))
    assert error.hint == f"Accept its terms at {hub.url}/{SMALL} with the account of your token."


@pytest.mark.parametrize(
    ("body", "headers", "what"),
    [
        (b"<!doctype html><title>Sign in</title>", {}, "a web page"),
        (b"", {}, "something other than JSON"),
        (b"[" * 100_000, {}, "something other than JSON"),
        (b"[" * 600_000, {}, "something other than JSON"),
        (b'{"id": 1e999}', {}, "something other than JSON"),
        (b"\xff\xfe", {}, "something other than JSON"),
        (b"\x1f\x8b", {"content-encoding": "gzip"}, "packed data"),
        (b"[" + b"1," * 400_000 + b"1]", {}, "too much data"),
        (b'"' + b"x" * MAX_REPLY_BYTES + b'"', {}, "over 16 MB"),
        (b"{}", {}, "something other than a repository"),
        (b"[]", {}, "something other than a repository"),
        (json.dumps({"id": SMALL}).encode(), {}, "something other than a repository"),
        (
            json.dumps({"id": SMALL, "sha": "A" * 40}).encode(),
            {},
            "something other than a repository",
        ),
    ],
)
async def test_what_no_hub_would_say(
    hub: FakeHub, client_of: MakeClient, body: bytes, headers: dict[str, str], what: str
) -> None:
    hub.instead = lambda _request: Answer(200, body, headers=headers)
    error = await asked_for(client_of())
    assert error.message == f"{hub.url} answered with {what}, not as a hub of model files."


async def test_a_large_reply_is_read_too(hub: FakeHub, client_of: MakeClient) -> None:
    reply = {"id": SMALL, "sha": "b" * 40, "padding": "x" * 2_000_000}
    reply["siblings"] = [{"rfilename": "m.gguf", "size": 5}]  # type: ignore[assignment]
    hub.instead = lambda _request: Answer(200, json.dumps(reply).encode())
    assert [v.name for v in (await client_of().repo(SMALL)).variants] == ["m"]


async def test_a_search_that_is_answered_with_no_list(hub: FakeHub, client_of: MakeClient) -> None:
    hub.instead = lambda _request: Answer(200, b'{"error": "no"}')
    with pytest.raises(AIError, match="something other than a list"):
        await client_of().search("x")


async def test_no_server_leaves_the_built_in_list(client_of: MakeClient) -> None:
    with pytest.raises(AIError) as raised:
        await client_of(endpoint="http://127.0.0.1:1").search("x")
    error = raised.value
    assert error.message == (
        "The hub at http://127.0.0.1:1 does not answer; the built-in list still works offline."
    )
    assert error.hint
    assert error.details["reason"]


def going_on(link: str) -> Callable[[Received], Answer | None]:
    """Be a hub whose lists go on there."""

    def answer(request: Received) -> Answer | None:
        if "/revision/" in request.path:
            reply = {"id": SMALL, "sha": "a" * 40, "siblings": []}
            return Answer(200, json.dumps(reply).encode())
        return Answer(200, b"[]", headers={"link": f'<{link}>; rel="next"'})

    return answer


@pytest.mark.parametrize(
    ("link", "what"),
    [
        ("https://evil.example/next", "a list that goes on at another server"),
        ("//evil.example/next", "a list that goes on at another server"),
        ("https://[::1", "a list that goes on at another server"),
        ("/api/models?cursor=1", "more files than are looked at"),
    ],
)
async def test_a_list_is_followed_at_the_hub_alone_and_not_for_ever(
    hub: FakeHub, client_of: MakeClient, link: str, what: str
) -> None:
    hub.instead = going_on(link)
    error = await asked_for(client_of(TOKEN))
    assert what in error.message
    assert len(hub.asked) <= 101
    assert await client_of(TOKEN).search("x") == []
    assert len(hub.asked) <= 104


async def test_a_reply_that_breaks_off_is_reported(hub: FakeHub, client_of: MakeClient) -> None:
    hub.instead = lambda _request: Answer(200, b"[", headers={"content-length": "9"}, is_cut=True)
    with pytest.raises(AIError) as raised:
        await client_of().search("x")
    assert re.match("The hub at .* broke off its answer; ", raised.value.message)


class Dripping:
    """An answer that comes byte by byte and never ends; also the fetcher that gives it."""

    status, url = 200, "https://hub.example"
    headers: Mapping[str, str] = {"content-type": "application/json"}
    first_headers: Mapping[str, str] = headers
    is_open = False

    @asynccontextmanager
    async def fetch(self, _request: FetchRequest) -> AsyncIterator[Fetched]:
        self.is_open = True
        try:
            yield self
        finally:
            self.is_open = False

    async def pieces(self) -> AsyncIterator[bytes]:
        while True:
            await anyio.sleep(0.001)
            yield b" "


async def test_an_answer_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MAX_REPLY_S", 0.05)
    server = Dripping()
    with anyio.fail_after(30):
        with pytest.raises(AIError, match="does not answer") as caught:
            await HubClient(server, server.url, None).search("qwen")
    assert caught.value.hint
    assert not server.is_open
