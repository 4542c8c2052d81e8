"""Calls of tools that act, answered by a person of a script."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.ports import Tool
from ollm_tui.protocol.tools import Approval, CallPreview, ToolCall, ToolResult
from ollm_tui.tools.builtin.guard import FileGuard
from ollm_tui.tools.prepared import preview_of
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.runner import ToolRunner
from ollm_tui.tools.writing.file_tools import writing_tools
from ollm_tui.tools.writing.journal import ChangeJournal


@dataclass
class Person:
    """Answers every question alike, and keeps what each one showed."""

    allows: bool = True
    before_answer: Callable[[], None] = lambda: None
    previews: list[CallPreview] = field(default_factory=list)

    async def approve(self, call: ToolCall, tool: Tool) -> Approval:
        preview = preview_of(tool)
        assert preview is not None
        self.previews.append(preview)
        self.before_answer()
        return Approval(self.allows, None if self.allows else "Not today.")

    @property
    def diff(self) -> str:
        ((_heading, text),) = self.previews[-1].parts
        return text


class Desk:
    """A folder that a model works in."""

    def __init__(
        self, root: Path, person: Person | None = None, journal: ChangeJournal | None = None
    ) -> None:
        self.root, self.person = root, person or Person()
        self.journal = journal or ChangeJournal()
        tools = writing_tools(root, FileGuard())
        self._runner = ToolRunner(ToolRegistry(tools), self.person, changes=self.journal)
        self._names = [tool.schema.name for tool in tools]
        self._numbers = count(1)
        self.new_prompt()

    def new_prompt(self) -> None:
        self._offer = self._runner.offer(self._names)

    async def call(self, name: str, **args: JsonValue) -> ToolResult:
        call = ToolCall(id=f"c{next(self._numbers)}", name=name, args=dict(args))
        return await self._offer.run(call)

    async def done(self, name: str, **args: JsonValue) -> ToolResult:
        result = await self.call(name, **args)
        assert result.outcome == "done", result.content
        return result

    async def failure(self, name: str, **args: JsonValue) -> str:
        result = await self.call(name, **args)
        assert result.outcome == "failed", result.content
        return result.content
