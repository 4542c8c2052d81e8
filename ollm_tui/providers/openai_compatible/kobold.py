"""KoboldCpp: one model, its window under its own path, and generations that must be aborted."""

import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from ollm_tui.decode.json_fields import as_object, positive
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.ports import ProviderStream, ReportDrawing
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.providers.body.unsupported import OnLeftOut, ignore_left_out
from ollm_tui.providers.http_provider import read_token_count
from ollm_tui.providers.media.refusals import not_offered
from ollm_tui.providers.openai_compatible.models import TEXT
from ollm_tui.providers.openai_compatible.provider import OpenAICompatibleProvider
from ollm_tui.providers.transport import COUNT_S
from ollm_tui.tasks import task_group

if TYPE_CHECKING:
    from ollm_tui.providers.openai_compatible.sdapi import SdApi

ABORT_S = 0.25
"""How long an abort may delay the end of an answer."""


class KoboldProvider(OpenAICompatibleProvider):
    """A KoboldCpp server."""

    _window: int | None = None

    @asynccontextmanager
    async def chat_stream(self, request: Request) -> AsyncIterator[AsyncIterator[ProviderEvent]]:
        """Chat at `/chat/completions`; leaving the answer early aborts it on the server.

        With tools the server generates the whole answer before it sends any of it, and would not
        notice that the connection has been closed.
        """
        key = f"KCPP{secrets.token_hex(4)}"
        options = request.options
        keyed = {"genkey": key, **(options.extra_body or {})}
        keyed_request = replace(request, options=replace(options, extra_body=keyed))
        async with task_group() as group, super().chat_stream(keyed_request) as events:
            stream = KoboldStream(events, options)
            try:
                yield stream
            finally:
                if stream.may_be_generating:
                    group.start_soon(self._abort, str(keyed["genkey"]))

    async def count_text_tokens(self, _model: str, text: str) -> int:
        """Count a text's tokens at `/api/extra/tokencount`.

        Raises:
            AIError: any failure.
        """
        if not text:
            return 0
        body = {"prompt": text}
        reply = await self._root_json("POST", "/api/extra/tokencount", body, within_s=COUNT_S)
        return read_token_count(reply, "value")

    async def draw(self, request: Request, report: ReportDrawing | None = None) -> Response:
        """Return the pictures of the input's text by `/sdapi/v1`.

        Raises:
            AIError: any failure.
        """
        return await self._sdapi().draw(request, report)

    def infill(self, request: Request) -> ProviderStream:
        """Refuse: its completions leave out the text after the gap without a word.

        Raises:
            AIError: UNSUPPORTED_FEATURE.
        """
        raise not_offered(self.label, "infill")

    def _body(self, request: Request, on_left_out: OnLeftOut = ignore_left_out) -> JsonObject:
        """Keep an answer within half of a known window: the server would cut the prompt for it."""
        longest, window = request.options.max_tokens, self._window
        if longest is not None and window is not None and longest > window // 2:
            options = replace(request.options, max_tokens=max(1, window // 2))
            request = replace(request, options=options)
        return super()._body(request, on_left_out)

    async def _fetch_models(self) -> Sequence[ModelInfo]:
        models = await super()._fetch_models()
        window = read_window(await self._optional_json("/api/extra/true_max_context_length"))
        capability = read_capability(await self._optional_json("/api/extra/version"))
        self._window = window or self._window
        chat = [
            replace(info, context=window, capability=capability, loaded=True) for info in models
        ]
        # Its other list is empty unless it was started with a model that draws.
        drawing = await self._sdapi().models()
        return [*chat, *(replace(info, loaded=True) for info in drawing)]

    def _sdapi(self) -> "SdApi":
        # Loaded only where it draws.
        from ollm_tui.providers.openai_compatible.sdapi import SdApi

        transport = self._transport
        return SdApi(self._root_json, transport.endpoint, transport.spec.first_byte_timeout_s)

    async def _abort(self, key: str) -> None:
        """Abort the generation of this request, but of no other user."""
        # After a failure the generation ends by itself.
        with anyio.move_on_after(ABORT_S, shield=True), suppress(AIError):
            await self._root_json("POST", "/api/extra/abort", {"genkey": key})


def read_window(reply: JsonValue) -> int | None:
    """Read `/api/extra/true_max_context_length`."""
    return positive(as_object(reply), "value")


def read_capability(reply: JsonValue) -> ModelCapability | None:
    """Read the input types from `/api/extra/version`; features are not in it."""
    version = as_object(reply)
    if "vision" not in version:
        return None
    inputs = {kind for name, kind in (("vision", "image"), ("audio", "audio")) if version.get(name)}
    return ModelCapability(TEXT | inputs, TEXT)


class KoboldStream(AsyncIterator[ProviderEvent]):
    """The events of one answer, with its finish reason corrected."""

    def __init__(self, events: AsyncIterator[ProviderEvent], options: GenerationOptions) -> None:
        self._events = events
        self._options = options
        self._ended = False
        self.may_be_generating = False
        """Whether the request was sent and the server has not reported its end."""

    async def __anext__(self) -> ProviderEvent:
        if not self._ended:
            self.may_be_generating = True
        event = await anext(self._events)
        match event:
            case Finish():
                self._ended = True
                self.may_be_generating = event.reason == "abort"
                return self._corrected(event)
            case ErrorEvent():
                self._ended = True
                # An error of the server is its end; after a timeout it may go on for long.
                self.may_be_generating = event.error.code == ErrorCode.TIMEOUT
            case _:
                pass
        return event

    def _corrected(self, end: Finish) -> Finish:
        """Tell a stop sequence from `length` by the tokens: the server reports both so."""
        if end.reason != "length" or not self._options.stop:
            return end
        written = end.usage.completion_tokens if end.usage else None
        allowed = self._options.max_tokens
        if written is not None and allowed is not None and written >= allowed:
            return end
        return replace(end, reason="stop")
