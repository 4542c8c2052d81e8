"""OpenAI, and any server that speaks its chat completions."""

from ollm_tui.providers.openai_compatible.counting import LlamaCppProvider, VllmProvider
from ollm_tui.providers.openai_compatible.official import OpenAIProvider
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider
from ollm_tui.providers.spec import ProviderSpec


def create(spec: ProviderSpec) -> OpenAICompatibleProvider:
    """Make the adapter; one that can count tokens where the backend is known to."""
    if spec.kind == "openai":
        return OpenAIProvider(spec)
    match spec.backend:
        case "llamacpp":
            return LlamaCppProvider(spec)
        case "vllm":
            return VllmProvider(spec)
        case _:
            return OpenAICompatibleProvider(spec)


__all__ = [
    "LlamaCppProvider",
    "OpenAICompatibleProvider",
    "OpenAIProvider",
    "VllmProvider",
    "create",
]
