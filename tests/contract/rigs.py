"""The rigs of all providers; see `rig.py` for what a rig is and how to add one."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial

from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import SupportsDispose
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers import create_provider
from tests.contract.rig import PromptRig, Rig
from tests.contract.rig_embedded import embedded_rig
from tests.support.fakes import REMOTES
from tests.support.http_server import serve

PROMPTS: Mapping[str, str] = {
    "text": "hello",
    "thinking": "think",
    "usage": "hello",
    "empty": "nothing",
    "midway": "fail",
}


@asynccontextmanager
async def http_rig(kind: str, count: int = 1) -> AsyncIterator[Rig]:
    """Give a remote provider and a fake server of its kind, or a pool of so many servers."""
    remote = REMOTES[kind]
    model = "thinker" if kind == "ollama" else "tiny"

    def request(scenario: str, signal: AbortSignal | None, stream: bool) -> Request:
        prompt = Message("user", PROMPTS.get(scenario, scenario))
        return Request(model=model, messages=[prompt], signal=signal, stream=stream)

    async with AsyncExitStack() as stack:
        handler = remote.make()
        servers = [await stack.enter_async_context(serve(handler)) for _ in range(count)]
        more = {"base_urls": tuple(server.url for server in servers)} if count > 1 else {}
        spec = remote.spec(
            servers[0].url, name="rig", first_byte_timeout_s=0.8, idle_timeout_s=0.4, **more
        )
        provider = create_provider(spec)
        yield PromptRig(
            provider,
            request,
            lambda: sum(server.answering for server in servers),
            lambda: sum(len(server.disconnects) for server in servers),
        )
        assert isinstance(provider, SupportsDispose)
        await provider.dispose()


RIGS: Mapping[str, Callable[[], AbstractAsyncContextManager[Rig]]] = {
    **{kind: partial(http_rig, kind) for kind in REMOTES},
    **{f"pool of {kind}": partial(http_rig, kind, 2) for kind in ("ollama", "openai-compatible")},
    "embedded": embedded_rig,
}
SLOW = frozenset({"llamacpp-router", "llamacpp messages"})
"""Rigs whose adapters chat by the code of another one here."""
