"""Anthropic's Messages API, and servers that speak it."""

from ollm_tui.providers.anthropic.llamacpp import LLAMACPP, LlamaCppMessagesProvider
from ollm_tui.providers.anthropic.provider import AnthropicProvider
from ollm_tui.providers.spec import ProviderSpec


def create(spec: ProviderSpec) -> AnthropicProvider:
    """Make the adapter for what is known of the server."""
    is_llamacpp = (spec.backend or "").startswith(LLAMACPP)  # of one model, or of many
    return LlamaCppMessagesProvider(spec) if is_llamacpp else AnthropicProvider(spec)


__all__ = ["AnthropicProvider", "LlamaCppMessagesProvider", "create"]
