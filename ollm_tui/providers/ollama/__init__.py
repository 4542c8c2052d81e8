"""Ollama through its own API: `/api/chat` and what manages its models."""

from ollm_tui.providers.ollama.provider import OllamaProvider
from ollm_tui.providers.spec import ProviderSpec


def create(spec: ProviderSpec) -> OllamaProvider:
    """Make the adapter."""
    return OllamaProvider(spec)


__all__ = ["OllamaProvider", "create"]
