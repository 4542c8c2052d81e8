"""A chat client and a runtime whose answers a test gives piece by piece."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import anyio
from anyio.abc import ObjectReceiveStream

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.model_support import ToolMode
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.config.plugins import Plugin
from ollm_tui.library.machine import Machine
from ollm_tui.protocol.blocks import content_to_text
from ollm_tui.protocol.chat_events import ChatEvent, ErrorEvent, Finish, TextDelta, ThinkingDelta
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import FinishReason, Message, Timings, Usage
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.catalog import DESCRIBE_S, CatalogEntry, Listing, ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.runtime.download_targets import DownloadTarget
from ollm_tui.runtime.first_model import FirstModel
from ollm_tui.runtime.measure import ContextFigures, ContextRoom
from ollm_tui.runtime.other_models import OtherFolders
from ollm_tui.store.branches import Branch, ChatNews
from ollm_tui.tokens.limits import ContextRemedy
from tests.support.providers import ScriptedProvider
from tests.support.scripted_chats import FIGURES, TOOLS, ScriptedChats, SomeTool
from tests.support.scripted_fetching import (
    LIBRARY,
    MACHINE,
    OLLAMA,
    ScriptedDownloads,
    ScriptedHub,
    ScriptedRegistry,
)
from tests.support.scripted_manager import ScriptedManager

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

    def give(self, *events: ChatEvent) -> None:
        """Let these events come, at once."""
        assert self._send is not None, "nobody asked"
        for event in events:
            self._send.send_nowait(event)

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
            signal.subscribe(lambda: send.send_nowait(finish("abort")))
        try:
            async with send, receive:
                yield _until_end(receive)
        finally:
            self._send = None


async def _until_end(receive: ObjectReceiveStream[ChatEvent]) -> AsyncIterator[ChatEvent]:
    async for event in receive:
        yield event
        if isinstance(event, Finish | ErrorEvent):
            return


@dataclass(frozen=True, kw_only=True)
class ScriptedFirstModel(FirstModel):
    ref: ModelRef | None = field(default_factory=lambda: ModelRef("local", "qwen3:8b"))
    reason: str = "used last"
    with_models: tuple[str, ...] = ("Ollama",)
    silent: tuple[str, ...] = ("LM Studio", "llama.cpp", "vLLM")
    advice: str | None = None


class ScriptedCatalog(ModelCatalog):
    """The real catalog of providers with these listings; those in `late` come when a test says."""

    def __init__(self, *listings: Listing, known: tuple[Listing, ...] | None = None) -> None:
        registry = ProviderRegistry()
        for one in listings:
            registry.register(ScriptedProvider(one.provider, label=one.label))
        super().__init__(registry, max_age_s=0)
        self.lists(*listings)
        self._listings = {one.provider: one for one in (listings if known is None else known)}
        self.late: dict[str, anyio.Event] = {}
        self.shown: dict[str, str] = {}
        self.forgotten = 0
        self.described: list[ModelRef] = []

    def lists(self, *listings: Listing) -> None:
        """Give these from now on; what was known stays until it is asked for."""
        self._given = {one.provider: one for one in listings}

    def shown_name(self, provider: str) -> str:
        return self.shown.get(provider, provider)

    def shown_address(self, ref: ModelRef) -> str:
        return str(ModelRef(self.shown_name(ref.provider), ref.model))

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


@dataclass
class ScriptedBranches:
    """Has these branches and this news, and keeps what was opened and renamed."""

    found: list[Branch] = field(default_factory=list)
    happened: list[ChatNews] = field(default_factory=list)
    refuses: AIError | None = None
    opened: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)

    async def rename(self, client: ScriptedClient, title: str) -> None:
        if self.refuses is not None:
            raise self.refuses
        self.titles.append(title)
        client.conversation.own_title = title

    async def listed(self, client: ScriptedClient) -> list[Branch]:
        if self.refuses is not None:
            raise self.refuses
        return self.found

    async def news(self, client: ScriptedClient) -> ChatNews | None:
        return self.happened.pop() if self.happened else None

    async def open(self, client: ScriptedClient, branch: Branch) -> ScriptedClient:
        self.opened.append(branch.leaf_id)
        messages = [Message("user", "their question"), Message("assistant", "their answer")]
        return ScriptedClient(Conversation(messages=messages))


@dataclass
class ScriptedRuntime:
    """What the screens use of a runtime, on scripted clients.

    `clients` holds those that were asked for. tests/tui/test_scripted_runtime.py compares it with
    the real one.
    """

    catalog: ScriptedCatalog = field(default_factory=ScriptedCatalog)
    first: ScriptedFirstModel = field(default_factory=ScriptedFirstModel)
    problems: Sequence[str] = ()
    plugin_commands: Sequence[Plugin] = ()
    recents: list[str] = field(default_factory=list)
    refuses: AIError | None = None
    """Raised instead of opening."""
    make_client: Callable[[], ScriptedClient] = ScriptedClient
    clients: list[ScriptedClient] = field(default_factory=list)
    chats: ScriptedChats = field(default_factory=ScriptedChats)
    histories: dict[str, list[Message]] = field(default_factory=dict)
    """The messages of the chats that can be opened."""
    ids: dict[int, str] = field(default_factory=dict)
    branches: ScriptedBranches = field(default_factory=ScriptedBranches)
    all_tools: Sequence[SomeTool] = TOOLS
    figures: ContextFigures = FIGURES
    ways_taken: list[ContextRemedy] = field(default_factory=list)
    """Those that were applied."""
    manager: ScriptedManager = field(default_factory=ScriptedManager)
    downloads: ScriptedDownloads = field(default_factory=ScriptedDownloads)
    hub: ScriptedHub = field(default_factory=ScriptedHub)
    model_registry: ScriptedRegistry = field(default_factory=ScriptedRegistry)
    this_machine: Machine = MACHINE
    targets: Sequence[DownloadTarget] = (LIBRARY, OLLAMA)
    others: OtherFolders = field(default_factory=OtherFolders)
    looks: int = 0
    """How often they were looked for."""

    def new_client(self, model: str | None = None, *, saved: bool = True) -> ScriptedClient:
        self.clients.append(self.make_client())
        return self.clients[-1]

    async def first_model(self, listings: Sequence[Listing] | None = None) -> ScriptedFirstModel:
        return self.first

    @property
    def router(self) -> "ScriptedRuntime":
        return self

    async def resolve(self, model: str, requirement: ModelCapability | None = None) -> CatalogEntry:
        ref = ModelRef.parse(model)
        info = self.catalog.find(ref) if ref else None
        if ref is None or info is None:
            raise AIError(ErrorCode.MODEL_NOT_FOUND, f"There is no model named {model!r}.")
        return CatalogEntry(ref, info)

    async def model_info(self, ref: ModelRef) -> ModelInfo | None:
        return self.catalog.find(ref)

    def recent_models(self) -> Sequence[str]:
        return tuple(self.recents)

    def remember_model(self, address: str) -> None:
        self.recents = [address, *(name for name in self.recents if name != address)]

    # Chats

    def chat_id(self, client: ScriptedClient) -> str | None:
        return self.ids.get(id(client))

    async def open_chat(self, chat_id: str, leaf_id: str | None = None) -> ScriptedClient:
        if chat_id not in self.histories:
            raise AIError(ErrorCode.BAD_REQUEST, "There is no such chat.", hint="Choose another.")
        conversation = Conversation(messages=self.histories[chat_id], tools=("read_file",))
        self.clients.append(ScriptedClient(conversation))
        self.ids[id(self.clients[-1])] = chat_id
        return self.clients[-1]

    def offered_tools(self) -> Sequence[SomeTool]:
        return self.all_tools

    def tool_mode(self, model: str) -> ToolMode | None:
        return "native"

    async def reads_only_text(self, model: str) -> bool:
        return False

    def room(self, conversation: Conversation) -> ContextRoom | None:
        return None

    async def measure(self, conversation: Conversation) -> ContextFigures:
        return self.figures

    def take_way_out(self, conversation: Conversation, way: ContextRemedy) -> None:
        self.ways_taken.append(way)

    # Models and downloads

    async def has_downloads(self) -> bool:
        return bool(self.downloads.jobs())

    async def load_fetching(self) -> None:
        pass

    async def machine(self) -> Machine:
        return self.this_machine

    async def places(self) -> Sequence[DownloadTarget]:
        return self.targets

    async def other_folders(self) -> OtherFolders:
        self.looks += 1
        return self.others
