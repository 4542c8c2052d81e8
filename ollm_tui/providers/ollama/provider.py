"""Ollama as a provider: input and output only."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import anyio

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.ports import ProviderStream, StreamingFormat
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.base_url import ollama_url
from ollm_tui.providers.gather import gather
from ollm_tui.providers.http_faults import Place
from ollm_tui.providers.ollama.from_wire import OllamaStream
from ollm_tui.providers.ollama.models import read_running, read_show, read_tags
from ollm_tui.providers.ollama.to_wire import chat_body
from ollm_tui.providers.single_error import single_error
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.stream import Question, answer_stream
from ollm_tui.providers.thinking_tags import tags_for
from ollm_tui.providers.transport import Transport

_CAPABILITY = ModelCapability(
    frozenset({"text", "image"}),
    frozenset({"text"}),
    frozenset({"stream", "multi_turn", "system_prompt", "tool_use", "thinking", "json_mode"}),
)
_START_HINT = "Start it with `ollama serve`, or choose another server with --host."
_MODEL_HINT = "Fetch it with `ollama pull`, or choose another model."


class OllamaProvider:
    """One Ollama server."""

    streaming_format: StreamingFormat = "ndjson"

    def __init__(self, spec: ProviderSpec) -> None:
        self.name = spec.name
        self.label = spec.label or "Ollama"
        keys = {"authorization": f"Bearer {spec.api_key}"} if spec.api_key else {}
        url = ollama_url(spec.base_url)
        place = Place(self.name, self.label, "", _START_HINT, _MODEL_HINT)
        self._transport = Transport(spec, url, place, keys)
        self._shown: dict[tuple[str, object], ModelCapability] = {}

    def chat_stream(self, request: Request) -> ProviderStream:
        """Ask `/api/chat`."""
        question = Question(
            path="/api/chat",
            body=partial(chat_body, request),
            decoder=partial(OllamaStream, self._transport.place, tags_for(request.should_think)),
            adapt=_without_refused_think,
        )
        return answer_stream(self._transport, question, request.signal)

    async def invoke(self, request: Request) -> Response | ProviderStream:
        """Give the whole answer, or with `request.stream` the stream."""
        stream = self.chat_stream(request)
        return stream if request.stream else await gather(stream)

    def capabilities(self) -> Sequence[ModelCapability]:
        """What Ollama can do with a model that is made for it."""
        return (_CAPABILITY,)

    async def list_models(self) -> Sequence[ModelInfo]:
        """Give the installed models; those in memory with their window."""
        running: dict[str, ModelInfo] = {}

        async def ask_running() -> None:
            try:
                running.update(read_running(await self._transport.json("GET", "/api/ps")))
            except AIError:
                return  # older servers have no such list; what is loaded stays unknown

        with single_error():
            async with anyio.create_task_group() as group:
                group.start_soon(ask_running)
                models = read_tags(await self._transport.json("GET", "/api/tags"))
        return [self._completed(info, running.get(info.name)) for info in models]

    async def list_running(self) -> Sequence[ModelInfo]:
        """Give the models in memory."""
        return [*read_running(await self._transport.json("GET", "/api/ps")).values()]

    async def show_model(self, name: str) -> ModelInfo:
        """Give all that is known about one model; the next listing knows it too."""
        info = read_show(name, await self._transport.json("POST", "/api/show", {"model": name}))
        if info.capability is not None:
            self._shown[name, info.modified_at] = info.capability
        try:
            running = read_running(await self._transport.json("GET", "/api/ps")).get(name)
        except AIError:
            return info
        return replace(
            info,
            loaded=running is not None,
            context=(running.context if running else None) or info.context,
            size_bytes=running.size_bytes if running else info.size_bytes,
        )

    async def dispose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    def _completed(self, info: ModelInfo, running: ModelInfo | None) -> ModelInfo:
        return replace(
            info,
            capability=info.capability or self._shown.get((info.name, info.modified_at)),
            loaded=running is not None,
            context=running.context if running else None,
        )


def _without_refused_think(body: JsonObject, error: AIError) -> JsonObject | None:
    """Leave out a `think: false` that an older server refuses; a wish to think is not dropped."""
    if body.get("think") is False and "support thinking" in error.message:
        return {key: value for key, value in body.items() if key != "think"}
    return None
