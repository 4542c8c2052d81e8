"""llama.cpp's server of one model: it counts with the template, and says when it is loading."""

from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus

from ollm_tui.decode.json_fields import as_object, string
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.request import Request
from ollm_tui.providers.openai_compatible.llamacpp_models import (
    read_router,
    read_statuses,
    with_props,
)
from ollm_tui.providers.openai_compatible.loading import has_loaded_after, is_loading
from ollm_tui.providers.openai_compatible.models import read_models
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider
from ollm_tui.providers.openai_compatible.token_reply import (
    tokens_listed,
    tokens_told,
    uncounted,
)
from ollm_tui.providers.statuses import NO_SUCH_PATH
from ollm_tui.providers.transport import COUNT_S

_OF_THE_ANSWER = frozenset({"stream", "stream_options", "max_tokens", "max_completion_tokens"})


class LlamaCppProvider(OpenAICompatibleProvider):
    """A llama.cpp server; one that manages many models is a `LlamaCppRouterProvider`."""

    _counts_at_once = True

    async def count_tokens(self, request: Request) -> int:
        """Count at `/chat/completions/input_tokens`; older builds by `/apply-template`.

        Raises:
            AIError: any failure.
        """
        asked = self._body(self._completed(request))
        body = {k: v for k, v in asked.items() if k not in _OF_THE_ANSWER}
        if self._counts_at_once:
            try:
                path = "/chat/completions/input_tokens"
                reply = await self._transport.json("POST", path, body, within_s=COUNT_S)
                return tokens_told(reply, "input_tokens")
            except AIError as error:
                if error.status not in NO_SUCH_PATH:
                    raise
                self._counts_at_once = False
        return await self._count_in_two_steps(body)

    async def is_responding(self, within_s: float) -> bool:
        """Whether the server says anything in time; one that cannot be reached counts as such."""
        try:
            await self._at_root("GET", "/health", within_s=within_s)
        except AIError as error:
            return error.status is not None or error.code != ErrorCode.TIMEOUT
        return True

    async def _count_in_two_steps(self, body: JsonObject) -> int:
        reply = await self._at_root("POST", "/apply-template", body, within_s=COUNT_S)
        prompt = string(as_object(reply), "prompt")
        if prompt is None:
            raise uncounted()
        text: JsonObject = {"content": prompt, "add_special": True, "parse_special": True}
        reply = await self._at_root("POST", "/tokenize", text, within_s=COUNT_S)
        return tokens_listed(reply, "tokens")

    async def _listed(self) -> Sequence[ModelInfo]:
        reply = await self._transport.json("GET", "/models")
        if read_statuses(reply):
            await self._props()  # tells a wrong key
            return read_router(reply, {})
        models = read_models(reply)
        try:
            return with_props(models, await self._at_root("GET", "/props"))
        except AIError as error:
            if error.status == HTTPStatus.UNAUTHORIZED:
                raise  # the list is open to everybody, the chat is not
            if not is_loading(error):
                return models
            return [replace(info, loaded=False) for info in models]

    async def _is_ready_after(self, error: AIError) -> bool:
        return await has_loaded_after(error, self._transport)
