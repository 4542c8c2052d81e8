"""Ollama as a provider: chat, and the operations on its models."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from ollm_tui.decode.json_fields import as_object, string
from ollm_tui.lazy import call_named
from ollm_tui.models.thinking_switch import tags_for
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject, JsonValue
from ollm_tui.protocol.model import ModelCapability, ModelDraft, ModelInfo
from ollm_tui.protocol.ports import ProviderStream, ReportProgress, StreamingFormat
from ollm_tui.protocol.request import PromptText, Request, plan_of
from ollm_tui.providers.base_url import ollama_url
from ollm_tui.providers.body.wire_messages import WireMessages
from ollm_tui.providers.http_errors import is_error, stream_error
from ollm_tui.providers.http_provider import HttpProvider
from ollm_tui.providers.ollama.from_wire import OllamaDecoder
from ollm_tui.providers.ollama.models import is_older, read_running, read_show, read_tags
from ollm_tui.providers.ollama.refusals import adapt, explain_bad_name, unknown_path
from ollm_tui.providers.ollama.to_wire import MEDIA_TYPES, as_sent, chat_body, wire_message
from ollm_tui.providers.ollama.watched_pull import WatchedPull
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.providers.stream import RequestPlan, answer_stream
from ollm_tui.tasks import task_group

_MEMORY_DETAILS = ("expires_at", "size_vram", "memory_bytes")
MAX_RUNNING_BYTES = 1024 * 1024
"""Few models fit into memory, and the reply is read beside a list of all models."""
FIRST_TO_RENDER = (0, 12)
"""The first version that is sure to report a prompt without answering it."""
_START_HINT = "Start it with `ollama serve`, or choose another server with --host."
_MODEL_HINT = "Download it with `ollm models pull`, or choose another model."


class OllamaProvider(HttpProvider):
    """One Ollama server."""

    streaming_format: StreamingFormat = "ndjson"
    message_media = MEDIA_TYPES
    loads_with_window = True

    def __init__(self, spec: ProviderSpec) -> None:
        super().__init__(spec, ollama_url(spec.base_url), _START_HINT, _MODEL_HINT)
        self._shown: dict[tuple[str, object], ModelCapability] = {}
        self._wire_all = WireMessages(wire_message)
        generate = "ollm_tui.providers.ollama.generate"
        self.embed = partial(
            call_named, "ollm_tui.providers.ollama.embeddings:embed_by_ollama", self._transport
        )
        """Makes embeddings by `/api/embed`."""
        self.draw = partial(call_named, f"{generate}:draw_by_ollama", self._transport)
        """Draws by `/api/generate`, with versions that have models for it."""
        self.infill = partial(call_named, f"{generate}:infill_by_ollama", self._transport)
        """Fills the gap between two texts by `/api/generate`."""
        self.as_sent = as_sent
        """Adds the words that switch thinking, if Ollama does not switch it itself."""

    def chat_stream(self, request: Request) -> ProviderStream:
        """Chat at `/api/chat`."""
        plan = RequestPlan(
            path="/api/chat",
            body=partial(chat_body, request, wire_all=self._wire_all),
            decoder=partial(
                OllamaDecoder,
                self._transport.endpoint,
                # It divides the answers of models that it knows to think.
                tags_for(request, is_divided=plan_of(request).is_known_to_engine),
            ),
            adapt=adapt,
        )
        return answer_stream(self._transport, plan, request.signal)

    async def prompt_text(self, request: Request) -> PromptText:
        """Return the prompt that the server makes of a request, which loads the model.

        Raises:
            AIError: any failure; UNSUPPORTED_FEATURE if the server is too old, or passes the
                model's requests on to another one.
        """
        if is_older(await self.server_version(), FIRST_TO_RENDER):
            raise self._tells_no_prompt()
        await self._check_runs_here(request.model)
        body = chat_body(request) | {"stream": False, "_debug_render_only": True}
        reply = await self._json(
            "POST",
            "/api/chat",
            "tell its prompt",
            body,
            model=request.model,
            within_s=self._transport.spec.first_byte_timeout_s,
        )
        text = string(as_object(as_object(reply).get("_debug_info")), "rendered_template")
        if text is None:
            raise self._tells_no_prompt()
        return PromptText(text)

    async def _check_runs_here(self, name: str) -> None:
        """Raise an AIError for a model in the cloud, where a prompt would be sent."""
        shown = as_object(await self._json("POST", "/api/show", "tell its prompt", model=name))
        if shown.get("remote_host") or shown.get("remote_model"):
            raise AIError(
                ErrorCode.UNSUPPORTED_FEATURE,
                f"{self.label} sends what {name} is asked to another server, and cannot tell"
                " the prompt there.",
                hint="Choose a model that runs on the server itself to see its exact prompt.",
                provider=self.name,
            )

    def _tells_no_prompt(self) -> AIError:
        return AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            f"This server does not tell what it makes of a prompt: {self.label} does from"
            f" version {'.'.join(map(str, FIRST_TO_RENDER))} on, for models that it runs itself.",
            hint="Update it to see the exact prompt.",
            provider=self.name,
        )

    async def list_models(self) -> Sequence[ModelInfo]:
        """Return the installed models; those in memory with their context window."""
        running: dict[str, ModelInfo] | None = None

        async def ask_running() -> None:
            nonlocal running
            running = await self._running_if_known()

        async with task_group() as group:
            group.start_soon(ask_running)
            models = read_tags(await self._json("GET", "/api/tags", "list models"))
        return [self._completed(info, running) for info in models]

    async def list_running(self) -> Sequence[ModelInfo]:
        """Return the models in memory; `size_bytes` is what they take there.

        Raises:
            AIError: any failure; UNSUPPORTED_FEATURE when the server is too old.
        """
        return [*(await self._running()).values()]

    async def show_model(self, name: str) -> ModelInfo:
        """Return all that is known about one model; the next listing includes it."""
        info = read_show(name, await self._json("POST", "/api/show", "show models", model=name))
        if info.capability is not None:
            self._shown[name, info.modified_at] = info.capability
        running = await self._running_if_known()
        if running is None:
            return info
        loaded = running.get(name) or running.get(f"{name}:latest")
        shown = _in_memory(info, loaded)
        return replace(shown, loaded=loaded is not None, context=shown.context or info.context)

    def pull_model(self, name: str) -> WatchedPull:
        """Have the server download a model; repeating the call resumes the download."""
        # Loaded only for a download.
        from ollm_tui.providers.ollama.pull import pull

        return WatchedPull(partial(pull, self._transport, name))

    async def delete_model(self, name: str) -> None:
        """Delete a model, and its files where no other model uses them.

        Raises:
            AIError: any failure; MODEL_NOT_FOUND when there is none of this name.
        """
        await self._json(
            "DELETE", "/api/delete", "delete models", model=name, within_s=self._file_timeout_s
        )
        for key in [key for key in self._shown if key[0] == name]:
            del self._shown[key]

    async def copy_model(self, source: str, destination: str) -> None:
        """Give a model a second name; nothing is stored twice.

        Raises:
            AIError: any failure; MODEL_NOT_FOUND when the source does not exist.
        """
        body: JsonObject = {"source": source, "destination": destination}
        await self._json(
            "POST",
            "/api/copy",
            "copy models",
            body,
            model=destination,
            within_s=self._file_timeout_s,
        )

    async def create_model(self, name: str, draft: ModelDraft, report: ReportProgress) -> None:
        """Make a model from another one or from GGUF files; the server gets what it lacks of them.

        Raises:
            AIError: any failure; MODEL_NOT_FOUND when the other model is not on the server, which
                would download it without being asked.
        """
        if draft.base is not None:
            body: JsonObject = {"model": draft.base}
            await self._json("POST", "/api/show", "create models", body, model=draft.base)
        # Loaded only for a new model.
        from ollm_tui.providers.ollama.create import create

        await create(self._transport, name, draft, report)

    async def quantize_model(
        self, name: str, level: str, copy: str, report: ReportProgress
    ) -> None:
        """Make a quantized copy of a model with weights of 16 or 32 bits.

        Raises:
            AIError: as `create_model`.
        """
        await self.create_model(copy, ModelDraft(base=name, quantization=level), report)

    async def push_model(self, name: str, report: ReportProgress) -> None:
        """Have the server upload a model to the registry that its name says.

        Raises:
            AIError: any failure; AUTH_FAILED when the server's user may not.
        """
        # Loaded only for an upload.
        from ollm_tui.providers.ollama.create import PUSH
        from ollm_tui.providers.ollama.pull import run_work

        await run_work(self._transport, PUSH, {"model": name}, report)

    async def load_model(self, name: str) -> None:
        """Load a model and wait until it is ready, at most `first_byte_timeout_s`.

        Raises:
            AIError: any failure.
        """
        await self._chat_without_messages({"model": name}, "load")

    async def load_model_for(self, name: str, keep_alive: str | float) -> None:
        """Load a model unless it is loaded, and keep it in memory for `keep_alive`.

        Raises:
            AIError: any failure.
        """
        await self._chat_without_messages({"model": name, "keep_alive": keep_alive}, "load")

    async def unload_model(self, name: str) -> None:
        """Unload a model from memory.

        Raises:
            AIError: any failure.
        """
        await self._chat_without_messages({"model": name, "keep_alive": 0}, "unload")

    async def server_version(self) -> str | None:
        """Return the server's version, or None if its reply has none.

        Raises:
            AIError: any failure; UNSUPPORTED_FEATURE when the server is not Ollama.
        """
        reply = await self._json("GET", "/api/version", "tell its version")
        return string(as_object(reply), "version")

    @property
    def _file_timeout_s(self) -> float:
        return max(self._transport.spec.list_timeout_s, self._transport.spec.idle_timeout_s)

    async def _running(self) -> dict[str, ModelInfo]:
        with self._explained("list the loaded models"):
            reply = await self._transport.json("GET", "/api/ps", max_bytes=MAX_RUNNING_BYTES)
            return read_running(reply)

    async def _running_if_known(self) -> dict[str, ModelInfo] | None:
        """Return the models in memory by name, or None if the server is too old to list them."""
        try:
            return await self._running()
        except AIError:
            return None

    async def _chat_without_messages(self, body: JsonObject, action: str) -> None:
        """Send a chat request without messages, which loads or unloads a model."""
        reply = as_object(
            await self._json(
                "POST",
                "/api/chat",
                f"{action} models",
                {**body, "messages": [], "stream": False},
                model=str(body["model"]),
                within_s=self._transport.spec.first_byte_timeout_s,
            )
        )
        endpoint = self._transport.endpoint
        if is_error(reply):
            raise stream_error(reply, endpoint)
        if reply.get("done") is not True:
            raise endpoint.error(
                ErrorCode.ENGINE_ERROR,
                f"{endpoint.label} did not {action} the model, and did not say why.",
                "Check the server's log.",
                fault="unended",
            )

    async def _json(
        self,
        method: str,
        path: str,
        action: str,
        body: JsonMapping | None = None,
        *,
        model: str | None = None,
        within_s: float | None = None,
    ) -> JsonValue:
        """Send a small request; `model` is the name in it, and the body where there is no other."""
        if body is None and model is not None:
            body = {"model": model}
        with self._explained(action, model):
            return await self._transport.json(method, path, body, within_s=within_s)

    @contextmanager
    def _explained(self, action: str, model: str | None = None) -> Iterator[None]:
        """Explain an unknown path or a malformed name, where that is why a request fails."""
        try:
            yield
        except AIError as error:
            unknown = unknown_path(
                error, self._transport.endpoint, action, names_model=model is not None
            )
            if model is not None:
                explain_bad_name(error, model)
            raise unknown or error from None

    def _completed(self, info: ModelInfo, running: dict[str, ModelInfo] | None) -> ModelInfo:
        loaded = running.get(info.name) if running else None
        shown = self._shown.get((info.name, info.modified_at))
        return replace(
            _in_memory(info, loaded),
            capability=shown or info.capability,
            reported=None if shown else info.reported,
            loaded=None if running is None else loaded is not None,
        )


def _in_memory(info: ModelInfo, loaded: ModelInfo | None) -> ModelInfo:
    """Add a model's window, size and expiry in memory; without `loaded` it has no window."""
    if loaded is None:
        return replace(info, context=None)
    memory = {key: loaded.details[key] for key in _MEMORY_DETAILS if key in loaded.details}
    return replace(info, context=loaded.context, details={**info.details, **memory})
