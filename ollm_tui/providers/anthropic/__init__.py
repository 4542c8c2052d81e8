"""Anthropic's Messages API, and servers that speak it."""

from ollm_tui.providers.anthropic.provider import AnthropicProvider
from ollm_tui.providers.spec import ProviderSpec


def create(spec: ProviderSpec) -> AnthropicProvider:
    """Make the adapter."""
    return AnthropicProvider(spec)


__all__ = ["AnthropicProvider", "create"]
