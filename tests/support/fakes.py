"""The fake server of every kind of remote provider, and of every class of its adapters."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ollm_tui.providers.spec import ProviderSpec
from tests.support.fake_anthropic import FakeAnthropic
from tests.support.fake_backends import FakeKobold, FakeLlamaCpp, FakeLMStudio, FakeLocalAI
from tests.support.fake_ollama import fake_ollama
from tests.support.fake_openai import FakeOpenAI
from tests.support.fake_vllm import FakeVllm
from tests.support.http_server import Handler, Left, Received, Reply

FAKES: Mapping[str, Handler] = {
    "ollama": fake_ollama,
    "openai-compatible": FakeOpenAI(),
    "openai": FakeOpenAI(),
    "anthropic": FakeAnthropic(),
}


@dataclass(frozen=True)
class Remote:
    """One class of adapters: how it is asked for, and the server behind it."""

    kind: str
    backend: str | None
    make: Callable[[], Handler]
    """Gives a new server, which remembers nothing of another test."""

    @property
    def wire(self) -> str:
        """The kind that the format of its answers is named after."""
        return "openai-compatible" if self.kind == "openai" else self.kind

    def spec(self, url: str, **more: object) -> ProviderSpec:
        settings = {"name": "p", "kind": self.kind, "backend": self.backend, "base_url": url}
        return ProviderSpec(**(settings | more))  # type: ignore[arg-type]


def _compatible(backend: str, make: Callable[[], Handler]) -> Remote:
    return Remote("openai-compatible", backend, make)


REMOTES: Mapping[str, Remote] = {
    **{kind: Remote(kind, None, lambda kind=kind: FAKES[kind]) for kind in FAKES},  # type: ignore[misc]
    "lmstudio": _compatible("lmstudio", FakeLMStudio),
    "localai": _compatible("localai", FakeLocalAI),
    "kobold": _compatible("kobold", FakeKobold),
    "llamacpp": _compatible("llamacpp", FakeLlamaCpp),
    "llamacpp-router": _compatible("llamacpp-router", lambda: FakeLlamaCpp(router=True)),
    "vllm": _compatible("vllm", FakeVllm),
    "llamacpp messages": Remote("anthropic", "llamacpp", FakeAnthropic),
}
"""Those of a kind alone, by its name, and then those of a backend."""
PATHS: Mapping[str, str] = {
    "ollama": "/api/chat",
    "openai-compatible": "/v1/chat/completions",
    "anthropic": "/v1/messages",
}


class _Recorder(Reply):
    def __init__(self) -> None:
        self.started = self.chunked = False
        self.body = b""

    async def raw(self, data: bytes) -> None:
        pass

    async def write(self, data: bytes) -> None:
        self.body += data

    async def whole(self, body: bytes, *_how: Any, **_more: Any) -> None:
        self.started = True
        self.body += body


async def recording(kind: str, prompt: str) -> bytes:
    """Give the body that the fake server of a kind, or of a backend, streams to a prompt."""
    asked = {
        "model": "thinker" if kind == "ollama" else "tiny",
        "messages": [{"role": "user", "content": prompt}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 100,
    }
    remote, recorder = REMOTES[kind], _Recorder()
    headers = {"anthropic-version": "2023-06-01"}
    with suppress(Left):  # a script that cuts the connection
        request = Received("POST", PATHS[remote.wire], headers, json.dumps(asked).encode())
        await remote.make()(request, recorder)
    return recorder.body
