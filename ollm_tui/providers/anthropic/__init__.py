"""Anthropic's Messages API, and servers that speak it."""

from ollm_tui.providers.anthropic.llamacpp import LlamaCppMessagesProvider
from ollm_tui.providers.anthropic.provider import AnthropicProvider

__all__ = ["AnthropicProvider", "LlamaCppMessagesProvider"]
