"""Tools and approvers for tests."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from ollm_tui.decode.tool_calls import ToolCallAssembler, ToolCallDelta
from ollm_tui.protocol.json_types import JsonMapping, JsonObject
from ollm_tui.protocol.ports import Approver, Tool
from ollm_tui.protocol.tools import (
    Approval,
    ToolCall,
    ToolEffect,
    ToolOutput,
    ToolResult,
    ToolSchema,
)
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.runner import ToolRunner


@dataclass
class AllowAll:
    asked: list[ToolCall] = field(default_factory=list)

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


@dataclass
class Offered:
    """An offer whose calls, and no others, a test answers."""

    schemas: tuple[ToolSchema, ...]
    answer: Callable[[ToolCall], Awaitable[ToolResult]]

    async def run(self, call: ToolCall) -> ToolResult:
        if call.name in {schema.name for schema in self.schemas}:
            return await self.answer(call)
        return ToolResult(call_id=call.id, name=call.name, content="not offered", is_error=True)


class OfferingRunner:
    """A runner that runs what is asked of it as if all of its tools were on offer."""

    def __init__(self, tools: Sequence[Tool], approver: Approver) -> None:
        runner = ToolRunner(ToolRegistry(tools), approver)
        self.offer, self.result_of = runner.offer, runner.result_of
        self.run = runner.offer([tool.schema.name for tool in tools]).run


def runner_for(*tools: Tool, approver: Approver | None = None) -> OfferingRunner:
    """Give a runner with these tools on offer; without an approver all is allowed."""
    return OfferingRunner(tools, approver or AllowAll())


def tool_call(
    name: str = "scripted", args: JsonObject | None = None, *, id: str = "call_1"
) -> ToolCall:
    return ToolCall(id=id, name=name, args={} if args is None else args)


def feed_one(
    assembler: ToolCallAssembler,
    index: int | None,
    id: str | None,
    name: str | None,
    arguments: str | JsonObject | None,
    extra: JsonMapping | None = None,
) -> None:
    delta = ToolCallDelta(index=index, id=id, name=name, arguments=arguments, extra=extra or {})
    assembler.feed([delta])
