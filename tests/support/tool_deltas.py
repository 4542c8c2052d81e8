"""Deltas of tool calls, one at a time."""

from ollm_tui.decode.tool_calls import ToolCallAssembler, ToolCallDelta
from ollm_tui.protocol.json_types import JsonMapping, JsonObject


def feed_one(
    assembler: ToolCallAssembler,
    index: int | None,
    id: str | None,
    name: str | None,
    arguments: str | JsonObject | None,
    extra: JsonMapping | None = None,
) -> None:
    """Feed a single delta."""
    delta = ToolCallDelta(index=index, id=id, name=name, arguments=arguments, extra=extra or {})
    assembler.feed([delta])
