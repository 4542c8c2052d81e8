"""A chat client with all that it works with in a test's hands, and what must hold of it.

The test takes steps (`send`, `give`, `leave` ...) and lets everything settle after each; `check`
then says whether the promises still hold, `check_ended` those that hold between prompts.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal

import anyio

from ollm_tui.chat.client import ChatClient, ChatStream
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.model_support import ToolModes
from ollm_tui.chat.parts import ChatLimits, ChatParts
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.blocks import TextContent, ThinkingContent
from ollm_tui.protocol.chat_events import ChatEvent, ToolCallResult, ToolCallStart
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.tools import ToolOutput
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.store.conversations import ConversationStore, open_store
from ollm_tui.store.journal import ConversationJournal
from ollm_tui.store.rows import MessageRow
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.runner import ToolRunner
from tests.chat.puppets import (
    PuppetApprover,
    PuppetProvider,
    PuppetTool,
    SkippingLoop,
    Step,
    calls_without_one_result,
    settle,
)

MODELS = ("scripted://native", "scripted://react")
TOOLS = ("look", "fail", "hang")
PROMPT_S = 600.0
WINDOW = 1000
FULL = AIError(ErrorCode.INTERNAL_ERROR, "Not saved: the disk is full.")
How = Literal["read", "left", "raised", "cancelled"]
Ends = chat_events.Finish | chat_events.ErrorEvent


class Mine(Exception):
    """What a consumer raises in the middle of an answer."""


@dataclass
class ListKeeper:
    """Keeps rows in memory; saving fails while `failure` is set."""

    rows: dict[str, MessageRow] = field(default_factory=dict)
    failure: AIError | None = None

    def put(self, row: MessageRow) -> None:
        self.rows[row.id] = row

    async def save(self) -> None:
        await anyio.lowlevel.checkpoint()
        if self.failure is not None:
            raise AIError(self.failure.code, self.failure.message)

    def deleted(self, conversation_id: str) -> None:
        return None


class OnePrompt:
    """One prompt being read by a task of its own."""

    def __init__(self, client: ChatClient, start: Callable[[], ChatStream]) -> None:
        self.seen: list[ChatEvent] = []
        self.how: How | None = None
        self.refused: AIError | None = None
        self.may_read = anyio.Event()
        self.may_read.set()
        self.begins_at = 0
        self._client = client
        self._start = start
        self._whole = anyio.CancelScope()
        self._reading = anyio.CancelScope()
        self._raises = False
        self.task: asyncio.Task[None] | None = None

    def cancel(self) -> None:
        self._whole.cancel()

    def leave(self, *, raising: bool = False) -> None:
        self._raises = raising
        self._reading.cancel()

    async def run(self) -> None:
        how: How = "cancelled"
        try:
            with self._whole:
                how = await self._read()
        except AIError as error:
            self.refused = error
        except Mine:
            how = "raised"
        finally:
            self.how = how

    async def _read(self) -> How:
        async with self._start() as events:
            self.begins_at = len(self._client.conversation.messages)
            with self._reading:
                async for event in events:
                    self.seen.append(event)
                    await self.may_read.wait()
                return "read"
            if self._raises:
                raise Mine
        return "left"


class Bench:
    """The client, its surroundings, and the prompt that is being answered.

    With a file the chat is saved in the real store, and read from it again between prompts.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.runner = asyncio.Runner(loop_factory=SkippingLoop)
        loop = self.runner.get_loop()
        assert isinstance(loop, SkippingLoop)
        self.loop = loop
        self.provider = PuppetProvider(looks_at=self._look_at)
        self.approver = PuppetApprover()
        self.tools = {
            "look": PuppetTool("look", ending=self._look),
            "fail": PuppetTool("fail", ending=_fail),
            "hang": PuppetTool("hang", waits=True, ending=lambda: ToolOutput("late")),
        }
        self.retry_waits: list[anyio.Event] = []
        self.keeper = ListKeeper()
        self.conversation = Conversation(model=MODELS[0], tools=TOOLS)
        self.opened = open_store(file) if file else None
        self.store = self.runner.run(self.opened.__aenter__()) if self.opened else None
        self.journal = (
            self.store.journal(self.conversation)
            if self.store
            else ConversationJournal(self.keeper, self.conversation, "chat", lambda: 0)
        )
        registry = ProviderRegistry()
        registry.register(self.provider)
        parts = ChatParts(
            router=Router(registry, ModelCatalog(registry)),
            tools=ToolRunner(ToolRegistry([*self.tools.values()]), self.approver),
            modes=ToolModes(chosen={MODELS[1]: "react"}),
            limits=ChatLimits(max_turns=4, calls_per_turn=3, prompt_s=PROMPT_S),
            windows=dict.fromkeys(MODELS, WINDOW),
            sleep=self._sleep,
        )
        self.client = ChatClient(parts, self.conversation, journal=self.journal)
        self.signal = AbortSignal()
        self.prompt: OnePrompt | None = None
        self.own_tasks = asyncio.all_tasks(self.loop)
        self.allowed = 0
        self.looked = 0
        self.reported_lookups: list[str] = []

    # What a test does

    def do(self, *steps: Callable[[], object]) -> None:
        """Take steps within one round of the loop, then let everything settle."""

        async def taken() -> None:
            for step in steps:
                step()
            await settle()

        self.run(taken())

    def run(self, work: Coroutine[object, object, None]) -> None:
        self.runner.run(work)

    def begin(self, start: Callable[[AbortSignal], ChatStream]) -> OnePrompt:
        """Begin a prompt; a signal is good for one."""
        signal, was_idle = AbortSignal(), self.is_idle
        begun: list[OnePrompt] = []

        def started() -> None:
            prompt = OnePrompt(self.client, lambda: start(signal))
            begun.append(prompt)
            if was_idle:
                self._remember_looks()
                self.signal, self.prompt = signal, prompt
            prompt.task = self.loop.create_task(prompt.run())

        self.do(started)
        return begun[0]

    def _remember_looks(self) -> None:
        for event in self.prompt.seen if self.prompt else ():
            if isinstance(event, ToolCallResult) and event.result.content.startswith("seen "):
                self.reported_lookups.append(event.result.content)

    def give(self, *steps: Step) -> None:
        self.do(lambda: self.provider.give(steps))

    def skip(self, seconds: float) -> None:
        """Put the clock forward, and let the timers that this sets off ring."""
        self.loop.skipped += seconds
        self.do()
        self.do()

    def close(self) -> None:
        if self.opened is not None:
            self.runner.run(self.opened.__aexit__(None, None, None))
        self.runner.close()

    # What is known

    @property
    def is_idle(self) -> bool:
        return self.prompt is None or self.prompt.how is not None

    @property
    def messages(self) -> list[Message]:
        return self.conversation.messages

    # What must hold

    def check(self) -> None:
        """Hold what is true at every moment."""
        ids = [call.id for message in self.messages for call in message.tool_calls]
        assert len(ids) == len(set(ids)), "ids of calls are unique"
        assert self.provider.open_streams <= 1
        assert sum(tool.runs for tool in self.tools.values()) <= self.allowed
        if self.store is None:
            self._check_journal()

    def _check_journal(self) -> None:
        stored, reported = self.stored(), self.messages
        both = min(len(stored), len(reported))
        assert stored[:both] == reported[:both]
        assert len(stored) <= len(reported) + 1, (
            "only the answer that grows is in the journal alone"
        )

    def check_ended(self) -> None:
        """Hold what is true when no prompt is being answered."""
        assert calls_without_one_result(self.messages) == []
        assert self.provider.open_streams == 0
        assert self.approver.pending == {}
        assert [tool.running for tool in self.tools.values()] == [0, 0, 0]
        self.run(self._nothing_runs())
        assert self.stored() == self.messages, "the journal is the history"
        assert len(self.journal.path) == len(set(self.journal.path)) == len(self.messages)
        assert "streaming" not in {row.state for row in self.keeper.rows.values()}
        if self.prompt is not None and self.prompt.refused is None:
            self._check_prompt(self.prompt)

    def stored(self) -> list[Message]:
        if self.store is None:
            return [self.keeper.rows[id_].message for id_ in self.journal.path]
        return self.runner.run(self._loaded(self.store))

    async def _loaded(self, store: ConversationStore) -> list[Message]:
        if not self.journal.path:
            return []
        chat = await store.load(self.journal.conversation_id)
        ids, path = [kept.id for kept in chat.messages], [*self.journal.path]
        assert "streaming" not in {kept.state for kept in chat.messages}
        if ids != path:  # an answer was dropped, and nothing has taken its place in the file yet
            assert ids[: len(path)] == path
            assert self.messages[-1].role == "user"
        return [*chat.history[: len(path)]]

    def _check_prompt(self, prompt: OnePrompt) -> None:
        ends = [event for event in prompt.seen if isinstance(event, Ends)]
        added = self.messages[prompt.begins_at :]
        if prompt.how == "read":
            assert ends == prompt.seen[-1:], "one end, and nothing after it"
        if prompt.how == "read" and not _timed_out(prompt.seen):
            assert _shown(prompt.seen) == _written(added)
        else:  # a reader so slow that the time ran out may miss what was on its way
            assert len(ends) <= 1
            assert _is_beginning(_shown(prompt.seen), _written(added))
        self._check_calls(prompt, added)
        if added and added[-1].role == "assistant" and not self.provider.ended_well:
            assert added[-1].metadata.get("ended"), "a cut answer is never a whole one"

    def _check_calls(self, prompt: OnePrompt, added: Sequence[Message]) -> None:
        started = [e.call.id for e in prompt.seen if isinstance(e, ToolCallStart)]
        reported = {e.call.id: e.result for e in prompt.seen if isinstance(e, ToolCallResult)}
        results = [e.call.id for e in prompt.seen if isinstance(e, ToolCallResult)]
        assert len(started) == len(set(started))
        assert len(results) == len(set(results))
        if prompt.how == "read" and not _timed_out(prompt.seen):
            assert set(started) <= set(results)
        looks = [r.content for r in reported.values() if r.content.startswith("seen ")]
        assert len(set(self.reported_lookups + looks)) == len(self.reported_lookups + looks), (
            "told twice"
        )
        kept = {m.tool_call_id: m.text for m in added if m.role == "tool"}
        assert {id_: kept.get(id_) for id_ in reported} == {
            i: r.content for i, r in reported.items()
        }

    async def _nothing_runs(self) -> None:
        left = asyncio.all_tasks() - {asyncio.current_task()} - self.own_tasks
        assert not left, f"tasks are left: {left}"

    def _look_at(self, request: Request) -> None:
        assert calls_without_one_result(request.conversation) == []
        roles = [message.role for message in request.conversation]
        assert ("user", "user") not in pairwise(roles)
        if request.model == "react" and request.tools == () and self.conversation.tools:
            assert "tool" not in roles

    def _look(self) -> ToolOutput:
        self.looked += 1
        return ToolOutput(f"seen {self.looked}")

    async def _sleep(self, _seconds: float) -> None:
        self.retry_waits.append(anyio.Event())
        try:
            await self.retry_waits[-1].wait()
        finally:
            self.retry_waits.pop()


def _fail() -> ToolOutput:
    raise OSError("no such thing")


def _timed_out(events: Sequence[ChatEvent]) -> bool:
    end = events[-1]
    return isinstance(end, chat_events.ErrorEvent) and end.error.code == ErrorCode.TIMEOUT


def _shown(events: Sequence[ChatEvent]) -> list[tuple[str, str]]:
    """Give the blocks that the deltas make."""
    blocks: dict[str, tuple[str, str]] = {}
    for event in events:
        if isinstance(event, chat_events.TextDelta | chat_events.ThinkingDelta):
            kind = "text" if isinstance(event, chat_events.TextDelta) else "thinking"
            known, text = blocks.get(event.block, (kind, ""))
            assert known == kind, "one kind in a block"
            blocks[event.block] = (kind, text + event.delta)
    return [*blocks.values()]


def _written(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [
        (block.type, block.text)
        for message in messages
        if message.role == "assistant"
        for block in message.content
        if isinstance(block, TextContent | ThinkingContent)
    ]


def _is_beginning(shown: list[tuple[str, str]], written: list[tuple[str, str]]) -> bool:
    if not shown:
        return True
    (kind, text), whole = shown[-1], written[len(shown) - 1 : len(shown)]
    return shown[:-1] == written[: len(shown) - 1] and any(
        kind == k and t.startswith(text) for k, t in whole
    )
