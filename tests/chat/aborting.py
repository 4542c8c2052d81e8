"""Prompts that are aborted at a moment and in a way of choice, and what may be left of them.

Providers and saving are real, and the servers run in processes of their own, so that files,
sockets, threads and tasks of this process can be counted.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.lowlevel

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.chat_events import ChatEvent, TextDelta, ToolCallResult, ToolCallStart
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import SupportsDispose
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.tools import ToolOutput
from ollm_tui.providers import create_provider
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.store.conversations import ConversationStore, open_store
from ollm_tui.store.journal import ConversationJournal
from ollm_tui.tokens.encodings import Encodings
from tests.store.rig import on_connection
from tests.support.aborting import Census, settles
from tests.support.tools import ScriptedTool, runner_for

MODELS = {"ollama": "ollama://tiny:latest", "openai-compatible": "openai-compatible://tiny"}
PROMPTS = {
    "connecting": "silent",
    "first byte": "silent",
    "text": "forever 500",
    "arguments": "arguments",
    "tools": "tools",
    "saving": "forever 200",
}
"""Moments, and the prompt that leads to each; what twenty answers write fits into the window."""
WAYS: Mapping[str, Sequence[str]] = {
    "signal": ("signal",),
    "signal twice": ("signal", "signal"),
    "cancel": ("cancel",),
    "cancel twice": ("cancel", "cancel around"),
    "signal and cancel": ("signal", "cancel"),
    "task": ("task", "task"),
    "leave": ("leave",),
}
"""What is done at the moment, one after the other."""
BOUND_S = 5.0


@dataclass
class SlowJournal:
    """A real journal that takes its time, and calls back while it writes."""

    _journal: ConversationJournal
    _chance: random.Random
    at_write: Callable[[], None] | None = None

    async def branch(self, kept: int, messages: Sequence[Message]) -> None:
        await self._dawdle()
        await self._journal.branch(kept, messages)

    def rewind(self, kept: int) -> None:
        self._journal.rewind(kept)

    async def begin(self, message: Message) -> str:
        await self._dawdle()
        return await self._journal.begin(message)

    async def update(self, message_id: str, message: Message) -> None:
        await self._dawdle()
        await self._journal.update(message_id, message)

    async def finish(self, message_id: str, message: Message) -> None:
        await self._dawdle()
        await self._journal.finish(message_id, message)

    async def _dawdle(self) -> None:
        for _ in range(self._chance.randrange(4)):
            await anyio.lowlevel.checkpoint()
        if self.at_write is not None:
            self.at_write()
        for _ in range(self._chance.randrange(4)):
            await anyio.lowlevel.checkpoint()


@dataclass
class SavedChat:
    client: ChatClient
    journal: SlowJournal
    chat_id: str


class Abort:
    """One prompt, who asks it and who stops it, and what came of it."""

    def __init__(self, moment: str, way: str, chat: SavedChat, chance: random.Random) -> None:
        self.moment, self.way, self.chat, self.chance = moment, way, chat, chance
        self.seen: list[ChatEvent] = []
        self.pressed = False
        self._signal = AbortSignal()
        self._inner, self._outer = anyio.CancelScope(), anyio.CancelScope()
        self._task: asyncio.Task[object] | None = None
        self._leaves = False
        self._count = chance.randrange(1, 12)

    @property
    def ends(self) -> list[ChatEvent]:
        return [e for e in self.seen if isinstance(e, chat_events.Finish | chat_events.ErrorEvent)]

    async def ask(self) -> None:
        self._task = asyncio.current_task()
        if self.moment == "saving":
            self.chat.journal.at_write = self._at_write
        asked = self.chat.client.chat(PROMPTS[self.moment], signal=self._signal)
        try:
            with self._outer, self._inner:
                async with asked as events:
                    async for event in events:
                        self.seen.append(event)
                        self._notice(event)
                        if self._leaves:
                            return
        finally:
            self.chat.journal.at_write = None

    async def press_in_time(self) -> None:
        """Abort from another task, where the moment is a matter of time."""
        match self.moment:
            case "connecting":
                for _ in range(self._count * 2):
                    await anyio.lowlevel.checkpoint()
            case "first byte":
                await anyio.sleep(self.chance.uniform(0.002, 0.02))
            case _:
                return
        self._press()

    def _notice(self, event: ChatEvent) -> None:
        match self.moment:
            case "text" if isinstance(event, TextDelta):
                self._count -= 1
                if self._count <= 0:
                    self._press()
            case "arguments" if isinstance(event, TextDelta):
                asyncio.get_running_loop().call_later(self.chance.uniform(0, 0.01), self._press)
            case "tools" if isinstance(event, ToolCallStart | ToolCallResult):
                if isinstance(event, ToolCallResult) or self.chance.random() < 0.4:
                    self._press()
            case _:
                pass

    def _at_write(self) -> None:
        self._count -= 4
        if self._count <= 0:
            self._press()

    def _press(self) -> None:
        if self.pressed:
            return
        self.pressed = True
        assert self._task is not None
        deeds: Mapping[str, Callable[[], object]] = {
            "signal": self._signal.abort,
            "cancel": self._inner.cancel,
            "cancel around": self._outer.cancel,
            "task": self._task.cancel,
            "leave": self._leave,
        }
        for deed in WAYS[self.way]:
            deeds[deed]()

    def _leave(self) -> None:
        self._leaves = True
        if self.moment not in {"text", "tools"}:
            self._inner.cancel()  # nobody leaves a block in which nothing happens


@dataclass
class AbortRig:
    """Real providers, real saving, two tools: one that hangs and one that does not."""

    _router: Router
    _store: ConversationStore
    _chance: random.Random
    # Shared as the runtime does it: a search for a tokenizer that is stopped leaves its thread
    # to the pool, which then has one more for a while.
    _encodings: Encodings = field(default_factory=Encodings)

    def chat(self, provider: str) -> SavedChat:
        weather = ScriptedTool("weather", _hang)
        parts = ChatParts(
            router=self._router,
            tools=runner_for(weather, ScriptedTool("clock")),
            encodings=self._encodings,
        )
        conversation = Conversation(model=MODELS[provider], tools=("weather", "clock"))
        journal = self._store.journal(conversation)
        slow = SlowJournal(journal, self._chance)
        client = ChatClient(parts, conversation, journal=slow)
        return SavedChat(client, slow, journal.conversation_id)

    async def saved(self, chat: SavedChat) -> list[Message]:
        stored = await self._store.load(chat.chat_id)
        return [message.message for message in stored.messages]

    async def abort(self, chat: SavedChat, moment: str, way: str) -> Abort:
        done = Abort(moment, way, chat, self._chance)
        with anyio.fail_after(BOUND_S):
            async with anyio.create_task_group() as group:
                group.start_soon(done.ask)
                await done.press_in_time()
        return done

    async def hello(self, chat: SavedChat) -> str:
        """Ask something harmless; gives the answer, which must end well."""
        with anyio.fail_after(BOUND_S):
            async with chat.client.chat("hello") as events:
                seen = [event async for event in events]
        assert isinstance(seen[-1], chat_events.Finish), seen[-1]
        assert seen[-1].reason == "stop"
        return "".join(event.delta for event in seen if isinstance(event, TextDelta))


async def _hang(_args: JsonObject) -> ToolOutput:
    await anyio.sleep_forever()
    raise AssertionError("never")


@asynccontextmanager
async def abort_rig(
    urls: dict[str, str], folder: Path, chance: random.Random
) -> AsyncIterator[AbortRig]:
    registry = ProviderRegistry()
    async with AsyncExitStack() as stack:
        for kind, url in urls.items():
            provider = create_provider(ProviderSpec(name=kind, kind=kind, base_url=url))
            assert isinstance(provider, SupportsDispose)
            stack.push_async_callback(provider.dispose)
            registry.register(provider)
        store = await stack.enter_async_context(open_store(folder / "chats.db"))
        # Thousands of commits, each of which would wait for the disk; the kills of `bench-kill` do.
        await on_connection(store._database, "PRAGMA synchronous = OFF")
        yield AbortRig(Router(registry, ModelCatalog(registry)), store, chance)


async def check_one(rig: AbortRig, chat: SavedChat, done: Abort, before: Census) -> None:
    """One end at most, everything kept and saved, nothing left open, and the chat goes on."""
    what = f"{done.moment} by {done.way}"
    assert done.pressed, what
    if done.way in {"signal", "signal twice"}:
        assert done.ends == [done.seen[-1]], what
        assert isinstance(done.seen[-1], chat_events.Finish), (what, done.seen[-1])
        assert done.seen[-1].reason == "abort", what
    else:
        assert len(done.ends) <= 1, what
        assert not done.ends or done.way == "signal and cancel", what
    check_kept(chat.client.conversation.messages, done, what)
    saved = await rig.saved(chat)
    assert saved == chat.client.conversation.messages, what
    assert await rig.hello(chat) == "Hello, world!", what
    if not await settles(lambda: Census.take().is_within(before)):
        raise AssertionError(f"{what}: {Census.take()} left of {before}")


def check_kept(messages: list[Message], done: Abort, what: str) -> None:
    """All that was seen is in the history, marked, with one result for each call."""
    at = max(n for n, message in enumerate(messages) if message.role == "user")
    newest = messages[at + 1 :]
    seen = "".join(event.delta for event in done.seen if isinstance(event, TextDelta))
    if seen:
        assert newest, what
        assert newest[0].text.startswith(seen), what
    answers = [message for message in newest if message.role == "assistant"]
    for answer in answers:
        stopped_in_tools = answer.tool_calls and done.moment == "tools"
        assert answer.metadata == {"ended": "stopped"} or stopped_in_tools, (what, answer)
    calls = [call.id for message in newest for call in message.tool_calls]
    assert [m.tool_call_id for m in newest if m.role == "tool"] == calls, what


async def many_aborts(rig: AbortRig, times: int, chance: random.Random) -> dict[str, int]:
    """Abort so many times, at every moment in every way; gives how often each moment was hit."""
    chats = {provider: rig.chat(provider) for provider in MODELS}
    for chat in chats.values():
        for _ in range(2):
            await rig.hello(chat)
    await anyio.sleep(0.1)
    before = Census.take()
    hit = dict.fromkeys(PROMPTS, 0)
    for number in range(times):
        provider = chance.choice([*MODELS])
        if number % 20 == 19:
            chats[provider] = rig.chat(provider)
        moment, way = chance.choice([*PROMPTS]), chance.choice([*WAYS])
        done = await rig.abort(chats[provider], moment, way)
        try:
            await check_one(rig, chats[provider], done, before)
        except AssertionError as error:
            raise AssertionError(f"abort {number}, {moment} by {way}, {provider}") from error
        hit[moment] += 1
    return hit
