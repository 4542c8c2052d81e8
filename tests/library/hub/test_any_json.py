"""Whatever a hub sends: models and files come of it, or one error, and nothing else."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.library.hub import repo as parsing
from ollm_tui.library.hub.client import HubClient
from ollm_tui.library.hub.repo import HubModel, HubRepo
from ollm_tui.library.urls import next_page
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.fetch import Fetched, FetchRequest
from ollm_tui.protocol.json_types import JsonObject, JsonValue

HUB = "https://hub.example"
TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            *("o/r", "a" * 40, "b" * 64, f"sha256:{'C' * 64}", "m-Q4_K_M.gguf", "../m.gguf"),
            *("m-00001-of-00002.gguf", "file", "directory", "license:mit", "license:", "whisper"),
            *("\ud800", "x" * 5000, "manual"),
        ]
    ),
)
KEYS = st.sampled_from(
    [
        *("id", "modelId", "sha", "siblings", "rfilename", "size", "lfs", "sha256", "oid", "gguf"),
        *("total", "architecture", "context_length", "tags", "gated", "cardData", "license"),
        *("downloads", "likes", "lastModified", "type", "path", "base_model", "pipeline_tag"),
    ]
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 5),
    st.sampled_from([2**53 + 1, -(10**400), 10**400, 1e300, -0.5]),
    TEXTS,
)
ANY: st.SearchStrategy[JsonValue] = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=8),
    max_leaves=30,
)


def loosely(shape: Mapping[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[JsonValue]:
    """Give objects like this, in which any field may be anything or missing."""
    fields = {key: value | LEAVES for key, value in shape.items()}
    return st.fixed_dictionaries({}, optional=fields)


LFS = loosely({"sha256": TEXTS, "oid": TEXTS, "size": st.integers(0, 9)})
FILE = loosely({"rfilename": TEXTS, "path": TEXTS, "type": TEXTS, "lfs": LFS})
PATHS = st.from_regex(r"(\.\./|a/)?m(-Q8_0)?(-0000[0-2]-of-00002)?\.gguf", fullmatch=True)
NAMED_FILE = st.builds(
    lambda facts, path: {
        **(facts if isinstance(facts, dict) else {}),
        "rfilename": path,
        "path": path,
    },
    FILE,
    PATHS,
)
FILES = st.lists(NAMED_FILE | FILE, max_size=6)
GGUF = loosely({"total": st.integers(0, 9), "architecture": TEXTS, "context_length": ANY})
CARD = loosely({"license": ANY, "base_model": ANY, "language": ANY, "license_link": ANY})
TAGS = st.lists(TEXTS | LEAVES, max_size=5)
FACTS: Mapping[str, st.SearchStrategy[Any]] = {
    "siblings": FILES,
    "gguf": GGUF,
    "cardData": CARD,
    "tags": TAGS,
    "gated": ANY,
    "downloads": ANY,
}
MODEL = loosely({"id": st.just("o/r"), "sha": st.just("a" * 40), **FACTS})
NAMED_MODEL = st.builds(
    lambda facts, files: {**facts, "id": "o/r", "sha": "a" * 40, "siblings": files},
    st.fixed_dictionaries({}, optional={key: value | LEAVES for key, value in FACTS.items()}),
    FILES | ANY,
)
TREE = FILES
REPLY = st.one_of(NAMED_MODEL, ANY, MODEL, st.lists(MODEL, max_size=4), TREE)


@dataclass
class Canned:
    """Answers every question with the same body, that for a tree with another."""

    body: bytes
    tree: bytes = b"[]"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    url: str = HUB
    asked: list[FetchRequest] = field(default_factory=list)

    @property
    def first_headers(self) -> Mapping[str, str]:
        return self.headers

    async def pieces(self) -> AsyncIterator[bytes]:
        body = self.tree if "/tree/" in self.asked[-1].url else self.body
        for at in range(0, len(body), 7):
            yield body[at : at + 7]

    @asynccontextmanager
    async def fetch(self, request: FetchRequest) -> AsyncIterator[Fetched]:
        self.asked.append(request)
        yield self


def ask(canned: Canned) -> tuple[list[HubModel] | AIError, HubRepo | AIError]:
    """Search and look at a repository; everything but an `AIError` fails the test."""
    client = HubClient(canned, HUB, "secret-token")

    async def both() -> tuple[list[HubModel] | AIError, HubRepo | AIError]:
        found: list[HubModel] | AIError
        repo: HubRepo | AIError
        try:
            found = list(await client.search("x"))
        except AIError as error:
            found = error
        try:
            repo = await client.repo("o/r")
        except AIError as error:
            repo = error
        return found, repo

    return anyio.run(both)


@settings(max_examples=60)
@given(REPLY, TREE | ANY)
def test_any_json_gives_models_files_or_an_error(reply: JsonValue, tree: JsonValue) -> None:
    check(*ask(Canned(json.dumps(reply).encode(), json.dumps(tree).encode())))


@settings(max_examples=60)
@given(NAMED_MODEL, TREE)
def test_any_facts_about_a_repository_give_its_files(reply: JsonValue, tree: JsonValue) -> None:
    _, repo = ask(Canned(json.dumps(reply).encode(), json.dumps(tree).encode()))
    assert isinstance(repo, HubRepo)
    check([], repo)


def check(found: list[HubModel] | AIError, repo: HubRepo | AIError) -> None:
    for model in found if isinstance(found, list) else ():
        check_model(model)
    if isinstance(repo, HubRepo):
        check_model(repo.model)
        assert parsing.is_commit(repo.revision)
        for file in (file for variant in repo.variants for file in variant.files):
            assert file.path
            assert file.size is None or file.size >= 0
            assert file.sha256 is None or len(file.sha256) == 64
        assert all(len(words) <= parsing.MAX_CHARS for words in repo.details.values())


def check_model(model: HubModel) -> None:
    assert parsing.is_repo(model.repo)
    for count in (model.downloads, model.likes, model.parameters, model.context):
        assert count is None or 0 <= count <= 2**53
    for text in (model.licence, model.modified_at, model.architecture, *model.tags):
        assert text is None or len(text) <= parsing.MAX_CHARS
    assert isinstance(model.gated, bool)


HEADERS = st.dictionaries(
    st.sampled_from(
        [
            *("x-error-code", "x-error-message", "retry-after", "ratelimit", "content-type"),
            *("link", "content-encoding", "retry-after-ms"),
        ]
    ),
    st.one_of(
        st.text(max_size=20),
        st.sampled_from(
            [
                *("GatedRepo", "RevisionNotFound", "text/html", "application/json", "identity"),
                *('<https://hub.example/x>; rel="next"', "<http://[>; rel=next", "t=5", "1e9"),
            ]
        ),
    ),
)


@settings(max_examples=60)
@given(
    status=st.sampled_from([200, 204, 304, 400, 401, 403, 404, 410, 418, 429, 451, 500, 503, 999]),
    headers=HEADERS,
    body=st.one_of(st.binary(max_size=30), REPLY.map(lambda value: json.dumps(value).encode())),
)
def test_any_answer_is_understood_or_reported_in_sentences(
    status: int, headers: Mapping[str, str], body: bytes
) -> None:
    canned = Canned(body, status=status, headers=headers)
    for outcome in ask(canned):
        if isinstance(outcome, AIError):
            assert outcome.message.endswith(".")
            assert (outcome.hint or "").endswith(".")
            assert "secret-token" not in f"{outcome}{outcome.details}"
            assert "\x1b" not in str(outcome)
        else:
            assert status == 200
    assert all(request.url.startswith(f"{HUB}/") for request in canned.asked)


@pytest.mark.parametrize(
    ("header", "following"),
    [
        ('<https://h/x?a=1,2>; rel="next"', "https://h/x?a=1,2"),
        ('<https://h/1>; rel="prev", <https://h/3>; rel="next"', "https://h/3"),
        ("</x>;rel=next", "/x"),
        ('</x>; title="a"; REL="first next"', "/x"),
        ('<https://h/1>; rel="last"', None),
        ("<https://h/1>", None),
        ("rel=next", None),
        ("", None),
    ],
)
def test_links(header: str, following: str | None) -> None:
    assert next_page(header) == following


@given(st.text('<>;,=" relnxt/', max_size=60))
def test_any_link_header_leads_somewhere_or_not(header: str) -> None:
    found = next_page(header)
    assert found is None or found in header


def test_facts_of_a_repository_are_read_from_where_they_stand() -> None:
    payload: dict[str, JsonValue] = {
        "id": "o/r",
        "gated": "auto",
        "tags": ["gguf", "license:llama3.1", 5],
        "cardData": {"base_model": ["a/b", "c/d"], "license_link": "https://x", "language": "en"},
        "gguf": {"total": 8_030_261_248, "architecture": "llama", "context_length": 131_072},
        "pipeline_tag": "text-generation",
    }
    model = parsing.model_of(payload)
    assert model == HubModel(
        repo="o/r",
        gated=True,
        licence="llama3.1",
        tags=("gguf", "license:llama3.1"),
        architecture="llama",
        parameters=8_030_261_248,
        context=131_072,
    )
    assert parsing.details_of(payload) == {
        "pipeline": "text-generation",
        "base_model": "a/b, c/d",
        "licence_link": "https://x",
        "language": "en",
    }
    card = parsing.model_of({**payload, "cardData": {"license": "other"}})
    assert card is not None
    assert card.licence == "other"


def test_sums_are_read_in_every_form() -> None:
    entry: JsonObject = {
        "path": "m.gguf",
        "size": 134,
        "lfs": {"oid": f"sha256:{'A' * 64}", "size": 9},
    }
    (file,) = parsing.tree_of([entry, {**entry, "type": "directory"}, 5])
    assert (file.size, file.sha256) == (9, "a" * 64)
    (plain,) = parsing.tree_of([{"path": "n", "size": 3, "oid": "b" * 40}])
    assert (plain.size, plain.sha256) == (3, None)
