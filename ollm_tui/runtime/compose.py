"""`Runtime`: settings turned into providers, a router, a catalog and chat clients."""

import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from ollm_tui.attachments.instructions import InstructionFiles
from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.model_support import ToolMode
from ollm_tui.chat.thinking import ModelThinking
from ollm_tui.config.flags import Flags
from ollm_tui.config.load import LoadedConfig, load_config
from ollm_tui.config.origin import MAX_SHOWN, summarize
from ollm_tui.config.paths import AppPaths, default_paths
from ollm_tui.config.plugins import Plugin
from ollm_tui.lazy import import_name
from ollm_tui.library.starter import STARTER
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonMapping
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.ports import Approver
from ollm_tui.protocol.request import Request
from ollm_tui.providers.base import UnusableProvider
from ollm_tui.providers.catalog import Listing
from ollm_tui.providers.lifecycle import adapter_lifecycle
from ollm_tui.providers.router import EMBEDDED
from ollm_tui.runtime.chats import ChatFactory, SchemaOrProblem, chosen_schema, tool_modes
from ollm_tui.runtime.choices import ChoicesFile
from ollm_tui.runtime.download_targets import DownloadTargets
from ollm_tui.runtime.downloads import DownloadService, open_downloads
from ollm_tui.runtime.exports import ChatExports
from ollm_tui.runtime.first_model import (
    FirstModel,
    choose_first,
    passed_over,
    problem_of,
    silent_labels,
    without_model,
)
from ollm_tui.runtime.manager import ModelManager
from ollm_tui.runtime.measure import apply_remedy
from ollm_tui.runtime.media.task_defaults import TaskDefaults
from ollm_tui.runtime.model_lookup import find_thinking, running_info
from ollm_tui.runtime.private import file_guard, key_redactor, known_secrets
from ollm_tui.runtime.profiles import Profiles
from ollm_tui.runtime.provider_set import (
    EmbeddedFactory,
    embedded_factory,
    find_engine,
    make_providers,
    ports_of,
    services_of,
    settings_error,
)
from ollm_tui.runtime.providers import Providers, providers_of, registry_of
from ollm_tui.runtime.saved.branches import ChatBranches, chat_id_of, position_of
from ollm_tui.runtime.saved.chats import SavedChats
from ollm_tui.runtime.tools.toolbox import add_servers, import_plugins, names_tools, unknown_tools
from ollm_tui.store.conversations import FILE_NAME, ConversationStore, open_store
from ollm_tui.store.copies.daily import DailyCopies, daily_copies

if TYPE_CHECKING:
    from ollm_tui.config.settings_file import SettingsFile
    from ollm_tui.library.downloads.queue import DownloadQueue
    from ollm_tui.library.hub.repo import Hub
    from ollm_tui.library.machine import Machine
    from ollm_tui.library.registry.catalogue import ModelRegistry
    from ollm_tui.mcp.servers import McpServers
    from ollm_tui.models.tool_check import ToolCheck
    from ollm_tui.runtime.other_models import OtherFolders
    from ollm_tui.store.search.service import ChatSearch

logger = logging.getLogger(__name__)

STARTER_REF = ModelRef(EMBEDDED, Path(STARTER.file_name).stem)
TIMEOUT_S = 1.5
"""How long the first screen waits for engines before it chooses among those that answered."""
NAMED_TIMEOUT_S = 5.0
"""How long a provider that was named may take to list its models."""


class Runtime:
    """Everything below the front ends of this program, running; use `open_runtime`.

    Other programs use `ollm_tui.Runtime`, which has fewer methods and is versioned.
    """

    copies: DailyCopies | None = None
    """Daily copies of the saved chats, which begin when they are started."""
    _continued: ChatClient | None = None
    plugin_commands: Sequence[Plugin] = ()
    """Slash commands of installed packages, not yet imported."""
    plugin_problems: tuple[str, ...] = ()
    """Sentences about tools of installed packages that cannot be used."""
    mcp: "McpServers | None" = None
    """The MCP servers of the settings, which a front end starts."""

    def __init__(
        self,
        loaded: LoadedConfig,
        paths: AppPaths,
        providers: Providers,
        downloads: DownloadService,
        store: ConversationStore | None = None,
        schema: SchemaOrProblem = (None, None),
    ) -> None:
        self.config, self.paths, self.position_of = loaded.config, paths, position_of
        self.registry, self.catalog = providers.registry, providers.catalog
        self.router, self.prober = providers.router, providers.prober
        self.named, self.lifecycle = providers.named, providers.lifecycle
        self._shown_problems = loaded.problems[:MAX_SHOWN]
        self.task_defaults = TaskDefaults(loaded, providers)
        self._choices = choices = ChoicesFile(paths.state_dir / "choices.json")
        self.prober.tool_check, self.remember_model = choices.tool_check, choices.remember_model
        self._chat_factory = factory = ChatFactory(
            self.config,
            self.router,
            store,
            guard=file_guard(loaded, paths),
            schema=schema,
            modes=tool_modes(self.config, choices),
        )
        self._furnish(factory, providers)
        notices = (store.notice,) if store is not None and store.notice else ()
        of_settings = summarize([*loaded.problems, *unknown_tools(loaded)])
        self.problems = (*of_settings, *factory.problems, *notices)
        """Sentences about settings that could not be used."""
        self.engine = providers.engine
        """What runs model files of this machine."""
        self.instruction_files = InstructionFiles(factory.shell.folder, paths.skills_dir)
        self.manager = ModelManager(loaded, providers, downloads.forget)
        self.running_info = partial(running_info, providers.registry.get, self.catalog.redact)
        self.router.render = self._render_request
        self.download_service, self.lacking_media = downloads, factory.lacking_media
        self.has_downloads, self.load_fetching = downloads.has_downloads, downloads.load
        self.chats, self.saved = store, SavedChats(store) if store is not None else None
        """The saved chats, and what can be done with them; None when they are not saved."""
        self.branches, self.exports = ChatBranches(store, factory.open), ChatExports(store)
        self.chat_id, self.open_chat = chat_id_of, factory.open
        self.continue_chat = factory.continue_chat
        self.tools, self.offered_tools, self.shell = factory.tools, factory.offered, factory.shell
        self.profiles = Profiles(loaded, paths, factory.preset, self.catalog.shown_address)
        self._loaded, self.room, self.check_tools = loaded, factory.room, factory.check_tools
        self.measure, self.apply_remedy = factory.measure, apply_remedy
        self.titles, self.tools_off = factory.titles, factory.tools_off
        self.exact_prompt = partial(factory.exact_prompt, self.manager.templates)

    def _furnish(self, factory: ChatFactory, providers: Providers) -> None:
        models_dir = self.paths.models_dir
        self.download_targets = DownloadTargets(
            self.registry, self.catalog, self.config, models_dir
        )
        """Returns where models can be downloaded to."""
        factory.knowledge = providers.engine.known_models.of_model
        self.memory = factory.memory.at(self.paths.data_dir / "memory.txt")
        factory.thinking = self._thinking_of(providers)
        self.thinking_of = factory.thinking_of

    @cached_property
    def settings(self) -> "SettingsFile":
        """The settings, to be shown and changed."""
        # Needed only once somebody looks at them: it brings what writes TOML.
        from ollm_tui.config.settings_file import SettingsFile

        return SettingsFile(self._loaded, self.paths)

    @cached_property
    def search(self) -> "ChatSearch | None":
        """The search over all saved chats; None when they are not saved."""
        # Needed only by an app that stays open, or that searches.
        from ollm_tui.store.search.service import ChatSearch

        return ChatSearch(self.paths.data_dir / FILE_NAME) if self.chats is not None else None

    @cached_property
    def downloads(self) -> "DownloadQueue":
        """The queue of downloads."""
        return self.download_service.queue

    @cached_property
    def hub(self) -> "Hub":
        """The hub that the settings name; no request is sent until it is used."""
        return self.download_service.hub

    @cached_property
    def model_registry(self) -> "ModelRegistry":
        """The models that are known, installed or not; nothing is read until it is used."""
        return self.download_service.model_registry

    async def machine(self) -> "Machine":
        """Return the hardware that models can use here."""
        # Needed only to judge whether a model fits.
        from ollm_tui.library.machine_probe import Probe, find_machine

        return await find_machine(Probe(server=self.engine.program))

    async def other_folders(self) -> "OtherFolders":
        """Return which folders of other programs hold models."""
        # Needed only where there is no model to show.
        from ollm_tui.runtime.other_models import look_for_folders

        return await look_for_folders(self.config.embedded.other_folders)

    def new_client(self, model: str | None = None, *, saved: bool = True) -> ChatClient:
        """Begin a conversation; with `--continue` the first one is the last chat."""
        continued, self._continued = self._continued, None
        return continued or self._chat_factory.new(model or self.named.address, saved=saved)

    def ask_before_tools(self, approver: Approver) -> None:
        """Set the approver of tool calls; the default allows only tools that read."""
        self._chat_factory.approver = approver

    def tool_mode(self, model: str) -> ToolMode | None:
        """Return how a model is given its tools: natively, or described in text."""
        ref = ModelRef.parse(model)
        return self._chat_factory.tool_mode(model, self.catalog.find(ref) if ref else None)

    def _thinking_of(self, providers: Providers) -> ModelThinking:
        find = find_thinking(providers.engine.known_models, providers.catalog.services)
        return ModelThinking(find, self._render)

    async def _render(self, template: str, variables: JsonMapping) -> str:
        return await self.manager.templates.render_instructions(template, variables)

    async def _render_request(self, request: Request, info: ModelInfo | None) -> Request:
        """Render the texts of a request that are templates, with the words of the family."""
        find = self.engine.known_models.of_model
        known = await to_thread.run_sync(find, request.model, info, abandon_on_cancel=True)
        return await self.manager.templates.render_request(request, known.prompt)

    def secrets(self) -> Iterator[str]:
        """Return all keys, headers and passwords of the settings, to be kept out of reports."""
        return known_secrets(self.config)

    def recent_models(self) -> Sequence[str]:
        """Return the addresses chatted with before, the latest first."""
        return self._choices.choices.recent_models

    async def keep_tool_check(self, model: str, check: "ToolCheck") -> None:
        """Keep a check for later runs, and show it with the model.

        Raises:
            OSError: it cannot be written.
        """
        await to_thread.run_sync(self._choices.remember_tool_check, model, check)
        self.catalog.forget()

    async def first_model(self, listings: Sequence[Listing] | None = None) -> FirstModel:
        """Choose the model of a new chat: the one that was named, else as `choose_first` does.

        No request is sent if `listings` are given.

        Raises:
            AIError: the named model cannot be used.
        """
        named = self.named
        if named.problem is not None:
            choice = without_model(settings_error(named.problem))
            return replace(choice, is_reported=named.problem in self._shown_problems)
        if named.model is not None:
            return FirstModel(ref=await self._named_model(named.model), reason="as configured")
        if named.providers:
            listings = await self._named_listings(listings)
            if problem := problem_of(listings, named):
                ports = ports_of(self.config.providers)
                choice = without_model(problem, silent_labels(listings, ports))
                return replace(choice, passed_over=passed_over(self._last_model(), named))
        elif listings is None:
            listings = await self.catalog.refresh(within_s=TIMEOUT_S, services=False)
        choice = choose_first(
            listings,
            last=self._last_model(),
            unasked=() if named.providers else services_of(self.config.providers),
            starter=STARTER_REF,
            engine_installed=self.engine.program is not None or self.engine.problem is None,
            ports=ports_of(self.config.providers),
        )
        before = passed_over(self._last_model(), named) if named.providers else None
        return replace(choice, passed_over=before)

    async def _named_model(self, model: str) -> ModelRef:
        provider = self.named.provider
        if "://" in model or provider is None:
            return (await self.router.resolve(model)).ref
        return (await self.router.find_in(provider, model)).ref

    async def _named_listings(self, known: Sequence[Listing] | None) -> Sequence[Listing]:
        """Return the models of the providers that were named, which have to answer."""
        by_name = {listing.provider: listing for listing in known or ()}
        listings = []
        for name in self.named.providers:
            listing = by_name.get(name)
            if listing is None:
                await self.router.provider(name)
                listing = await self.catalog.listing(name, within_s=NAMED_TIMEOUT_S)
            adapter = self.registry.get(name)
            if listing.absent and isinstance(adapter, UnusableProvider):
                listing = replace(listing, absent=False, problem=adapter.problem)
            listings.append(listing)
        return listings

    def _last_model(self) -> str | None:
        """Return the model used last, unless it belongs to a service that has no key now."""
        last = self._choices.choices.last_model
        ref = ModelRef.parse(last) if last else None
        services = services_of(self.config.providers) - self.catalog.services
        return None if ref is not None and ref.provider in services else last

    async def model_info(self, ref: ModelRef) -> ModelInfo | None:
        """Refresh the facts of a model: its window can change when it is loaded."""
        self.catalog.forget(ref.provider)
        await self.catalog.listing(ref.provider, within_s=TIMEOUT_S)
        await self.catalog.describe(ref)
        return self.catalog.find(ref)


def load_runtime(
    flags: Flags,
    environ: Mapping[str, str] | None = None,
    paths: AppPaths | None = None,
    *,
    imports_tools: bool = True,
) -> Callable[[], AbstractAsyncContextManager[Runtime]]:
    """Read the settings (blocking) and return what opens a runtime with them."""
    where = paths or default_paths()
    loaded = load_config(where, os.environ if environ is None else environ, flags)
    if names_tools(loaded.config) or flags.continued:
        # Imported here, in a thread, so that the first chat does not wait.
        import_name("ollm_tui.runtime.tools.own_tools:toolbox_of")
    return partial(open_runtime, loaded, where, chat=flags.continued, imports_tools=imports_tools)


@asynccontextmanager
async def open_runtime(
    loaded: LoadedConfig,
    paths: AppPaths,
    *,
    embedded: EmbeddedFactory | None = None,
    chat: str | None = None,
    imports_tools: bool = True,
) -> AsyncIterator[Runtime]:
    """Open a runtime; leaving the block ends connections and child processes within two seconds.

    The first client continues the `chat` of that id, or the last one.

    Tools of installed packages are imported only where a chat may offer them.
    """
    config = loaded.config
    async with AsyncExitStack() as stack:
        engine = await to_thread.run_sync(find_engine, config, paths)
        embedded = embedded or partial(embedded_factory, engine=engine)
        adapters = await make_providers(config, paths, stack, embedded)
        store, file = None, paths.data_dir / FILE_NAME
        if config.chat.save:
            store = await stack.enter_async_context(open_store(file))
        redact = key_redactor(config)
        lifecycle = await stack.enter_async_context(adapter_lifecycle(redact))
        registry = registry_of(config, adapters, lifecycle)
        registry.redact = redact
        providers = providers_of(loaded, registry, lifecycle, engine)
        downloads = await stack.enter_async_context(
            open_downloads(config, paths, registry, providers.catalog, providers.router)
        )
        schema = await to_thread.run_sync(chosen_schema, config)
        runtime = Runtime(loaded, paths, providers, downloads, store, schema)
        if store is not None:
            runtime.copies = await stack.enter_async_context(daily_copies(file))
        stack.callback(runtime.manager.templates.close)
        stack.push_async_callback(_close_search, runtime)
        if imports_tools:
            runtime.plugin_commands, problems = await import_plugins(runtime.tools)
            runtime.plugin_problems = problems
            runtime.problems += problems
        runtime.mcp = await add_servers(stack, runtime._chat_factory, loaded, paths)
        if chat is not None:
            await _continue(runtime, chat)
        yield runtime


async def _close_search(runtime: Runtime) -> None:
    """End the search, if it was used."""
    if (search := vars(runtime).get("search")) is not None:
        await search.close()


async def _continue(runtime: Runtime, chat: str) -> None:
    """Let the first client continue a chat, if it can be opened."""
    try:
        runtime._continued = client = await runtime.continue_chat(chat)
        client.conversation.model = runtime.named.model_for_chat(client.conversation.model)
        runtime.profiles.apply_named(client.conversation)
    except AIError as error:
        runtime.problems += (error.message,)
