"""Any OpenAI-compatible server as a provider, and OpenAI itself.

What makes media is loaded when some are made.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property, partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from anyio import to_thread

from ollm_tui.config.backends import SERVICES
from ollm_tui.models.kinds import kind_table
from ollm_tui.models.thinking_switch import tags_for
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.ports import ProviderStream, ReportDrawing, StreamingFormat
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.base_url import join, openai_url, server_root
from ollm_tui.providers.body.unsupported import OnLeftOut, ignore_left_out
from ollm_tui.providers.http_provider import HttpProvider
from ollm_tui.providers.openai_compatible.adapt import Refusals
from ollm_tui.providers.openai_compatible.from_wire import OpenAIDecoder
from ollm_tui.providers.openai_compatible.llamacpp_models import is_llamacpp, with_props
from ollm_tui.providers.openai_compatible.models import BY_KIND, read_models
from ollm_tui.providers.openai_compatible.operations import no_such_model, not_listed
from ollm_tui.providers.openai_compatible.to_wire import (
    OFFICIAL,
    as_sent,
    chat_body,
    media_of,
    wire_messages,
)
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.stream import RequestPlan, answer_stream
from ollm_tui.providers.transport import MAX_REPLY_BYTES

if TYPE_CHECKING:
    from ollm_tui.providers.openai_compatible.video import Videos

_START_HINT = "Start the server, or choose another one with --host."
GENERIC = "generic"
"""A server of which nothing more is known, and whose backend is not detected."""


class OpenAICompatibleProvider(HttpProvider):
    """One server that answers at `/v1/chat/completions`; a backend with more has its own class."""

    streaming_format: StreamingFormat = "sse"

    def __init__(self, spec: ProviderSpec) -> None:
        if not spec.base_url:
            raise AIError(
                ErrorCode.BAD_REQUEST,
                f"Provider {spec.name} has no address.",
                hint=f"Set base_url of provider {spec.name}, or give --host.",
                provider=spec.name,
            )
        super().__init__(spec, openai_url(spec.base_url), _START_HINT)
        self._backend = spec.backend
        self._wire_all = wire_messages(self._backend)
        self._refusals = Refusals()
        self._dividing: set[str] = set()
        """Models whose thinking the server has sent apart from their answer: servers divide by
        templates, parsers and settings, of which nothing tells beforehand."""
        self.last_error: AIError | None = None
        """Why the last list of models is empty, or None if it is not a failure."""

    def chat_stream(self, request: Request) -> ProviderStream:
        """Chat at `/chat/completions`."""
        request, model = self._with_defaults(request), request.model
        tags = tags_for(request, is_divided=model in self._dividing)
        plan = RequestPlan(
            path="/chat/completions",
            body=partial(self._streamed_body, request),
            decoder=partial(
                OpenAIDecoder, self._transport.endpoint, tags, partial(self._dividing.add, model)
            ),
            adapt=self._refusals.adapt,
            prepare=partial(self._prepare, request),
            wait_until_ready=self._wait_until_ready,
        )
        return answer_stream(self._transport, plan, request.signal)

    @property
    def message_media(self) -> Collection[str]:
        """The types of content that messages may have beside text."""
        return media_of(self._backend)

    def as_sent(self, request: Request) -> Request:
        """Return a request with what switches thinking in its messages.

        Raises:
            AIError: nothing switches it.
        """
        return as_sent(self._with_defaults(request), self._backend)

    async def embed(self, request: Request) -> Response:
        """Return the embeddings of the input's texts by `/embeddings`.

        Raises:
            AIError: any failure, with the server's message if its model makes no embeddings.
        """
        # Loaded when it is used.
        from ollm_tui.providers.openai_compatible.embeddings import embed_by_openai

        return await embed_by_openai(self._transport, request)

    def speak(self, request: Request) -> ProviderStream:
        """Stream the sound of the input's text by `/audio/speech`."""
        # Loaded when it is used.
        from ollm_tui.providers.openai_compatible.audio import speak

        # OpenAI requires a voice; other servers have one of their own.
        return speak(self._transport, request, voice="alloy" if self._backend == OFFICIAL else None)

    async def transcribe(self, request: Request) -> Response:
        """Return the text of the input's sound by `/audio/transcriptions`.

        Raises:
            AIError: any failure.
        """
        # Loaded when it is used.
        from ollm_tui.providers.openai_compatible.audio import transcribe

        return await transcribe(self._transport, request)

    async def draw(self, request: Request, _report: ReportDrawing | None = None) -> Response:
        """Return the pictures of the input's text by `/images/generations` or `/images/edits`.

        Raises:
            AIError: any failure.
        """
        # Loaded when it is used.
        from ollm_tui.providers.openai_compatible.drawing import draw

        return await draw(self._transport, request)

    @cached_property
    def _videos(self) -> "Videos":
        # Loaded when it is used.
        from ollm_tui.providers.openai_compatible.video import Videos

        return Videos(self._transport)

    async def make_video(self, request: Request, report: ReportDrawing | None = None) -> Response:
        """Return the videos of the input's text by `/videos`.

        Raises:
            AIError: any failure.
        """
        return await self._videos.make(request, report)

    async def resume_video(
        self, job: str, request: Request, report: ReportDrawing | None = None
    ) -> Response:
        """Return the video of a job; BAD_REQUEST if the server no longer has it.

        Raises:
            AIError: any failure.
        """
        return await self._videos.resume(job, request, report)

    def infill(self, request: Request) -> ProviderStream:
        """Stream the text between the input and its suffix by `/completions`."""
        # Loaded when it is used.
        from ollm_tui.providers.openai_compatible.infill import complete_gap

        return complete_gap(self._transport, self._with_defaults(request))

    async def list_models(self) -> Sequence[ModelInfo]:
        """Return the server's models; on failure none, with the reason in `last_error`."""
        self.last_error = None
        try:
            return await self._fetch_models()
        except AIError as error:
            self.last_error = not_listed(self._transport.endpoint, error)
            return []

    async def _prepare(self, request: Request) -> None:
        """Find out what the body depends on, before it is made."""

    def _body(self, request: Request, on_left_out: OnLeftOut = ignore_left_out) -> JsonObject:
        body = chat_body(request, self._backend, on_left_out, self._wire_all)
        return self._refusals.apply(body, on_left_out)

    def _streamed_body(self, request: Request, on_left_out: OnLeftOut) -> JsonObject:
        return self._body(request, on_left_out)

    async def _wait_until_ready(self, _error: AIError) -> bool:
        """Wait if the error means that the server is starting; return whether it is ready now."""
        return False

    async def _fetch_models(self) -> Sequence[ModelInfo]:
        reply = await self._transport.json("GET", "/models")
        models = read_models(reply)
        if self._backend != GENERIC and is_llamacpp(reply):
            return with_props(models, await self._props())
        return models

    async def _fetch_model(self, name: str) -> ModelInfo:
        models = {info.name: info for info in await self._fetch_models()}
        if name not in models:
            raise no_such_model(self._transport.endpoint, name, models)
        return models[name]

    async def _root_json(
        self,
        method: str,
        path: str,
        body: JsonMapping | None = None,
        *,
        within_s: float | None = None,
        max_bytes: int = MAX_REPLY_BYTES,
    ) -> JsonValue:
        """Send a request to a path beside `/v1`, not below it."""
        url = join(server_root(self._transport.url), path)
        return await self._transport.json(method, url, body, within_s=within_s, max_bytes=max_bytes)

    async def _props(self) -> JsonValue:
        """Return llama.cpp's properties or None; a wrong key, which the list hides, is raised."""
        try:
            return await self._root_json("GET", "/props")
        except AIError as error:
            if error.status == HTTPStatus.UNAUTHORIZED:
                raise
            return None

    async def _optional_json(self, path: str) -> JsonValue:
        """Return the reply at a path that only some versions have, or None on any failure."""
        try:
            return await self._root_json("GET", path)
        except AIError:
            return None


class OpenAIProvider(OpenAICompatibleProvider):
    """OpenAI's own API, or a gateway to it."""

    def __init__(self, spec: ProviderSpec) -> None:
        address = spec.base_url or SERVICES["openai"]
        super().__init__(replace(spec, base_url=address, backend=OFFICIAL))

    async def _fetch_models(self) -> Sequence[ModelInfo]:
        listed = await super()._fetch_models()
        kinds = await to_thread.run_sync(kind_table)
        models = []
        for info in listed:
            if kinds.not_chat_at_openai.search(info.name):
                made = info.capability or BY_KIND.get(kinds.kind_named(info.name) or "")
                if made is None:
                    continue  # it has an endpoint of its own, which is not used here
                info = replace(info, capability=made)
            models.append(info)
        return models
