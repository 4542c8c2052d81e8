"""A provider, an approver and tools that do what a test says when it says so, and an own clock."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelCapability
from ollm_tui.protocol.ports import ProviderStream, StreamingFormat, Tool
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent
from ollm_tui.protocol.request import Request, Response
from ollm_tui.protocol.tools import Approval, ToolCall, ToolEffect, ToolOutput, ToolSchema


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock a test can put forward."""

    skipped = 0.0

    def time(self) -> float:
        """Give the time as the timers of this loop see it."""
        return super().time() + self.skipped


async def settle(rounds: int = 4) -> None:
    """Wait until every other task waits for something that only the test can give."""
    calm, this = 0, asyncio.current_task()
    while calm < rounds:
        await asyncio.sleep(0)
        waiters = [getattr(task, "_fut_waiter", None) for task in asyncio.all_tasks() - {this}]
        calm = calm + 1 if all(waiter and not waiter.done() for waiter in waiters) else 0


@dataclass(frozen=True)
class NoEnd:
    """The stream stops without a closing event."""


Step = ProviderEvent | Exception | NoEnd


@dataclass
class PuppetProvider:
    """Answers with the steps that a test gives it while the answer is open."""

    name: str = "scripted"
    label: str = "Scripted"
    streaming_format: StreamingFormat = "sse"
    looks_at: Callable[[Request], object] = lambda _request: None
    open_streams: int = 0
    asked: int = 0
    tokens: int = 10
    """What every request counts."""
    waits: bool = False
    """Whether an answer is open that waits for a step."""
    ended_well: bool = False
    """Whether the newest answer got to its proper end."""
    steps: deque[Step] = field(default_factory=deque)
    _wake: anyio.Event = field(default_factory=anyio.Event)

    def give(self, steps: Iterable[Step]) -> None:
        self.steps += steps
        self._wake.set()

    def chat_stream(self, request: Request) -> ProviderStream:
        self.looks_at(request)
        self.asked += 1
        return self._stream(request)

    async def invoke(self, request: Request) -> Response | ProviderStream:
        return self.chat_stream(request)

    async def count_tokens(self, request: Request) -> int:
        return self.tokens

    def capabilities(self) -> Sequence[ModelCapability]:
        return ()

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[AsyncIterator[ProviderEvent]]:
        self.open_streams += 1
        self.ended_well = False
        self.steps.clear()
        try:
            yield _PuppetStream(self, request)
        finally:
            self.open_streams -= 1

    async def next_step(self, request: Request) -> Step:
        assert request.signal is not None
        if not self.steps and not request.signal.aborted:
            self._wake = anyio.Event()
            unsubscribe = request.signal.subscribe(self._wake.set)
            self.waits = True
            try:
                await self._wake.wait()
            finally:
                self.waits = False
                unsubscribe()
        return Finish("abort") if request.signal.aborted else self.steps.popleft()


class _PuppetStream(AsyncIterator[ProviderEvent]):
    def __init__(self, puppet: PuppetProvider, request: Request) -> None:
        self._puppet = puppet
        self._request = request
        self._ended = False

    async def __anext__(self) -> ProviderEvent:
        if self._ended:
            raise StopAsyncIteration
        step = await self._puppet.next_step(self._request)
        if isinstance(step, Exception):
            self._ended = True
            raise step
        if isinstance(step, NoEnd):
            raise StopAsyncIteration
        self._ended = isinstance(step, Finish | ErrorEvent)
        self._puppet.ended_well = isinstance(step, Finish) and step.reason != "abort"
        return step


@dataclass
class PuppetApprover:
    """Waits for the test's word on each call."""

    pending: dict[str, anyio.Event] = field(default_factory=dict)
    words: dict[str, bool] = field(default_factory=dict)

    def say(self, call_id: str, *, allowed: bool) -> None:
        self.words[call_id] = allowed
        self.pending[call_id].set()

    async def approve(self, call: ToolCall, tool: Tool) -> Approval:
        answered = self.pending[call.id] = anyio.Event()
        try:
            await answered.wait()
        finally:
            del self.pending[call.id]
        return Approval(allowed=self.words[call.id], reason=None)


@dataclass
class PuppetTool:
    """Works until the test ends it, or gives its result at once; counts what runs."""

    name: str
    waits: bool = False
    timeout_s: float = 30.0
    effect: ToolEffect = "read"
    running: int = 0
    runs: int = 0
    ending: Callable[[], ToolOutput] = lambda: ToolOutput("done")
    _gates: list[anyio.Event] = field(default_factory=list)

    @property
    def schema(self) -> ToolSchema:
        return ToolSchema(name=self.name, parameters={"type": "object"})

    def end_all(self) -> None:
        for gate in self._gates:
            gate.set()
        self._gates.clear()

    async def run(self, args: JsonObject) -> ToolOutput:
        self.running += 1
        self.runs += 1
        try:
            if self.waits:
                self._gates.append(anyio.Event())
                await self._gates[-1].wait()
            return self.ending()
        finally:
            self.running -= 1


def calls_without_one_result(messages: Sequence[Message]) -> list[str]:
    """Give the ids of calls that are not followed by exactly one result each, in their order."""
    wrong: list[str] = []
    for position, message in enumerate(messages):
        wanted = [call.id for call in message.tool_calls]
        found = []
        for later in messages[position + 1 :]:
            if later.role != "tool":
                break
            found.append(later.tool_call_id)
        if wanted and found != wanted:
            wrong += wanted
    return wrong
