"""A chat client and a runtime whose answers a test gives piece by piece."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.paths import AppPaths
from ollm_tui.config.schema import AppConfig
from ollm_tui.exchange.formats import ExportFormat
from ollm_tui.library.machine import Machine
from ollm_tui.models.known_models import KnownModels
from ollm_tui.protocol.blocks import content_to_text
from ollm_tui.protocol.chat_events import ChatEvent, ErrorEvent, Finish, TextDelta, ThinkingDelta
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import FinishReason, Message, Timings, Usage
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.catalog import DESCRIBE_S, Listing, ModelCatalog
from ollm_tui.providers.lifecycle import AdapterLifecycle
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.runtime.choices import Choices, ChoicesFile
from ollm_tui.runtime.compose import Runtime
from ollm_tui.runtime.download_targets import DownloadTarget
from ollm_tui.runtime.downloads import DownloadService
from ollm_tui.runtime.exact_prompt import ExactPrompt
from ollm_tui.runtime.exports import ChatExports
from ollm_tui.runtime.first_model import FirstModel
from ollm_tui.runtime.measure import ContextFigures
from ollm_tui.runtime.other_models import OtherFolders
from ollm_tui.runtime.provider_set import LocalEngine
from ollm_tui.runtime.providers import providers_of
from ollm_tui.runtime.saved.branches import ChatBranches
from ollm_tui.runtime.tools.toolbox import OfferedTool
from ollm_tui.store.branches import Branch, ChatNews
from ollm_tui.tokens.limits import ContextRemedy
from ollm_tui.tui.chat.tool_rows import ToolRows
from tests.support.providers import ScriptedProvider
from tests.tui.scripted_chats import (
    FIGURES,
    PROMPT,
    TOOLS,
    ScriptedChats,
    ScriptedSavedChats,
    ScriptedSearch,
)
from tests.tui.scripted_fetching import (
    LIBRARY,
    MACHINE,
    OLLAMA,
    ScriptedDownloads,
    ScriptedHub,
    ScriptedRegistry,
)

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream


def text(delta: str, block: str = "answer-1") -> TextDelta:
    return TextDelta(delta=delta, turn=1, block=block)


def thinking(delta: str, block: str = "thinking-1") -> ThinkingDelta:
    return ThinkingDelta(delta=delta, turn=1, block=block)


def finish(reason: FinishReason = "stop", tokens: int = 412) -> Finish:
    return Finish(
        reason=reason,
        usage=Usage(prompt_tokens=2700, completion_tokens=tokens, total_tokens=2700 + tokens),
        timings=Timings(first_token_s=0.31, tokens_per_s=38.0),
    )


class ScriptedClient(ChatClient):
    """Streams what the test sends; an abort ends the stream, as the real client's does."""

    def __init__(self, conversation: Conversation | None = None) -> None:
        registry = ProviderRegistry()
        parts = ChatParts(router=Router(registry, ModelCatalog(registry)))
        super().__init__(parts, conversation or Conversation(model="local://qwen3:8b"))
        self.prompts: list[str | None] = []
        self.signals: list[AbortSignal | None] = []
        self.hangs_on_abort = False
        self.went_on = 0
        self.rewound: list[int] = []
        self._send: MemoryObjectSendStream[ChatEvent] | None = None

    def rewind(self, kept: int) -> None:
        self.rewound.append(kept)
        self.conversation.rewind(kept)

    @property
    def is_open(self) -> bool:
        return self._send is not None

    def give(self, *events: ChatEvent, closes: bool = True) -> None:
        """Let these events come, at once; the stream is closed after the last one of an answer."""
        assert self._send is not None, "nobody asked"
        for event in events:
            self._send.send_nowait(event)
            if closes and isinstance(event, Finish | ErrorEvent):
                self._send.close()

    def answer(self, words: str) -> None:
        self.give(text(words, f"answer-{len(self.prompts)}"), finish())

    def fail(self, error: AIError) -> None:
        self.give(ErrorEvent(error=error))

    def hang_up(self) -> None:
        """End the stream without an end, which a real client never does."""
        assert self._send is not None, "nobody asked"
        self._send.close()

    @asynccontextmanager
    async def _asking(
        self,
        question: Message | None,
        options: ChatOptions,
        signal: AbortSignal | None,
        *,
        rewind: bool = True,
    ) -> AsyncIterator[AsyncIterator[ChatEvent]]:
        self.went_on += not rewind
        self.prompts.append(None if question is None else content_to_text(question.content))
        self.signals.append(signal)
        if question is not None:
            self.conversation.messages.append(question)
        send, receive = anyio.create_memory_object_stream[ChatEvent](1000)
        self._send = send
        if signal is not None and not self.hangs_on_abort:
            signal.subscribe(lambda: self.give(finish("abort")))
        try:
            async with send, receive:
                yield receive
        finally:
            self._send = None


FIRST = FirstModel(
    ref=ModelRef("local", "qwen3:8b"),
    reason="used last",
    with_models=("Ollama",),
    silent=("LM Studio", "llama.cpp", "vLLM"),
)


class ScriptedCatalog(ModelCatalog):
    """The real catalog of providers with these listings; those in `late` come when a test says."""

    def __init__(self, *listings: Listing, known: tuple[Listing, ...] | None = None) -> None:
        self.registry = ProviderRegistry()
        for one in listings:
            self.registry.register(ScriptedProvider(one.provider, label=one.label))
        super().__init__(self.registry, max_age_s=0)
        self.lists(*listings)
        self._listings = {one.provider: one for one in (listings if known is None else known)}
        self.late: dict[str, anyio.Event] = {}
        self.forgotten = 0
        self.described: list[ModelRef] = []

    def lists(self, *listings: Listing) -> None:
        """Give these from now on; what was known stays until it is asked for."""
        self._given = {one.provider: one for one in listings}

    def forget(self, provider: str | None = None) -> None:
        self.forgotten += provider is None

    async def describe(self, ref: ModelRef, *, within_s: float = DESCRIBE_S) -> None:
        self.described.append(ref)

    async def _ask_within(self, adapter: ProviderAdapter, within_s: float | None) -> Listing:
        listing = self._given[adapter.name]
        with anyio.move_on_after(within_s):
            if adapter.name in self.late:
                await self.late[adapter.name].wait()
            return listing
        return replace(listing, models=(), problem=AIError(ErrorCode.TIMEOUT, "It is late."))


@dataclass(eq=False)
class ScriptedBranches(ChatBranches):
    """Has these branches and this news, and keeps what was opened."""

    found: tuple[Branch, ...] = ()
    happened: list[ChatNews] = field(default_factory=list)
    refuses: AIError | None = None
    opened: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(None, self._opened)

    async def rename(self, client: ChatClient, title: str) -> None:
        if self.refuses is not None:
            raise self.refuses
        await super().rename(client, title)

    async def listed(self, client: ChatClient) -> tuple[Branch, ...]:
        if self.refuses is not None:
            raise self.refuses
        return self.found

    async def news(self, client: ChatClient) -> ChatNews | None:
        return self.happened.pop() if self.happened else None

    async def _opened(self, chat_id: str, leaf_id: str | None) -> ScriptedClient:
        self.opened.append(leaf_id or "")
        messages = [Message("user", "their question"), Message("assistant", "their answer")]
        return ScriptedClient(Conversation(messages=messages))


@dataclass
class ScriptedExports(ChatExports):
    """Writes nothing, and keeps what was asked."""

    asked: list[tuple[str, Path | None, bool]] = field(default_factory=list)
    refuses: AIError | None = None

    async def write(
        self,
        client: ChatClient,
        form: ExportFormat,
        path: Path | None,
        *,
        replaces: bool = False,
    ) -> Path:
        self.asked.append((form.name, path, replaces))
        if self.refuses is not None:
            raise self.refuses
        return path or Path("why.md")


class UnsavedChoices(ChoicesFile):
    def change(self, change: Callable[[Choices], Choices]) -> None:
        self.choices = change(self.choices)


@dataclass(eq=False)
class ScriptedRuntime(Runtime):
    """The real runtime of settings that nobody made, with these parts in place of its own.

    `clients` holds those that were asked for.
    """

    catalog: ScriptedCatalog = field(default_factory=ScriptedCatalog)
    first: FirstModel = FIRST
    problems: tuple[str, ...] = ()
    recents: Sequence[str] = ()
    refuses: AIError | None = None
    """Raised instead of opening."""
    make_client: Callable[[], ScriptedClient] = ScriptedClient
    clients: list[ScriptedClient] = field(default_factory=list)
    chats: ScriptedChats = field(default_factory=ScriptedChats)
    saved: ScriptedSavedChats = field(init=False)
    histories: dict[str, list[Message]] = field(default_factory=dict)
    """The messages of the chats that can be opened."""
    ids: dict[int, str] = field(default_factory=dict)
    branches: ScriptedBranches = field(default_factory=ScriptedBranches)
    search: ScriptedSearch = field(default_factory=ScriptedSearch)
    opened_at: list[str | None] = field(default_factory=list)
    """The message that was asked for with each chat that was opened."""
    exports: ScriptedExports = field(default_factory=ScriptedExports)
    all_tools: tuple[OfferedTool, ...] = TOOLS
    figures: ContextFigures = FIGURES
    prompt: ExactPrompt = PROMPT
    prompts_asked: list[str] = field(default_factory=list)
    ways_taken: list[ContextRemedy] = field(default_factory=list)
    """Those that were applied."""
    downloads: ScriptedDownloads = field(default_factory=ScriptedDownloads)
    hub: ScriptedHub = field(default_factory=ScriptedHub)
    model_registry: ScriptedRegistry = field(default_factory=ScriptedRegistry)
    this_machine: Machine = MACHINE
    targets: Sequence[DownloadTarget] = (LIBRARY, OLLAMA)
    others: OtherFolders = field(default_factory=OtherFolders)
    looks: int = 0
    """How often they were looked for."""

    def __post_init__(self) -> None:
        self.saved = ScriptedSavedChats(self.chats)
        given, nothing = dict(vars(self)), cast("Any", None)
        loaded, paths = LoadedConfig(AppConfig(), Path()), AppPaths(*[Path("/nowhere")] * 4)
        registry, catalog = self.catalog.registry, self.catalog
        engine = LocalEngine(known_models=KnownModels(paths.families_dir))
        made = providers_of(loaded, registry, AdapterLifecycle(nothing), engine)
        providers = replace(made, catalog=catalog, router=Router(registry, catalog))
        service = DownloadService(nothing, loaded.config, paths, *[nothing] * 3)
        super().__init__(loaded, paths, providers, service)
        for name in [name for name in vars(self) if hasattr(type(self), name)]:
            delattr(self, name)  # a method of this class stands for it
        vars(self).update(given)
        self._choices = kept = UnsavedChoices(Path("/nowhere/choices.json"))
        kept.choices = Choices(tuple(self.recents))
        self.remember_model = kept.remember_model

    def new_client(self, model: str | None = None, *, saved: bool = True) -> ScriptedClient:
        self.clients.append(self.make_client())
        return self.clients[-1]

    async def first_model(self, listings: Sequence[Listing] | None = None) -> FirstModel:
        return self.first

    async def model_info(self, ref: ModelRef) -> ModelInfo | None:
        return self.catalog.find(ref)

    def chat_id(self, client: ChatClient) -> str | None:
        return self.ids.get(id(client))

    async def open_chat(
        self, chat_id: str, leaf_id: str | None = None, *, message_id: str | None = None
    ) -> ScriptedClient:
        self.opened_at.append(message_id)
        if chat_id not in self.histories:
            raise AIError(ErrorCode.BAD_REQUEST, "There is no such chat.", hint="Choose another.")
        conversation = Conversation(messages=self.histories[chat_id], tools=("read_file",))
        self.clients.append(ScriptedClient(conversation))
        self.ids[id(self.clients[-1])] = chat_id
        return self.clients[-1]

    def position_of(self, client: ChatClient, message_id: str) -> int | None:
        """Messages have their positions as ids."""
        position = int(message_id)
        return position if position < len(client.conversation.messages) else None

    def tools_off(self) -> tuple[OfferedTool, ...]:
        return ()

    def offered_tools(self) -> tuple[OfferedTool, ...]:
        return self.all_tools

    async def measure(self, conversation: Conversation) -> ContextFigures:
        return self.figures

    async def exact_prompt(  # type: ignore[override]
        self, conversation: Conversation, text: str = ""
    ) -> ExactPrompt:
        self.prompts_asked.append(text)
        return self.prompt

    def room(self, conversation: Conversation) -> None:
        return None

    def apply_remedy(self, conversation: Conversation, way: ContextRemedy) -> None:
        self.ways_taken.append(way)

    async def has_downloads(self) -> bool:
        return bool(self.downloads.jobs())

    async def machine(self) -> Machine:
        return self.this_machine

    async def download_targets(self) -> Sequence[DownloadTarget]:  # type: ignore[override]
        return self.targets

    async def other_folders(self) -> OtherFolders:
        self.looks += 1
        return self.others


class CallClock:
    """The clock of tools that run one after another: each takes 0.4 s.

    However often the time of a running tool is shown meanwhile, which a busy machine decides.
    """

    def __init__(self, tools: ToolRows) -> None:
        self._tools = tools
        self._now = 0.0

    def __call__(self) -> float:
        if not self._tools._since:  # a tool starts, or has ended
            self._now += 0.4
        return self._now
