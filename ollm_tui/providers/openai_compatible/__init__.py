"""Any server that speaks OpenAI's chat completions."""

from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider
from ollm_tui.providers.spec import ProviderSpec


def create(spec: ProviderSpec) -> OpenAICompatibleProvider:
    """Make the adapter."""
    return OpenAICompatibleProvider(spec)


__all__ = ["OpenAICompatibleProvider", "create"]
