"""The rigs of all providers; see `rig.py` for what a rig is and how to add one."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import SupportsDispose
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers import create_provider
from ollm_tui.providers.spec import ProviderSpec
from tests.contract.rig import PromptRig, Rig
from tests.contract.rig_embedded import embedded_rig
from tests.support.fake_anthropic import fake_anthropic
from tests.support.fake_kobold import FakeKobold
from tests.support.fake_llamacpp import FakeLlamaCpp
from tests.support.fake_lmstudio import FakeLMStudio
from tests.support.fake_localai import FakeLocalAI
from tests.support.fake_ollama import fake_ollama
from tests.support.fake_openai import fake_openai
from tests.support.fake_vllm import fake_vllm
from tests.support.http_server import Handler, serve

PROMPTS: Mapping[str, str] = {
    "text": "hello",
    "thinking": "think",
    "usage": "hello",
    "empty": "nothing",
    "midway": "fail",
}


def backend_rig(backend: str, make: Callable[[], Handler]) -> AbstractAsyncContextManager[Rig]:
    """Give an OpenAI-compatible provider of one backend, and a new fake server of that kind."""
    return http_rig("openai-compatible", "tiny", make(), backend)


@asynccontextmanager
async def http_rig(
    kind: str, model: str, handler: Handler, backend: str | None = None
) -> AsyncIterator[Rig]:
    """Give a remote provider and a fake server of its kind."""

    def request(scenario: str, signal: AbortSignal | None, stream: bool) -> Request:
        prompt = Message("user", PROMPTS.get(scenario, scenario))
        return Request(model=model, messages=[prompt], signal=signal, stream=stream)

    async with serve(handler) as server:
        spec = ProviderSpec(
            name="rig",
            kind=kind,
            base_url=server.url,
            backend=backend,
            first_byte_timeout_s=1.5,
            idle_timeout_s=0.6,
        )
        provider = create_provider(spec)
        yield PromptRig(
            provider, request, lambda: server.answering, lambda: len(server.disconnects)
        )
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()


@asynccontextmanager
async def pool_rig(kind: str, model: str, handler: Handler) -> AsyncIterator[Rig]:
    """Give a pool of two servers of one kind."""

    def request(scenario: str, signal: AbortSignal | None, stream: bool) -> Request:
        prompt = Message("user", PROMPTS.get(scenario, scenario))
        return Request(model=model, messages=[prompt], signal=signal, stream=stream)

    async with serve(handler) as one, serve(handler) as other:
        spec = ProviderSpec(
            name="rig",
            kind=kind,
            base_urls=(one.url, other.url),
            first_byte_timeout_s=1.5,
            idle_timeout_s=0.6,
        )
        provider = create_provider(spec)
        servers = (one, other)
        yield PromptRig(
            provider,
            request,
            lambda: sum(server.answering for server in servers),
            lambda: sum(len(server.disconnects) for server in servers),
        )
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()


RIGS: Mapping[str, Callable[[], AbstractAsyncContextManager[Rig]]] = {
    "ollama": partial(http_rig, "ollama", "thinker", fake_ollama),
    "openai-compatible": partial(http_rig, "openai-compatible", "tiny", fake_openai()),
    "lmstudio": partial(backend_rig, "lmstudio", FakeLMStudio),
    "localai": partial(backend_rig, "localai", FakeLocalAI),
    "kobold": partial(backend_rig, "kobold", FakeKobold),
    "llamacpp": partial(backend_rig, "llamacpp", FakeLlamaCpp),
    "llamacpp-router": partial(backend_rig, "llamacpp-router", partial(FakeLlamaCpp, router=True)),
    "vllm": partial(backend_rig, "vllm", fake_vllm),
    "openai": partial(http_rig, "openai", "tiny", fake_openai()),
    "anthropic": partial(http_rig, "anthropic", "tiny", fake_anthropic()),
    "llamacpp messages": partial(http_rig, "anthropic", "tiny", fake_anthropic(), "llamacpp"),
    "pool of ollama": partial(pool_rig, "ollama", "thinker", fake_ollama),
    "pool of openai-compatible": partial(pool_rig, "openai-compatible", "tiny", fake_openai()),
    "embedded": embedded_rig,
}
SLOW = frozenset({"llamacpp-router", "llamacpp messages"})
"""Rigs whose adapters chat by the code of another one here."""
