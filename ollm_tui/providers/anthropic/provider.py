"""Anthropic's Messages API as a provider."""

from collections.abc import Mapping, Sequence
from functools import partial
from urllib.parse import quote

from ollm_tui.config.backends import SERVICES
from ollm_tui.config.urls import url_origin
from ollm_tui.models.thinking_switch import tags_for
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.ports import ProviderStream, StreamingFormat
from ollm_tui.protocol.request import Request
from ollm_tui.providers.answer_decoder import AnswerDecoder
from ollm_tui.providers.anthropic.from_wire import AnthropicDecoder
from ollm_tui.providers.anthropic.models import ModelLimits, read_limits, read_models, read_page
from ollm_tui.providers.anthropic.to_wire import (
    MAX_DEFAULT_TOKENS,
    MEDIA_TYPES,
    chat_body,
    wire_turns,
    with_accepted_schema,
)
from ollm_tui.providers.base_url import openai_url
from ollm_tui.providers.body.unsupported import OnLeftOut, ignore_left_out
from ollm_tui.providers.http_provider import HttpProvider, read_token_count
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.stream import RequestPlan, answer_stream
from ollm_tui.providers.transport import COUNT_S

API_VERSION = "2023-06-01"
PAGE = 1000
MAX_PAGES = 20
_START_HINT = "Check the network and the server's address."
_PROMPT_KEYS = frozenset(
    {"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config",
     "chat_template_kwargs"}
)  # fmt: skip


class AnthropicProvider(HttpProvider):
    """One server that answers at `/v1/messages`."""

    streaming_format: StreamingFormat = "sse"
    message_media = MEDIA_TYPES

    def __init__(self, spec: ProviderSpec) -> None:
        super().__init__(spec, openai_url(spec.base_url or SERVICES["anthropic"]), _START_HINT)
        # The service refuses more than a model can generate; other servers have small windows.
        is_service = url_origin(self._transport.url) == url_origin(SERVICES["anthropic"])
        self._max_default_tokens = MAX_DEFAULT_TOKENS if is_service else None
        self._limits = ModelLimits()
        self._turns_of, self._wire_all = "", wire_turns("")

    def chat_stream(self, request: Request) -> ProviderStream:
        """Chat at `/messages`."""
        plan = RequestPlan(
            path="/messages",
            body=partial(self._body, request),
            decoder=partial(self._decoder, request),
            adapt=self._limits.adapt,
            wait_until_ready=self._wait_until_ready,
        )
        return answer_stream(self._transport, plan, request.signal)

    async def count_tokens(self, request: Request) -> int:
        """Count a prompt's tokens at `/messages/count_tokens`.

        Raises:
            AIError: any failure.
        """
        body = self._body(request)
        prompt = {key: value for key, value in body.items() if key in _PROMPT_KEYS}
        path = "/messages/count_tokens"
        reply = await self._transport.json("POST", path, prompt, within_s=COUNT_S)
        return read_token_count(reply, "input_tokens")

    async def list_models(self) -> Sequence[ModelInfo]:
        """Return the models of all pages."""
        entries: list[JsonObject] = []
        after: str | None = None
        for _ in range(MAX_PAGES):
            cursor = f"&after_id={quote(after, safe='')}" if after else ""
            reply = await self._transport.json("GET", f"/models?limit={PAGE}{cursor}")
            page, last = read_page(reply)
            entries += page
            if last is None or last == after:
                break
            after = last
        self._limits.list(read_limits(entries))
        return read_models(entries)

    def _auth_headers(self, spec: ProviderSpec) -> Mapping[str, str]:
        key = {"x-api-key": spec.api_key} if spec.api_key else {}
        return {"anthropic-version": API_VERSION, **key}

    def _body(self, request: Request, on_left_out: OnLeftOut = ignore_left_out) -> JsonObject:
        body = with_accepted_schema(self._unfitted_body(request, on_left_out))
        return self._limits.fit(body, on_left_out)

    def _unfitted_body(self, request: Request, on_left_out: OnLeftOut) -> JsonObject:
        """Return the body as the newest models take it."""
        request = self._with_defaults(request)
        longest = self._limits.of(request.model).max_tokens or self._max_default_tokens
        signer = self._signer(request)
        if self._turns_of != signer:
            self._turns_of, self._wire_all = signer, wire_turns(signer)
        return chat_body(request, signer, longest, on_left_out, self._wire_all)

    def _decoder(self, request: Request) -> AnswerDecoder:
        tags = tags_for(request, is_divided=True)
        return AnthropicDecoder(self._transport.endpoint, self._signer(request), tags)

    async def _wait_until_ready(self, _error: AIError) -> bool:
        return False

    def _signer(self, request: Request) -> str:
        return str(ModelRef(self.name, request.model))
