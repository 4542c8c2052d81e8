"""The fake server of every kind of remote provider, and of every class of its adapters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ollm_tui.providers.spec import ProviderSpec
from tests.support.fake_anthropic import fake_anthropic
from tests.support.fake_kobold import FakeKobold
from tests.support.fake_llamacpp import FakeLlamaCpp
from tests.support.fake_lmstudio import FakeLMStudio
from tests.support.fake_localai import FakeLocalAI
from tests.support.fake_ollama import fake_ollama
from tests.support.fake_openai import fake_openai
from tests.support.fake_vllm import fake_vllm
from tests.support.http_server import Handler

FAKES: Mapping[str, Handler] = {
    "ollama": fake_ollama,
    "openai-compatible": fake_openai(),
    "openai": fake_openai(),
    "anthropic": fake_anthropic(),
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
        """Give the settings of a provider `p` at this address."""
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
    "vllm": _compatible("vllm", fake_vllm),
    "llamacpp messages": Remote("anthropic", "llamacpp", fake_anthropic),
}
"""Those of a kind alone, by its name, and then those of a backend."""
