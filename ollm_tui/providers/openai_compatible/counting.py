"""vLLM counts tokens before it is asked to answer, through the model's template."""

from ollm_tui.protocol.request import Request
from ollm_tui.providers.base_url import join, server_root
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider
from ollm_tui.providers.openai_compatible.token_reply import tokens_told

_OF_THE_PROMPT = ("model", "messages", "tools", "chat_template_kwargs")


class VllmProvider(OpenAICompatibleProvider):
    """A vLLM server."""

    async def count_tokens(self, request: Request) -> int:
        """Count at `/tokenize`, which is not below `/v1`.

        Raises:
            AIError: any failure.
        """
        body = self._body(request)
        asked = {key: body[key] for key in _OF_THE_PROMPT if key in body}
        url = join(server_root(self._transport.url), "/tokenize")
        reply = await self._transport.json("POST", url, {**asked, "add_generation_prompt": True})
        return tokens_told(reply, "count")
