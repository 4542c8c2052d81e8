"""Lists and descriptions as the servers answer them."""

import httpx
import pytest
from pytest_httpx import HTTPXMock

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import RemembersListError, SupportsList, SupportsRunning, SupportsShow
from ollm_tui.providers import create_provider
from ollm_tui.providers.ollama import OllamaProvider
from ollm_tui.providers.openai_compatible import OpenAICompatibleProvider
from ollm_tui.providers.spec import ProviderSpec

OLLAMA = "http://127.0.0.1:11434"
OTHER = "http://gpu.example:8000"
TAGS = {"models": [{"name": "a:latest", "size": 7, "modified_at": "x"}, {"name": "b"}]}
SHOW = {
    "capabilities": ["completion", "vision", "tools"],
    "modified_at": "x",
    "model_info": {"general.architecture": "q", "q.context_length": 40960},
}
PS = {"models": [{"name": "a:latest", "context_length": 8192, "size": 9}]}


def other(**more: object) -> OpenAICompatibleProvider:
    spec = ProviderSpec(name="o", kind="openai-compatible", base_url=OTHER, **more)  # type: ignore[arg-type]
    provider = create_provider(spec)
    assert isinstance(provider, OpenAICompatibleProvider)
    return provider


async def test_ollama_lists_what_is_installed_and_what_is_loaded(httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(url=f"{OLLAMA}/api/tags", json=TAGS)
    httpx_mock.add_response(url=f"{OLLAMA}/api/ps", json=PS)
    provider = OllamaProvider(ProviderSpec(name="local", kind="ollama"))
    assert isinstance(provider, SupportsList)
    first, second = await provider.list_models()
    assert (first.name, first.loaded, first.context, first.size_bytes) == (
        "a:latest",
        True,
        8192,
        7,
    )
    assert (second.name, second.loaded, second.context) == ("b", False, None)
    await provider.dispose()


async def test_ollama_lists_without_the_loaded_ones_if_it_cannot_tell(
    httpx_mock: HTTPXMock,
) -> None:
    httpx_mock.add_response(url=f"{OLLAMA}/api/tags", json=TAGS)
    httpx_mock.add_response(url=f"{OLLAMA}/api/ps", status_code=404)
    provider = OllamaProvider(ProviderSpec(name="local", kind="ollama"))
    assert [info.name for info in await provider.list_models()] == ["a:latest", "b"]
    await provider.dispose()


async def test_a_server_without_ollamas_list_is_reported_by_its_address_and_not_by_a_model(
    httpx_mock: HTTPXMock,
) -> None:
    """An address with `/v1` at its end, or of another server, answers so."""
    httpx_mock.add_response(status_code=404, json={"error": "not found"}, is_reusable=True)
    provider = OllamaProvider(ProviderSpec(name="local", kind="ollama"))
    with pytest.raises(AIError, match="cannot list models: it does not know the request") as raised:
        await provider.list_models()
    assert "pull" not in (raised.value.hint or "")
    await provider.dispose()


async def test_what_showing_a_model_gave_is_in_the_next_list(httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(url=f"{OLLAMA}/api/tags", json=TAGS, is_reusable=True)
    httpx_mock.add_response(url=f"{OLLAMA}/api/ps", json=PS, is_reusable=True)
    httpx_mock.add_response(
        url=f"{OLLAMA}/api/show", method="POST", match_json={"model": "a:latest"}, json=SHOW
    )
    provider = OllamaProvider(ProviderSpec(name="local", kind="ollama"))
    assert isinstance(provider, SupportsShow)
    assert isinstance(provider, SupportsRunning)
    assert (await provider.list_models())[0].capability is None
    shown = await provider.show_model("a:latest")
    assert (shown.context, shown.loaded, shown.details["context_trained"]) == (8192, True, 40960)
    listed = (await provider.list_models())[0]
    assert listed.capability is not None
    assert "tool_use" in listed.capability.features
    assert [info.name for info in await provider.list_running()] == ["a:latest"]
    await provider.dispose()


async def test_ollama_raises_where_it_cannot_list(httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_exception(httpx.ConnectError("refused"), is_reusable=True)
    provider = OllamaProvider(ProviderSpec(name="local", kind="ollama"))
    with pytest.raises(AIError, match="local does not answer at localhost:11434"):
        await provider.list_models()
    await provider.dispose()


@pytest.mark.parametrize("status", [401, 404, 500, 503])
async def test_a_failed_list_is_empty_and_keeps_the_reason(
    httpx_mock: HTTPXMock, status: int
) -> None:
    httpx_mock.add_response(url=f"{OTHER}/v1/models", status_code=status)
    httpx_mock.add_response(url=f"{OTHER}/v1/models", json={"data": [{"id": "m"}]})
    provider = other()
    assert isinstance(provider, RemembersListError)
    assert await provider.list_models() == []
    assert provider.last_error is not None
    assert provider.last_error.status == status
    assert [info.name for info in await provider.list_models()] == ["m"]
    assert provider.last_error is None
    await provider.dispose()


async def test_a_web_page_in_place_of_a_list_is_reported_as_one(httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(url=f"{OTHER}/v1/models", html="<html><body>Hi</body></html>")
    provider = other()
    assert await provider.list_models() == []
    assert provider.last_error is not None
    assert "web page" in provider.last_error.message
    await provider.dispose()


async def test_a_reply_that_is_no_json_is_reported_as_such(httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(url=f"{OTHER}/v1/models", text="hello")
    provider = other()
    assert await provider.list_models() == []
    assert provider.last_error is not None
    assert provider.last_error.code == ErrorCode.ENGINE_ERROR
    await provider.dispose()


async def test_llamacpp_is_asked_for_its_window_too(httpx_mock: HTTPXMock) -> None:
    models = {"data": [{"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131072}}]}
    props = {"default_generation_settings": {"n_ctx": 4096}, "modalities": {"vision": True}}
    httpx_mock.add_response(url=f"{OTHER}/v1/models", json=models)
    httpx_mock.add_response(url=f"{OTHER}/props", json=props)
    provider = other()
    (info,) = await provider.list_models()
    assert (info.context, info.details["context_trained"]) == (4096, 131072)
    await provider.dispose()


async def test_lm_studio_is_asked_in_its_own_way_and_then_in_the_common_one(
    httpx_mock: HTTPXMock,
) -> None:
    httpx_mock.add_response(url=f"{OTHER}/api/v1/models", status_code=404)
    loaded = {"id": "m", "type": "llm", "state": "loaded", "loaded_context_length": 8192}
    httpx_mock.add_response(url=f"{OTHER}/api/v0/models", json={"data": [loaded]})
    provider = other(backend="lmstudio")
    (info,) = await provider.list_models()
    assert (info.name, info.context, info.loaded) == ("m", 8192, True)
    await provider.dispose()


async def test_koboldcpp_is_asked_for_its_window_too(httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(url=f"{OTHER}/v1/models", json={"data": [{"id": "m"}]})
    httpx_mock.add_response(url=f"{OTHER}/api/extra/true_max_context_length", json={"value": 6144})
    httpx_mock.add_response(url=f"{OTHER}/api/extra/version", json={"result": "KoboldCpp"})
    httpx_mock.add_response(url=f"{OTHER}/sdapi/v1/sd-models", json=[])
    provider = other(backend="kobold")
    assert [info.context for info in await provider.list_models()] == [6144]
    await provider.dispose()
