"""OpenAI, and any server that speaks its chat completions."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.providers.openai_compatible.kobold import KoboldProvider
    from ollm_tui.providers.openai_compatible.llamacpp import (
        LlamaCppProvider,
        LlamaCppRouterProvider,
    )
    from ollm_tui.providers.openai_compatible.lmstudio import LMStudioProvider
    from ollm_tui.providers.openai_compatible.localai import LocalAIProvider
    from ollm_tui.providers.openai_compatible.provider import (
        OpenAICompatibleProvider,
        OpenAIProvider,
    )
    from ollm_tui.providers.openai_compatible.sdapi import SdWebUIProvider
    from ollm_tui.providers.openai_compatible.sdcpp import SdCppProvider
    from ollm_tui.providers.openai_compatible.vllm import VllmProvider
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "kobold": ("KoboldProvider",),
            "llamacpp": ("LlamaCppProvider", "LlamaCppRouterProvider"),
            "lmstudio": ("LMStudioProvider",),
            "localai": ("LocalAIProvider",),
            "provider": ("OpenAICompatibleProvider", "OpenAIProvider"),
            "sdapi": ("SdWebUIProvider",),
            "sdcpp": ("SdCppProvider",),
            "vllm": ("VllmProvider",),
        },
    )

__all__ = [
    "KoboldProvider",
    "LMStudioProvider",
    "LlamaCppProvider",
    "LlamaCppRouterProvider",
    "LocalAIProvider",
    "OpenAICompatibleProvider",
    "OpenAIProvider",
    "SdCppProvider",
    "SdWebUIProvider",
    "VllmProvider",
]
