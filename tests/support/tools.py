"""Tools and approvers for tests."""

from collections.abc import Awaitable, Callable, Collection, Sequence

from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.ports import Approver, Tool
from ollm_tui.protocol.tools import (
    Approval,
    ToolCall,
    ToolEffect,
    ToolOutput,
    ToolResult,
    ToolSchema,
)
from ollm_tui.tools.runner import ToolOffer, ToolRegistry, ToolRunner


class AllowAll:
    """Allows every call and remembers them."""

    def __init__(self) -> None:
        self.asked: list[ToolCall] = []

    async def approve(self, call: ToolCall, tool: Tool) -> Approval:
        self.asked.append(call)
        return Approval(allowed=True)


async def say_done(_args: JsonObject) -> ToolOutput:
    return ToolOutput("done")


class ScriptedTool:
    """A tool that does what a test says, and counts."""

    def __init__(
        self,
        name: str = "scripted",
        work: Callable[[JsonObject], Awaitable[ToolOutput]] = say_done,
        *,
        effect: ToolEffect = "read",
        timeout_s: float = 30.0,
        parameters: JsonObject | None = None,
    ) -> None:
        self.schema = ToolSchema(name=name, parameters=parameters or {"type": "object"})
        self.effect: ToolEffect = effect
        self.timeout_s = timeout_s
        self.calls: list[JsonObject] = []
        self._work = work

    async def run(self, args: JsonObject) -> ToolOutput:
        self.calls.append(args)
        return await self._work(args)


class Offered:
    """An offer whose calls, and no others, a test answers."""

    def __init__(
        self, schemas: Sequence[ToolSchema], answer: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> None:
        self.schemas = tuple(schemas)
        self._answer = answer

    async def run(self, call: ToolCall) -> ToolResult:
        if call.name in {schema.name for schema in self.schemas}:
            return await self._answer(call)
        return ToolResult(call_id=call.id, name=call.name, content="not offered", is_error=True)


class OfferingRunner:
    """A runner that runs what is asked of it as if all of its tools were on offer."""

    def __init__(self, tools: Sequence[Tool], approver: Approver) -> None:
        self._runner = ToolRunner(ToolRegistry(tools), approver)
        self._offer = self._runner.offer([tool.schema.name for tool in tools])

    def offer(self, names: Collection[str]) -> ToolOffer:
        return self._runner.offer(names)

    async def run(self, call: ToolCall) -> ToolResult:
        return await self._offer.run(call)

    def result_of(self, call_id: str) -> ToolResult | None:
        return self._runner.result_of(call_id)


def runner_for(*tools: Tool, approver: Approver | None = None) -> OfferingRunner:
    """Give a runner with these tools on offer; without an approver all is allowed."""
    return OfferingRunner(tools, approver or AllowAll())


def tool_call(
    name: str = "scripted", args: JsonObject | None = None, *, id: str = "call_1"
) -> ToolCall:
    return ToolCall(id=id, name=name, args={} if args is None else args)
