"""OpenAI, and any server that speaks its chat completions."""

from collections.abc import Mapping
from types import MappingProxyType

from ollm_tui.providers.openai_compatible.kobold import KoboldProvider
from ollm_tui.providers.openai_compatible.llamacpp import (
    ROUTER,
    LlamaCppProvider,
    LlamaCppRouterProvider,
)
from ollm_tui.providers.openai_compatible.lmstudio import LMStudioProvider
from ollm_tui.providers.openai_compatible.localai import LocalAIProvider
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider, OpenAIProvider
from ollm_tui.providers.openai_compatible.vllm import VllmProvider
from ollm_tui.providers.spec import ProviderSpec

BACKENDS: Mapping[str, type[OpenAICompatibleProvider]] = MappingProxyType(
    {
        "kobold": KoboldProvider,
        "llamacpp": LlamaCppProvider,
        ROUTER: LlamaCppRouterProvider,
        "lmstudio": LMStudioProvider,
        "localai": LocalAIProvider,
        "vllm": VllmProvider,
    }
)
"""The adapter of each backend, whose methods are what it can do beside chat."""


def create(spec: ProviderSpec) -> OpenAICompatibleProvider:
    """Make the adapter of a server."""
    if spec.kind == "openai":
        return OpenAIProvider(spec)
    return BACKENDS.get(spec.backend or "", OpenAICompatibleProvider)(spec)


__all__ = [
    "KoboldProvider",
    "LMStudioProvider",
    "LlamaCppProvider",
    "LlamaCppRouterProvider",
    "LocalAIProvider",
    "OpenAICompatibleProvider",
    "OpenAIProvider",
    "VllmProvider",
    "create",
]
