"""The servers that count tokens before they are asked to answer: llama.cpp and vLLM.

Both apply the model's template, so that the count is the one they will see themselves. They are
classes of their own because a screen asks whether an adapter can count.
"""

from http import HTTPStatus

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.request import Request
from ollm_tui.providers.base_url import join, server_root
from ollm_tui.providers.fields import as_object, positive, string
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider

_ABSENT = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED)
_OF_THE_ANSWER = frozenset({"stream", "stream_options", "max_tokens", "max_completion_tokens"})
_OF_THE_PROMPT = ("model", "messages", "tools", "chat_template_kwargs")


class LlamaCppProvider(OpenAICompatibleProvider):
    """A llama.cpp server."""

    _counts_at_once = True

    async def count_tokens(self, request: Request) -> int:
        """Count at `/chat/completions/input_tokens`; older builds by `/apply-template`.

        Raises:
            AIError: any failure.
        """
        body = {k: v for k, v in self._body(request).items() if k not in _OF_THE_ANSWER}
        if self._counts_at_once:
            try:
                path = "/chat/completions/input_tokens"
                reply = as_object(await self._transport.json("POST", path, body))
                return _count(positive(reply, "input_tokens"))
            except AIError as error:
                if error.status not in _ABSENT:
                    raise
                self._counts_at_once = False
        return await self._count_in_two_steps(body)

    async def _count_in_two_steps(self, body: JsonObject) -> int:
        prompt = string(as_object(await self._at_root("/apply-template", body)), "prompt")
        if prompt is None:
            raise _uncounted()
        text: JsonObject = {"content": prompt, "add_special": True, "parse_special": True}
        tokens = as_object(await self._at_root("/tokenize", text)).get("tokens")
        return _count(len(tokens) if isinstance(tokens, list) else None)

    async def _at_root(self, path: str, body: JsonObject) -> JsonValue:
        return await self._transport.json(
            "POST", join(server_root(self._transport.url), path), body
        )


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
        return _count(positive(as_object(reply), "count"))


def _count(tokens: int | None) -> int:
    if not tokens:
        raise _uncounted()
    return tokens


def _uncounted() -> AIError:
    return AIError(ErrorCode.ENGINE_ERROR, "The server answered without a number of tokens.")
