"""Anthropic's Messages API as a provider: input and output only."""

from collections.abc import Sequence
from urllib.parse import quote

from ollm_tui.config.hosts import url_origin
from ollm_tui.config.presets import SERVICES
from ollm_tui.decode.json_fields import as_object, positive
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef
from ollm_tui.protocol.ports import ProviderStream, StreamingFormat
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.answer_builder import tags_for
from ollm_tui.providers.anthropic.from_wire import AnthropicStream
from ollm_tui.providers.anthropic.models import (
    CHAT_FEATURES,
    KnownModels,
    read_limits,
    read_models,
    read_page,
)
from ollm_tui.providers.anthropic.to_wire import MOST_TOKENS_UNASKED, chat_body
from ollm_tui.providers.base_url import openai_url
from ollm_tui.providers.default_keys import with_default_keys
from ollm_tui.providers.gather import gather
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.stream import RequestPlan, StreamDecoder, answer_stream
from ollm_tui.providers.transport import COUNT_S, Transport
from ollm_tui.providers.unsupported import OnLeftOut, ignore_left_out

API_VERSION = "2023-06-01"
PAGE = 1000
MOST_PAGES = 20
_CAPABILITY = ModelCapability(
    frozenset({"text", "image"}),
    frozenset({"text"}),
    CHAT_FEATURES | {"thinking", "json_mode"},
)
_START_HINT = "Check the network and the server's address."
_OF_THE_PROMPT = frozenset(
    {
        "model",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "output_config",
        "chat_template_kwargs",
    }
)


class AnthropicProvider:
    """One server that answers at `/v1/messages`."""

    streaming_format: StreamingFormat = "sse"

    def __init__(self, spec: ProviderSpec) -> None:
        self.name = spec.name
        self.label = spec.label or spec.name
        keys = {"anthropic-version": API_VERSION}
        if spec.api_key:
            keys["x-api-key"] = spec.api_key
        endpoint = Endpoint(self.name, self.label, "", _START_HINT)
        self._transport = Transport(
            spec, openai_url(spec.base_url or SERVICES["anthropic"]), endpoint, keys
        )
        # The service says so when a model cannot write as much; other servers have small windows.
        is_service = url_origin(self._transport.url) == url_origin(SERVICES["anthropic"])
        self._usual_tokens = MOST_TOKENS_UNASKED if is_service else None
        self._known = KnownModels()

    def chat_stream(self, request: Request) -> ProviderStream:
        """Ask `/messages`."""
        plan = RequestPlan(
            path="/messages",
            body=lambda: self._body(request, plan.left_out.append),
            decoder=lambda: self._decoder(request),
            adapt=lambda body, error: self._known.adapt(body, error, plan.left_out.append),
            wait_until_ready=self._wait_until_ready,
        )
        return answer_stream(self._transport, plan, request.signal)

    async def invoke(self, request: Request) -> Response | ProviderStream:
        """Give the whole answer, or with `request.stream` the stream."""
        stream = self.chat_stream(request)
        return stream if request.stream else await gather(stream)

    def capabilities(self) -> Sequence[ModelCapability]:
        """What such servers can do with a model that is made for it."""
        return (_CAPABILITY,)

    async def count_tokens(self, request: Request) -> int:
        """Count at `/messages/count_tokens`.

        Raises:
            AIError: any failure.
        """
        body = self._body(request)
        asked = {key: value for key, value in body.items() if key in _OF_THE_PROMPT}
        told = await self._transport.json("POST", "/messages/count_tokens", asked, within_s=COUNT_S)
        reply = as_object(told)
        tokens = positive(reply, "input_tokens")
        if tokens is None:
            raise AIError(ErrorCode.ENGINE_ERROR, "The server's reply has no token count.")
        return tokens

    async def list_models(self) -> Sequence[ModelInfo]:
        """Give the models, page by page."""
        entries: list[JsonObject] = []
        after: str | None = None
        for _ in range(MOST_PAGES):
            cursor = f"&after_id={quote(after, safe='')}" if after else ""
            reply = await self._transport.json("GET", f"/models?limit={PAGE}{cursor}")
            page, following = read_page(reply)
            entries += page
            if following is None or following == after:
                break
            after = following
        self._known.list(read_limits(entries))
        return read_models(entries)

    async def dispose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    def _body(self, request: Request, on_left_out: OnLeftOut = ignore_left_out) -> JsonObject:
        return self._known.fit(self._written(request, on_left_out), on_left_out)

    def _written(self, request: Request, on_left_out: OnLeftOut) -> JsonObject:
        """Give the body as the protocol has it, for the newest models."""
        request = with_default_keys(request, self._transport.spec.extra_body)
        longest = self._known.of(request.model).most_tokens or self._usual_tokens
        return chat_body(request, self._signer(request), longest, on_left_out)

    def _decoder(self, request: Request) -> StreamDecoder:
        tags = tags_for(request.should_think)
        return AnthropicStream(self._transport.endpoint, self._signer(request), tags)

    async def _wait_until_ready(self, _error: AIError) -> bool:
        """Wait while an error means that the server is still starting; tell whether it did so."""
        return False

    def _signer(self, request: Request) -> str:
        return str(ModelRef(self.name, request.model))
