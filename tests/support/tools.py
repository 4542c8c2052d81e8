"""Tools and approvers for tests."""

from collections.abc import Awaitable, Callable

from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.ports import Tool
from ollm_tui.protocol.tools import Approval, ToolCall, ToolEffect, ToolOutput, ToolSchema
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.runner import ToolRunner


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


def runner_for(*tools: Tool) -> ToolRunner:
    """Give a runner that allows everything."""
    return ToolRunner(ToolRegistry(tools), AllowAll())


def tool_call(
    name: str = "scripted", args: JsonObject | None = None, *, id: str = "call_1"
) -> ToolCall:
    return ToolCall(id=id, name=name, args={} if args is None else args)
