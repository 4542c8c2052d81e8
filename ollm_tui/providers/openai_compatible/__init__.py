"""Any server that speaks OpenAI's chat completions."""

from ollm_tui.providers.openai_compatible.counting import LlamaCppProvider, VllmProvider
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider
from ollm_tui.providers.spec import ProviderSpec


def create(spec: ProviderSpec) -> OpenAICompatibleProvider:
    """Make the adapter; one that can count tokens where the backend is known to."""
    match spec.backend:
        case "llamacpp":
            return LlamaCppProvider(spec)
        case "vllm":
            return VllmProvider(spec)
        case _:
            return OpenAICompatibleProvider(spec)


__all__ = ["LlamaCppProvider", "OpenAICompatibleProvider", "VllmProvider", "create"]
