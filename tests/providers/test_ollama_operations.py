"""Deleting, copying, loading and unloading on an Ollama server, new and old."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from ollm_tui.protocol.blocks import ThinkingContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import SupportsDispose, SupportsVersion
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, LeftOut, ProviderEvent
from ollm_tui.protocol.request import Request, Response, ShouldThink, ThinkingConfig, ThinkingPlan
from ollm_tui.providers import create_provider
from ollm_tui.providers.ollama import OllamaProvider
from ollm_tui.providers.spec import ProviderSpec
from tests.support.corpus import CORPUS, Case, case_id, load_cases, needs_corpus
from tests.support.fake_ollama import OllamaServer, fake_ollama
from tests.support.http_server import Handler, Received, Reply, serve

Action = Callable[[OllamaProvider], Awaitable[object]]
ACTIONS: dict[str, Action] = {
    "pull": lambda provider: whole_pull(provider, "gone"),
    "delete": lambda provider: provider.delete_model("gone"),
    "copy": lambda provider: provider.copy_model("gone", "other"),
    "load": lambda provider: provider.load_model("gone"),
    "unload": lambda provider: provider.unload_model("gone"),
    "show": lambda provider: provider.show_model("gone"),
}


async def whole_pull(provider: OllamaProvider, name: str) -> None:
    async for _step in provider.pull_model(name):
        pass


@asynccontextmanager
async def ollama(handler: Handler) -> AsyncIterator[OllamaProvider]:
    async with serve(handler) as server:
        spec = ProviderSpec(name="local", kind="ollama", label="Ollama", base_url=server.url)
        provider = OllamaProvider(spec)
        try:
            yield provider
        finally:
            await provider.dispose()


async def test_an_answer_of_a_model_that_it_does_not_know_to_think_is_divided_here() -> None:
    body = (
        b'{"message": {"role": "assistant", "content": "Hm."}, "done": false}\n'
        b'{"message": {"content": ""}, "done": true, "done_reason": "length"}\n'
    )
    plan = ThinkingPlan(
        mode="deep", think_tag=("<think>", "</think>"), starts_open=True, is_known_to_engine=False
    )
    for is_known_to_engine, thought in ((False, ["Hm."]), (True, [])):
        request = Request(
            model="m",
            messages=[Message("user", "2+2?")],
            thinking=replace(plan, is_known_to_engine=is_known_to_engine),
            stream=False,
        )
        async with ollama(whole(body, 200, "application/x-ndjson")) as provider:
            answer = await provider.invoke(request)
        assert isinstance(answer, Response)
        assert [b.text for b in answer.content if isinstance(b, ThinkingContent)] == thought


def whole(
    body: bytes, status: int, content_type: str = "", headers: dict[str, str] | None = None
) -> Handler:
    async def answer(_request: Received, reply: Reply) -> None:
        await reply.whole(body, status, content_type, headers)

    return answer


async def names(provider: OllamaProvider) -> set[str]:
    return {info.name for info in await provider.list_models()}


async def running(provider: OllamaProvider) -> set[str]:
    return {info.name for info in await provider.list_running()}


async def test_models_are_copied_loaded_unloaded_and_deleted() -> None:
    async with ollama(OllamaServer()) as provider:
        await provider.copy_model("tiny", "other")
        assert "other:latest" in await names(provider)
        await provider.load_model("other")
        assert "other:latest" in await running(provider)
        await provider.unload_model("other")
        assert "other:latest" not in await running(provider)
        assert (await provider.show_model("other")).loaded is False
        await provider.delete_model("other")
        assert "other:latest" not in await names(provider)
        assert await provider.server_version() == "0.12.0"


async def test_the_requests_are_those_of_the_documentation() -> None:
    seen: list[tuple[str, str, dict[str, object]]] = []

    async def answer(request: Received, reply: Reply) -> None:
        seen.append((request.method, request.path, request.json()))
        await reply.json({"done": True})

    async with ollama(answer) as provider:
        await provider.delete_model("a")
        await provider.copy_model("a", "b")
        await provider.load_model("a")
        await provider.unload_model("a")
    empty = {"model": "a", "messages": [], "stream": False}
    assert seen == [
        ("DELETE", "/api/delete", {"model": "a"}),
        ("POST", "/api/copy", {"source": "a", "destination": "b"}),
        ("POST", "/api/chat", empty),
        ("POST", "/api/chat", empty | {"keep_alive": 0}),
    ]


async def test_a_short_name_shows_the_model_that_is_loaded_under_its_full_one() -> None:
    async with ollama(OllamaServer()) as provider:
        info = await provider.show_model("tiny")
    assert (info.loaded, info.context) == (True, 4096)


@pytest.mark.parametrize("action", [action for action in ACTIONS if action != "pull"])
async def test_a_model_that_is_not_there_is_reported_as_missing(action: str) -> None:
    async with ollama(OllamaServer()) as provider:
        with pytest.raises(AIError, match=r"model ['\"]gone(:latest)?['\"] not found") as caught:
            await ACTIONS[action](provider)
    assert caught.value.code == ErrorCode.MODEL_NOT_FOUND


@pytest.mark.parametrize(
    ("reply", "words"),
    [({}, "did not load"), ({"done": False}, "did not load"), ({"error": "no memory"}, "memory")],
)
async def test_a_load_that_did_not_happen_is_an_error(reply: object, words: str) -> None:
    async with ollama(whole(json.dumps(reply).encode(), 200)) as provider:
        with pytest.raises(AIError, match=words):
            await provider.load_model("m")


@needs_corpus
@pytest.mark.parametrize(
    "case", [c for c in load_cases("api_replies") if c["id"] == "ollama-version"], ids=case_id
)
async def test_the_version_is_the_servers_own_word(case: Case) -> None:
    async with ollama(whole(json.dumps(case["reply"]).encode(), 200)) as provider:
        assert await provider.server_version() == case["expected"]["version"]


DEAD = "http://127.0.0.1:1"


async def test_a_pool_tells_the_version_of_the_first_server_that_answers() -> None:
    async with serve(fake_ollama) as server:
        addresses = (DEAD, server.url)
        pool = create_provider(ProviderSpec(name="p", kind="ollama", base_urls=addresses))
        assert isinstance(pool, SupportsVersion)
        assert await pool.server_version() == "0.12.0"
        assert isinstance(pool, SupportsDispose)
        await pool.dispose()
    unreachable = create_provider(
        ProviderSpec(name="p", kind="ollama", base_urls=(DEAD, DEAD + "/x"))
    )
    assert isinstance(unreachable, SupportsVersion)
    with pytest.raises(AIError, match="None of the 2 servers"):
        await unreachable.server_version()


def recorded() -> list[tuple[str, bytes, dict[str, Any]]]:
    found = []
    for path in sorted(Path(CORPUS).glob("http_errors/*/meta.json")):
        body = path.with_name("body.bin")
        meta = json.loads(path.read_text())
        found.append((path.parent.name, body.read_bytes() if body.is_file() else b"", meta))
    return found


@pytest.mark.one_in(4)
@needs_corpus
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(("name", "body", "meta"), recorded(), ids=lambda v: str(v)[:30])
async def test_every_recorded_refusal_ends_every_action_with_its_sentence(
    name: str, body: bytes, meta: dict[str, Any], action: str
) -> None:
    headers = {key: value for key, value in (meta.get("headers") or {}).items() if "-" in key}
    headers = {k: v for k, v in headers.items() if k.lower().startswith(("retry", "x-should"))}
    content_type = meta.get("content_type") or ""
    expected = meta["expected"]
    async with ollama(whole(body, meta["status"], content_type, headers)) as provider:
        with pytest.raises(AIError) as caught:
            await ACTIONS[action](provider)
    error = caught.value
    assert error.status == meta["status"]
    assert error.provider == "local"
    kinds = {expected["category"], *expected.get("category_alternatives", ())}
    assert error.details["category"] in kinds
    if error.code == ErrorCode.UNSUPPORTED_FEATURE and "cannot" in error.message:
        assert meta["status"] in (404, 405, 501), name
    else:
        assert expected["message"] in error.message


async def old_ollama(request: Received, reply: Reply) -> None:
    """Answer as a server of long ago: no `/api/ps`, no capabilities, `think` a switch at most."""
    if request.path == "/api/show":
        await reply.json({"details": {"family": "llama"}, "template": "x"})
    elif request.path in {"/api/ps", "/api/version"}:
        await reply.whole(b"404 page not found", 404, "text/plain")
    elif request.path == "/api/chat" and isinstance(request.json().get("think"), str):
        refusal_text = (
            "json: cannot unmarshal string into Go struct field ChatRequest.think of type bool"
        )
        await reply.json({"error": refusal_text}, 400)
    elif request.path == "/api/chat" and request.json().get("tools"):
        refusal_text = "registry.ollama.ai/library/tiny:latest does not support tools"
        await reply.json({"error": refusal_text}, 400)
    elif request.path == "/api/chat" and "think" in request.json():
        await reply.json({"error": '"tiny" does not support thinking'}, 400)
    else:
        await fake_ollama(request, reply)


async def asked(
    provider: OllamaProvider, prompt: str, think: ShouldThink | None
) -> list[ProviderEvent]:
    request = Request(model="tiny", messages=[Message("user", prompt)], should_think=think)
    async with provider.chat_stream(request) as events:
        return [event async for event in events]


async def test_what_an_old_server_does_not_know_is_off_and_the_rest_works() -> None:
    async with ollama(old_ollama) as provider:
        listed = await provider.list_models()
        shown = await provider.show_model("tiny")
        with pytest.raises(AIError, match="cannot list the loaded models") as caught:
            await provider.list_running()
        with pytest.raises(AIError, match="cannot tell its version"):
            await provider.server_version()
    assert (listed[0].name, listed[0].loaded) == ("tiny:latest", None)
    assert (shown.capability, shown.loaded) == (None, None)
    assert caught.value.code == ErrorCode.UNSUPPORTED_FEATURE
    assert caught.value.hint


HARD = ThinkingConfig(mode="last", effort="high")


@pytest.mark.parametrize("think", [True, HARD])
async def test_a_wish_to_think_that_an_old_server_refuses_is_a_line_and_not_dropped(
    think: ShouldThink,
) -> None:
    async with ollama(old_ollama) as provider:
        *notes, event = await asked(provider, "hello", think)
    assert isinstance(event, ErrorEvent)
    assert event.error.code == ErrorCode.UNSUPPORTED_FEATURE
    assert "Switch thinking off" in str(event.error)
    fields = [found.field for found in notes if isinstance(found, LeftOut)]
    assert fields == (["think.level"] if think is HARD else [])


async def test_a_level_that_is_refused_leaves_thinking_on() -> None:
    seen: list[object] = []

    async def switch_only(request: Received, reply: Reply) -> None:
        body = request.json()
        seen.append(body.get("think"))
        if isinstance(body.get("think"), str):
            refusal_text = 'invalid think value: "high" (must be true or false)'
            await reply.json({"error": refusal_text}, 400)
        else:
            asked_for = json.dumps(body | {"model": "thinker"}).encode()
            await fake_ollama(Received(request.method, request.path, {}, asked_for), reply)

    async with ollama(switch_only) as provider:
        first, *events = await asked(provider, "think", HARD)
    assert isinstance(first, LeftOut)
    assert first.field == "think.level"
    assert seen == ["high", True]
    assert "ThinkingDelta" in {type(event).__name__ for event in events}


async def test_not_to_think_is_dropped_where_no_model_could_think() -> None:
    async with ollama(old_ollama) as provider:
        events = await asked(provider, "hello", think=False)
    assert isinstance(events[-1], Finish)
    assert not [event for event in events if isinstance(event, LeftOut)], "nothing was lost"


@pytest.mark.parametrize(
    ("notes", "status", "hint"),
    [
        ("model 'tiny' not found", 404, "`ollm models pull tiny`"),
        ("model 'library/tiny-thinker' not found", 404, "`ollm models pull tiny`"),
        (
            "ollama cloud is disabled: remote model details are unavailable",
            403,
            "choose a local one",
        ),
        ("think value is invalid", 500, "server's log"),
    ],
)
async def test_a_refused_chat_has_a_way_out(notes: str, status: int, hint: str) -> None:
    async with ollama(whole(json.dumps({"error": notes}).encode(), status)) as provider:
        (event,) = await asked(provider, "hello", think=True)
    assert isinstance(event, ErrorEvent)
    assert event.error.message == notes
    assert hint in str(event.error)


@pytest.mark.parametrize("think", [None, True, False, ThinkingConfig(mode="last", effort="low")])
async def test_thinking_is_read_whatever_was_asked_for(think: ShouldThink | None) -> None:
    async def stubborn(request: Received, reply: Reply) -> None:
        body = request.json()
        assert body.pop("think", None) in (None, True, False, "low")
        await fake_ollama(
            Received(request.method, request.path, {}, json.dumps(body).encode()), reply
        )

    async with ollama(stubborn) as provider:
        events = await asked(provider, "think", think)
    kinds = [kind.__name__ for kind, _ in groupby(type(event) for event in events)]
    assert kinds == ["ThinkingDelta", "TextDelta", "Finish"]
