"""Telling engines apart by what only they say."""

import httpx
import pytest
from pytest_httpx import HTTPXMock

from ollm_tui.providers.discovery import FINGERPRINTS, answers_as

BASE = "http://127.0.0.1:8080"

# What each engine answers at the paths that are asked, as far as they matter here.
SERVERS: dict[str, dict[str, object]] = {
    "ollama": {"/api/version": {"version": "0.12.0"}},
    "kobold": {
        "/api/extra/version": {"result": "KoboldCpp", "version": "1.121"},
        "/v1/models": {"data": []},
        "/api/version": {"version": "0.1"},
    },
    "llamacpp": {
        "/props": {"default_generation_settings": {"n_ctx": 4096}},
        "/v1/models": {"data": []},
    },
    "lmstudio": {"/api/v1/models": {"models": []}, "/v1/models": {"data": []}},
    "vllm": {"/version": {"version": "0.33.0"}, "/v1/models": {"data": []}},
    "localai": {"/v1/models": {"data": []}},
}


def serve(httpx_mock: HTTPXMock, engine: str) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        body = SERVERS[engine].get(request.url.path)
        return httpx.Response(404) if body is None else httpx.Response(200, json=body)

    httpx_mock.add_callback(answer, is_reusable=True)


@pytest.mark.parametrize("engine", sorted(SERVERS))
async def test_each_engine_is_known_as_itself(httpx_mock: HTTPXMock, engine: str) -> None:
    serve(httpx_mock, engine)
    assert await answers_as(engine, f"{BASE}/v1")


@pytest.mark.parametrize("engine", sorted(set(SERVERS) - {"ollama"}))
async def test_no_engine_is_taken_for_another_of_the_presets(
    httpx_mock: HTTPXMock, engine: str
) -> None:
    serve(httpx_mock, engine)
    others = sorted(set(FINGERPRINTS) - {engine, "ollama"})
    assert [other for other in others if await answers_as(other, BASE)] == []


@pytest.mark.httpx_mock(assert_all_requests_were_expected=False)
async def test_nobody_there_is_no_engine(httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_exception(httpx.ConnectError("refused"), is_reusable=True)
    assert not await answers_as("vllm", BASE)


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"null", b"[" * 100_000, b"\xff"])
async def test_another_kind_of_page_is_no_engine(httpx_mock: HTTPXMock, body: bytes) -> None:
    httpx_mock.add_response(content=body, is_reusable=True)
    assert not await answers_as("vllm", BASE)


async def test_an_endless_page_is_no_engine(httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(content=b'{"version": "' + b"x" * 2_000_000 + b'"}', is_reusable=True)
    assert not await answers_as("vllm", BASE)


async def test_looking_for_engines_here_loads_no_certificates(
    httpx_mock: HTTPXMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(httpx_mock, "vllm")

    def load(*_args: object, **_more: object) -> None:
        pytest.fail("loading certificates holds up the screen for 20 ms, once for each engine")

    monkeypatch.setattr("ssl.create_default_context", load)
    assert await answers_as("vllm", "http://localhost:8000")
