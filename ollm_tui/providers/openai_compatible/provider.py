"""Any OpenAI-compatible server as a provider: input and output only."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus

from ollm_tui.config.presets import SERVICES
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.ports import ProviderStream, StreamingFormat
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.answer_builder import tags_for
from ollm_tui.providers.base_url import join, openai_url, server_root
from ollm_tui.providers.default_keys import with_default_keys
from ollm_tui.providers.gather import gather
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.openai_compatible.adapt import Refusals
from ollm_tui.providers.openai_compatible.embeddings import embed
from ollm_tui.providers.openai_compatible.from_wire import OpenAIStream
from ollm_tui.providers.openai_compatible.llamacpp_models import is_llamacpp, with_props
from ollm_tui.providers.openai_compatible.models import read_models
from ollm_tui.providers.openai_compatible.operations import no_such_model, not_listed
from ollm_tui.providers.openai_compatible.to_wire import OFFICIAL, chat_body
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.stream import Preparation, RequestPlan, answer_stream
from ollm_tui.providers.transport import Transport
from ollm_tui.providers.unsupported import OnLeftOut, ignore_left_out

_CAPABILITY = ModelCapability(
    frozenset({"text", "image"}),
    frozenset({"text"}),
    frozenset({"stream", "multi_turn", "system_prompt", "tool_use", "thinking", "json_mode"}),
)
_START_HINT = "Start the server, or choose another one with --host."
GENERIC = "generic"
"""Any server, and none of which more is known."""


class OpenAICompatibleProvider:
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
        self.name = spec.name
        self.label = spec.label or spec.name
        self._backend = spec.backend
        endpoint = Endpoint(self.name, self.label, "", _START_HINT)
        self._transport = Transport(spec, openai_url(spec.base_url), endpoint, self._keys(spec))
        self._refusals = Refusals()
        self._last_error: AIError | None = None

    @property
    def last_error(self) -> AIError | None:
        """Why the last listing is empty; None when it is right."""
        return self._last_error

    def chat_stream(self, request: Request) -> ProviderStream:
        """Ask `/chat/completions`."""
        request = self._with_defaults(request)
        plan = RequestPlan(
            path="/chat/completions",
            body=lambda: self._body(request, plan.left_out.append),
            decoder=partial(OpenAIStream, self._transport.endpoint, tags_for(request.should_think)),
            adapt=lambda body, error: self._refusals.adapt(body, error, plan.left_out.append),
            prepare=self._preparation(request),
            wait_until_ready=self._wait_until_ready,
        )
        return answer_stream(self._transport, plan, request.signal)

    async def invoke(self, request: Request) -> Response | ProviderStream:
        """Give the whole answer, or with `request.stream` the stream."""
        stream = self.chat_stream(request)
        return stream if request.stream else await gather(stream)

    async def embed(self, request: Request) -> Response:
        """Ask `/embeddings` for vectors of the input's texts.

        Raises:
            AIError: any failure, in the server's words where its model makes no embeddings.
        """
        return await embed(self._transport, request)

    def capabilities(self) -> Sequence[ModelCapability]:
        """What such servers can do with a model that is made for it."""
        return (_CAPABILITY,)

    async def list_models(self) -> Sequence[ModelInfo]:
        """Give the server's models; none on failure, and the reason in `last_error`."""
        self._last_error = None
        try:
            return await self._listed()
        except AIError as error:
            self._last_error = not_listed(self._transport.endpoint, error)
            return []

    async def dispose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    def _with_defaults(self, request: Request) -> Request:
        return with_default_keys(request, self._transport.spec.extra_body)

    def _preparation(self, request: Request) -> Preparation | None:
        """Give what must be found out before the body can be made, if anything has."""
        return None

    def _body(self, request: Request, on_left_out: OnLeftOut = ignore_left_out) -> JsonObject:
        return self._refusals.apply(chat_body(request, self._backend, on_left_out), on_left_out)

    def _keys(self, spec: ProviderSpec) -> Mapping[str, str]:
        """Give the headers that tell who asks."""
        return {"authorization": f"Bearer {spec.api_key}"} if spec.api_key else {}

    async def _wait_until_ready(self, _error: AIError) -> bool:
        """Wait while an error means that the server is still starting; tell whether it did so."""
        return False

    async def _listed(self) -> Sequence[ModelInfo]:
        """Give the server's models, or raise why not."""
        reply = await self._transport.json("GET", "/models")
        models = read_models(reply)
        if self._backend != GENERIC and is_llamacpp(reply):
            return with_props(models, await self._props())
        return models

    async def _one_listed(self, name: str) -> ModelInfo:
        """Give what the list says of one model, or raise that it is not in it."""
        models = {info.name: info for info in await self._listed()}
        if name not in models:
            raise no_such_model(self._transport.endpoint, name, models)
        return models[name]

    async def _at_root(
        self,
        method: str,
        path: str,
        body: JsonMapping | None = None,
        *,
        within_s: float | None = None,
    ) -> JsonValue:
        """Ask what stands beside the version, not below it."""
        url = join(server_root(self._transport.url), path)
        return await self._transport.json(method, url, body, within_s=within_s)

    async def _props(self) -> JsonValue:
        """Ask llama.cpp for its properties, where it tells them.

        Raises:
            AIError: AUTH_FAILED. Everybody may see its list of models, so only this tells that a
                chat would be refused.
        """
        try:
            return await self._at_root("GET", "/props")
        except AIError as error:
            if error.status == HTTPStatus.UNAUTHORIZED:
                raise
            return None

    async def _aside(self, path: str) -> JsonValue:
        """Ask what only some versions answer; a failure is no answer."""
        try:
            return await self._at_root("GET", path)
        except AIError:
            return None


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
