"""Four tools of one turn against one tool, through the whole chat client.

    python -m benchmarks.tools [ROUNDS]

Each tool waits 200 ms. In each round a turn with one call and a turn with four are timed, one
after the other; the figures are of the best rounds, since a busy machine only adds.
"""

import sys
import time

import anyio

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.protocol.chat_events import Finish as ChatFinish
from ollm_tui.protocol.chat_events import ToolCallResult
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.ports import ProviderStream
from ollm_tui.protocol.provider_events import Finish, TextDelta, ToolCallEvent
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.tools import ToolCall, ToolOutput
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from tests.support.providers import ScriptedProvider
from tests.support.tools import ScriptedTool, runner_for

ROUNDS = 5
TOOL_S = 0.2
LIMIT = 1.5


class AsksThenAnswers(ScriptedProvider):
    """Asks for so many calls in the first turn and answers in the second."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self._calls = calls

    def chat_stream(self, request: Request) -> ProviderStream:
        if self.requests:
            self.script = (TextDelta("Done."), Finish("stop"))
        else:
            calls = (ToolCall(id=f"c{n}", name="wait", args={}) for n in range(self._calls))
            self.script = (*map(ToolCallEvent, calls), Finish("tool_calls"))
        return super().chat_stream(request)


async def wait(_args: JsonObject) -> ToolOutput:
    await anyio.sleep(TOOL_S)
    return ToolOutput("waited")


async def seconds_for(calls: int) -> float:
    """Time one prompt whose first turn asks for so many calls."""
    registry = ProviderRegistry()
    registry.register(AsksThenAnswers(calls))
    parts = ChatParts(
        router=Router(registry, ModelCatalog(registry)),
        tools=runner_for(ScriptedTool("wait", wait)),
    )
    client = ChatClient(parts, Conversation(model="scripted://m", tools=("wait",)))
    began = time.perf_counter()
    async with client.chat("go") as events:
        seen = [event async for event in events]
    took = time.perf_counter() - began
    results = [event.result for event in seen if isinstance(event, ToolCallResult)]
    if not isinstance(seen[-1], ChatFinish) or [r.content for r in results] != ["waited"] * calls:
        raise SystemExit(f"the prompt went wrong: {seen[-1]}")
    return took


async def measure(rounds: int) -> tuple[float, float]:
    """Return the best times of one call and of four."""
    await seconds_for(1)
    pairs = [(await seconds_for(1), await seconds_for(4)) for _ in range(rounds)]
    return min(one for one, _ in pairs), min(four for _, four in pairs)


def main() -> int:
    """Time both, print the figures, and fail when four take too long."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    one, four = anyio.run(measure, rounds)
    print(f"one tool of {TOOL_S * 1000:.0f} ms: {one * 1000:.1f} ms a prompt")
    print(f"four in one turn:  {four * 1000:.1f} ms, {four / one:.2f} times one (limit {LIMIT})")
    return 0 if four <= LIMIT * one else 1


if __name__ == "__main__":
    sys.exit(main())
