"""GGUF files of this machine as a provider, each served by an engine process of its own."""

import importlib.util
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import anyio
from anyio import to_thread

from ollm_tui.config.backends import BACKEND
from ollm_tui.decode.json_fields import present
from ollm_tui.models.known_models import KnownModels
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import JINJA
from ollm_tui.protocol.model import ModelCapability, ModelInfo, from_alias
from ollm_tui.protocol.ports import ModelLibrary, ProviderStream, StreamingFormat
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent, Rerouted
from ollm_tui.protocol.request import PromptText, Request, Response
from ollm_tui.providers.base import EndedStream
from ollm_tui.providers.body.unsupported import check_input, check_request
from ollm_tui.providers.embedded import failures
from ollm_tui.providers.embedded.drawing import DrawingOperations
from ollm_tui.providers.embedded.drawing_plans import DrawingPlanner
from ollm_tui.providers.embedded.infill import infill_stream
from ollm_tui.providers.embedded.plan import EnginePlan
from ollm_tui.providers.embedded.planner import Planner
from ollm_tui.providers.embedded.prompt_states import PromptStates
from ollm_tui.providers.embedded.settings import (
    EmbeddedSettings,
    ready_for,
    unused_settings,
)
from ollm_tui.providers.embedded.sound import SoundOperations
from ollm_tui.providers.embedded.sound_plans import SoundPlanner
from ollm_tui.providers.embedded.stream import EngineStream
from ollm_tui.providers.embedded.supervisor import Engine, Supervisor
from ollm_tui.providers.embedded.worker import Workers
from ollm_tui.providers.media.answer import answer
from ollm_tui.providers.openai_compatible.llamacpp import LlamaCppProvider
from ollm_tui.providers.openai_compatible.to_wire import media_of
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.tasks import cancelled_by

if TYPE_CHECKING:
    from ollm_tui.models.family_facts import ModelKnowledge

ENGINE_PACKAGE = "xllamacpp"
_BACKEND = BACKEND["embedded"]
_LOADING = frozenset({"num_ctx", "keep_alive"})
"""Options about loading a model, which the engine itself does not take."""
DISPOSE_S = 2.0
PROMPT_S = 3600.0
"""A slow processor reads a long prompt for minutes without a sign; the process is watched."""


def engine_available() -> bool:
    """Whether the optional engine is installed; does not import it."""
    return importlib.util.find_spec(ENGINE_PACKAGE) is not None


class EmbeddedProvider(SoundOperations, DrawingOperations):
    """Runs models on this machine: loads on demand, restarts after a crash, unloads when idle.

    Use it as an async context manager, which bounds the lives of its processes. Enter and leave it
    in one task, on a thread that lives as long.
    """

    streaming_format: StreamingFormat = "sse"
    message_media = media_of("embedded")
    loads_with_window = True

    def __init__(
        self,
        library: ModelLibrary,
        settings: EmbeddedSettings | None = None,
        *,
        supervisor: Supervisor | None = None,
        is_installed: Callable[[], bool] | None = None,
        known_models: KnownModels | None = None,
    ) -> None:
        self.name = _BACKEND.name
        self.label = _BACKEND.label
        self._library = library
        self._settings = settings or EmbeddedSettings()
        self._supervisor = supervisor or Supervisor(self._settings)
        known_models = known_models or KnownModels()
        self._planner = Planner(
            library,
            self._settings,
            known_models,
            is_installed=is_installed or engine_available,
        )
        self._sound_planner = SoundPlanner(library, known_models, self._settings)
        self._drawing_planner = DrawingPlanner(library, known_models, self._settings)
        workers = Workers(self._supervisor)
        SoundOperations.__init__(self, self._sound_planner, workers, self.name)
        DrawingOperations.__init__(self, self._drawing_planner, workers, self.name)
        self._adapters: dict[Engine[EnginePlan], LlamaCppProvider] = {}
        self._states = PromptStates(self._settings.states_dir, self._settings.max_state_bytes)
        self._supervisor.before_end = self._keep_state
        self._says_program = self._settings.is_found
        self.infill = partial(infill_stream, self.name, self._engine_for, self._adapter)
        """Fills the gap between two texts."""

    async def __aenter__(self) -> Self:
        await self._supervisor.__aenter__()
        return self

    async def __aexit__(self, *_error: object) -> None:
        try:
            await self.dispose()
        finally:
            await self._supervisor.__aexit__()

    @asynccontextmanager
    async def chat_stream(self, request: Request) -> AsyncIterator[AsyncIterator[ProviderEvent]]:
        """Stream the events of an answer; entering the block loads the model."""
        async with AsyncExitStack() as stack:
            begun = time.monotonic()
            try:
                engine = await self._lease(stack, request)
            except AIError as error:
                error.provider = self.name
                yield EndedStream(ErrorEvent(error))
                return
            if engine is None:
                yield EndedStream(Finish("abort"))
                return
            load_s = time.monotonic() - begun if engine.ready_at > begun else 0.0
            adapter = await self._adapter(engine)
            known = await self._known(engine)
            chat = await self._states.begin(engine, adapter, request)
            events = adapter.chat_stream(ready_for(known, request))
            entered = await stack.enter_async_context(events)
            notes = (*self._found_program(), *unused_settings(known))
            stream = EngineStream(entered, engine, load_s, chat, notes)
            try:
                yield stream
            finally:
                if not stream.is_complete:
                    self._supervisor.check_soon(engine, self._responds)

    async def invoke(self, request: Request) -> Response | ProviderStream:
        """Return a whole response, or with `request.stream` a stream.

        Raises:
            AIError: Any failure.
        """
        return await answer(self, request)

    async def count_tokens(self, request: Request) -> int:
        """Count tokens with the engine that will answer, loading the model as for an answer.

        Raises:
            AIError: The model cannot be loaded, or ABORTED if the signal came first.
        """
        async with AsyncExitStack() as stack:
            engine = await self._lease(stack, request)
            if engine is None:
                raise failures.aborted()
            adapter = await self._adapter(engine)
            return await adapter.count_tokens(ready_for(await self._known(engine), request))

    async def prompt_text(self, request: Request) -> PromptText:
        """Return the prompt that the engine makes of a request, loading the model if needed.

        Raises:
            AIError: any failure; ABORTED by the request's signal.
        """
        async with AsyncExitStack() as stack:
            engine = await self._lease(stack, request)
            if engine is None:
                raise failures.aborted()
            adapter = await self._adapter(engine)
            ready = ready_for(await self._known(engine), request)
            prompt = await adapter.prompt_text(ready)
            return replace(prompt, system_prompt=ready.system_prompt)

    async def embed(self, request: Request) -> Response:
        """Return the embeddings of the input's texts, loading the model if needed.

        Raises:
            AIError: any failure; UNSUPPORTED_MODALITY if the model makes none.
        """
        check_input(request, "embeddings", "embedding", _LOADING)
        async with AsyncExitStack() as stack:
            engine = await self._engine_for(stack, request, makes_embeddings=True)
            if engine is None:
                raise failures.aborted()
            adapter = await self._adapter(engine)
            options = replace(request.options, num_ctx=None, keep_alive=None)
            return await adapter.embed(replace(request, options=options))

    def capabilities(self) -> Sequence[ModelCapability]:
        """Return text in, text out; the listing says what a model adds to that."""
        chat = from_alias("chat")
        return () if chat is None else (chat,)

    async def list_models(self) -> Sequence[ModelInfo]:
        """Return the model files, including unusable ones with the reason, and espeak-ng.

        The window of each is the one that a request without `num_ctx` gets; one that is loaded with
        another window is loaded again for it.
        """
        models = await to_thread.run_sync(self._listed)
        models = [*models, *self._sound_planner.models()]
        held = await self._held()
        return [replace(self._as_seen(info, held), context=info.context) for info in models]

    def _listed(self) -> Sequence[ModelInfo]:
        return [self._drawing_planner.described(info) for info in self._planner.models()]

    async def name_of(self, first_file: Path) -> str | None:
        """Return the name of the model in a file, or None if it is not listed."""
        return await to_thread.run_sync(self._library.name_of, first_file)

    async def show_model(self, name: str) -> ModelInfo:
        """Return everything that the model's file says, its path, and how it is loaded.

        Raises:
            AIError: MODEL_NOT_FOUND.
        """
        program = await to_thread.run_sync(self._sound_planner.shown, name)
        if program is not None:
            return self._as_seen(program, await self._held())
        shown = await to_thread.run_sync(self._planner.shown, name)
        shown = await to_thread.run_sync(self._drawing_planner.described, shown)
        return self._as_seen(shown, await self._held())

    async def delete_model(self, name: str) -> None:
        """Delete a model from the app's own folder, unloading it first.

        Raises:
            AIError: There is no such model, or it is kept for the reason given.
        """
        if self._sound_planner.is_program(name):
            raise failures.is_program(name)
        await to_thread.run_sync(self._library.check_delete, name)
        await self._supervisor.unload(name)
        await to_thread.run_sync(self._library.delete, name)

    async def load_model(self, name: str) -> None:
        """Load a model; it stays for the usual idle time.

        Raises:
            AIError: It cannot be loaded.
        """
        async with self._loaded(name):
            pass

    async def load_model_for(self, name: str, keep_alive: str | float) -> None:
        """Load a model; it stays for `keep_alive`, until an answer changes that.

        Raises:
            AIError: It cannot be loaded, or `keep_alive` is not a valid duration.
        """
        idle_unload_s = self._settings.idle_unload_after(keep_alive)
        async with self._loaded(name) as engine:
            engine.idle_unload_s = idle_unload_s

    @asynccontextmanager
    async def _loaded(self, name: str) -> AsyncIterator[Engine[Any]]:
        for planner in (self._sound_planner, self._drawing_planner):
            of_worker = await to_thread.run_sync(planner.plan, name)
            if of_worker is not None:
                async with self._supervisor.lease(of_worker) as worker:
                    yield worker
                return
        plan = await self._planner.plan(name)
        async with self._supervisor.lease(plan, self._responds) as engine:
            yield engine

    async def unload_model(self, name: str) -> None:
        """Unload a model by ending its process."""
        await self._supervisor.unload(name)

    async def list_running(self) -> Sequence[ModelInfo]:
        """Return the loaded models, with the windows that they have."""
        models = await to_thread.run_sync(self._library.models)
        models = [*models, *self._sound_planner.models()]
        held = await self._held()
        return [seen for info in models if (seen := self._as_seen(info, held)).loaded]

    async def dispose(self) -> None:
        """End every engine; the provider cannot be used any more."""
        self._supervisor.close()
        with anyio.move_on_after(DISPOSE_S, shield=True):
            await self._supervisor.wait_closed()
            await self._drop_adapters()
        self._planner.close()

    async def _lease(self, stack: AsyncExitStack, request: Request) -> Engine[EnginePlan] | None:
        """As `_engine_for`, for a chat."""
        check_request(request, JINJA)
        return await self._engine_for(stack, request, is_chat=True)

    async def _engine_for(
        self,
        stack: AsyncExitStack,
        request: Request,
        *,
        makes_embeddings: bool = False,
        is_chat: bool = False,
    ) -> Engine[EnginePlan] | None:
        """Keep the model loaded until the stack closes; return None if the signal came first."""
        with cancelled_by(request.signal):
            if self._sound_planner.is_program(request.model):
                raise failures.not_for_chat(request.model, "voice")
            plan = await self._planner.plan(
                request.model, request.options.num_ctx, makes_embeddings=makes_embeddings
            )
            idle_unload_s = self._settings.idle_unload_after(request.options.keep_alive)
            engine = await stack.enter_async_context(self._supervisor.lease(plan, self._responds))
            engine.idle_unload_s = idle_unload_s
            if not is_chat:
                engine.read_chat = None  # it is about to read something else
            return engine
        return None

    def _found_program(self) -> Sequence[ProviderEvent]:
        """Return the note about a llama-server that was found on PATH, once."""
        program = self._settings.program
        if program is None or not self._says_program:
            return ()
        self._says_program = False
        return (Rerouted(failures.found_program(program), instead=failures.PACKAGE_INSTEAD),)

    async def _keep_state(self, engine: Engine[Any]) -> None:
        if isinstance(engine.plan, EnginePlan):
            await self._states.keep(engine, await self._adapter(engine))

    async def _responds(self, engine: Engine[EnginePlan]) -> bool:
        """Whether an engine responds in time; one that has ended counts as responding."""
        return await (await self._adapter(engine)).is_responding(self._settings.response_timeout_s)

    async def _held(self) -> Mapping[Engine[Any], int | None]:
        """Return the memory of each engine; nothing is asked while none is loaded."""
        engines = self._supervisor.engines
        if not engines:
            return {}
        return await to_thread.run_sync(lambda: {e: e.process.resident_bytes() for e in engines})

    def _as_seen(self, info: ModelInfo, held: Mapping[Engine[Any], int | None]) -> ModelInfo:
        for engine in self._supervisor.engines:
            plan = engine.plan
            if plan.name == info.name:
                seen = {
                    "expires_at": engine.expires_at,
                    "stays_s": engine.stays_s,
                    "memory_bytes": held.get(engine),
                }
                details = {**info.details, **present(seen)}
                window = plan.context if isinstance(plan, EnginePlan) else info.context
                return replace(info, loaded=True, context=window, details=details)
        return replace(info, loaded=False)

    async def _known(self, engine: Engine[EnginePlan]) -> "ModelKnowledge":
        """Return what family and sidecar say of a model."""
        return await to_thread.run_sync(self._planner.known, engine.plan.name, engine.plan.path)

    async def _adapter(self, engine: Engine[EnginePlan]) -> LlamaCppProvider:
        """Return the client of one engine, and dispose of those whose engines have ended."""
        for ended in [one for one in self._adapters if one.exited.is_set()]:
            # Another task may have removed it meanwhile: an engine can be checked at any time.
            if (adapter := self._adapters.pop(ended, None)) is not None:
                await adapter.dispose()
        if engine not in self._adapters:
            self._adapters[engine] = LlamaCppProvider(
                ProviderSpec(
                    name=self.name,
                    kind="openai-compatible",
                    label=self.label,
                    base_url=engine.url,
                    api_key=engine.key,
                    backend="llamacpp",
                    first_byte_timeout_s=PROMPT_S,
                    idle_timeout_s=PROMPT_S,
                )
            )
        return self._adapters[engine]

    async def _drop_adapters(self) -> None:
        while self._adapters:
            _, adapter = self._adapters.popitem()
            await adapter.dispose()
