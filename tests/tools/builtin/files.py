"""Calling the file tools in tests, through the runner as a model does."""

from pathlib import Path

from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.tools.builtin import builtin_tools
from tests.support.tools import runner_for, tool_call


async def use(root: Path, name: str, **args: JsonValue) -> str:
    """Give what a call that works tells the model."""
    result = await runner_for(*builtin_tools(root)).run(tool_call(name, args))
    assert not result.is_error, result.content
    return result.content


async def fail(root: Path, name: str, **args: JsonValue) -> str:
    """Give what a call that does not work tells the model."""
    result = await runner_for(*builtin_tools(root)).run(tool_call(name, args))
    assert result.is_error
    return result.content
