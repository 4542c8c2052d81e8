"""Ollama as a provider: input and output only."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import anyio

from ollm_tui.config.backends import BACKEND, OLLAMA
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.ports import ProviderStream, StreamingFormat
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.base import gather
from ollm_tui.providers.base_url import ollama_url
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.ollama import operations
from ollm_tui.providers.ollama.from_wire import OllamaStream
from ollm_tui.providers.ollama.models import read_show, read_tags
from ollm_tui.providers.ollama.pull import pull
from ollm_tui.providers.ollama.refusals import adapted
from ollm_tui.providers.ollama.to_wire import chat_body
from ollm_tui.providers.single_error import single_error
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.stream import RequestPlan, answer_stream
from ollm_tui.providers.thinking_tags import tags_for
from ollm_tui.providers.transport import Transport
from ollm_tui.providers.watched_pull import WatchedPull

_CAPABILITY = ModelCapability(
    frozenset({"text", "image"}),
    frozenset({"text"}),
    frozenset({"stream", "multi_turn", "system_prompt", "tool_use", "thinking", "json_mode"}),
)
_PLACE = ("expires_at", "size_vram")
_START_HINT = (
    f"Start it with `{BACKEND[OLLAMA].start_command}`, or choose another server with --host."
)
_MODEL_HINT = "Download it with `ollm models pull`, or choose another model."


class OllamaProvider:
    """One Ollama server."""

    streaming_format: StreamingFormat = "ndjson"
    loads_with_window = True

    def __init__(self, spec: ProviderSpec) -> None:
        self.name = spec.name
        self.label = spec.label or spec.name
        keys = {"authorization": f"Bearer {spec.api_key}"} if spec.api_key else {}
        url = ollama_url(spec.base_url)
        place = Endpoint(self.name, self.label, "", _START_HINT, _MODEL_HINT)
        self._transport = Transport(spec, url, place, keys)
        self._shown: dict[tuple[str, object], ModelCapability] = {}

    def chat_stream(self, request: Request) -> ProviderStream:
        """Ask `/api/chat`."""
        question = RequestPlan(
            path="/api/chat",
            body=lambda: chat_body(request, question.said.append),
            decoder=partial(OllamaStream, self._transport.place, tags_for(request.should_think)),
            adapt=lambda body, error: adapted(body, error, question.said.append),
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
        running: dict[str, ModelInfo] | None = None

        async def ask_running() -> None:
            nonlocal running
            running = await self._running()

        with single_error():
            async with anyio.create_task_group() as group:
                group.start_soon(ask_running)
                models = read_tags(await operations.listed(self._transport))
        return [self._completed(info, running) for info in models]

    async def list_running(self) -> Sequence[ModelInfo]:
        """Give the models in memory; their size is what they take there.

        Raises:
            AIError: any failure; UNSUPPORTED_FEATURE when the server is too old to tell.
        """
        return [*(await operations.running(self._transport)).values()]

    async def show_model(self, name: str) -> ModelInfo:
        """Give all that is known about one model; the next listing knows it too."""
        info = read_show(name, await operations.shown(self._transport, name))
        if info.capability is not None:
            self._shown[name, info.modified_at] = info.capability
        running = await self._running()
        if running is None:
            return info
        found = running.get(name) or running.get(f"{name}:latest")
        seen = _in_memory(info, found)
        return replace(seen, loaded=found is not None, context=seen.context or info.context)

    def pull_model(self, name: str) -> WatchedPull:
        """Have the server fetch a model; a repeated call goes on where the last one stopped."""
        return WatchedPull(partial(pull, self._transport, name))

    async def delete_model(self, name: str) -> None:
        """Remove a model for good.

        Raises:
            AIError: any failure; MODEL_NOT_FOUND when there is none of this name.
        """
        await operations.delete(self._transport, name)
        for known in [key for key in self._shown if key[0] == name]:
            del self._shown[known]

    async def copy_model(self, source: str, destination: str) -> None:
        """Give a model a second name; nothing is stored twice.

        Raises:
            AIError: any failure; MODEL_NOT_FOUND when there is no such source.
        """
        await operations.copy(self._transport, source, destination)

    async def load_model(self, name: str) -> None:
        """Load a model and wait until it is ready, at most `first_byte_timeout_s`.

        Raises:
            AIError: any failure.
        """
        await operations.load(self._transport, name)

    async def load_model_for(self, name: str, keep_alive: str | float) -> None:
        """Load a model, or take a loaded one, and keep it for this long.

        Raises:
            AIError: any failure.
        """
        await operations.load(self._transport, name, keep_alive)

    async def unload_model(self, name: str) -> None:
        """Drop a model from memory.

        Raises:
            AIError: any failure.
        """
        await operations.unload(self._transport, name)

    async def server_version(self) -> str | None:
        """Give the server's version.

        Raises:
            AIError: any failure; UNSUPPORTED_FEATURE when this is no Ollama.
        """
        return await operations.version(self._transport)

    async def dispose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def _running(self) -> dict[str, ModelInfo] | None:
        """Give the models in memory; None when the server cannot tell, as old ones cannot."""
        try:
            return await operations.running(self._transport)
        except AIError:
            return None

    def _completed(self, info: ModelInfo, running: dict[str, ModelInfo] | None) -> ModelInfo:
        found = running.get(info.name) if running else None
        shown = self._shown.get((info.name, info.modified_at))
        return replace(
            _in_memory(info, found),
            capability=shown or info.capability,
            told=None if shown else info.told,
            loaded=None if running is None else found is not None,
        )


def _in_memory(info: ModelInfo, found: ModelInfo | None) -> ModelInfo:
    """Add where a model is in memory, how much it takes there and until when."""
    if found is None:
        return replace(info, context=None)
    place = {key: found.details[key] for key in _PLACE if key in found.details}
    if found.size_bytes is not None:
        place["memory_bytes"] = found.size_bytes
    return replace(info, context=found.context, details={**info.details, **place})
