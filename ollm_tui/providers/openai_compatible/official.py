"""OpenAI itself: the dialect that it insists on, and which of its models can chat."""

import re
from collections.abc import Sequence
from dataclasses import replace

from ollm_tui.config.backends import SERVICES
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider
from ollm_tui.providers.openai_compatible.to_wire import OFFICIAL
from ollm_tui.providers.spec import ProviderSpec

_OTHER_KINDS = re.compile(
    r"embedding|whisper|tts|transcribe|translate|realtime|audio|dall-e|image|sora|moderation"
    r"|babbage|davinci|instruct|computer-use|codex|deep-research|-pro\b"
)
"""Names of models that do not answer at `/chat/completions`: names are all the listing tells."""


class OpenAIProvider(OpenAICompatibleProvider):
    """OpenAI's own API, or a gateway to it."""

    def __init__(self, spec: ProviderSpec) -> None:
        address = spec.base_url or SERVICES["openai"]
        super().__init__(replace(spec, base_url=address, backend=OFFICIAL))

    async def _listed(self) -> Sequence[ModelInfo]:
        """Give the models that chat."""
        return [info for info in await super()._listed() if not _OTHER_KINDS.search(info.name)]
