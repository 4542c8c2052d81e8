"""Ollama through its own API: `/api/chat` and what manages its models."""

from ollm_tui.providers.ollama.provider import OllamaProvider

__all__ = ["OllamaProvider"]
