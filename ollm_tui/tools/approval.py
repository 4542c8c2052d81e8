"""Approvers that answer by a rule and ask nobody."""

from collections.abc import Mapping
from types import MappingProxyType

from ollm_tui.protocol.ports import Tool
from ollm_tui.protocol.tools import Approval, ToolCall, ToolEffect

_EFFECTS: Mapping[ToolEffect, str] = MappingProxyType(
    {
        "write": "change files",
        "run": "run programs",
        "network": "use the network",
    }
)


class ReadOnly:
    """Allows what only reads; refuses the rest and says what it would have done."""

    async def approve(self, call: ToolCall, tool: Tool) -> Approval:
        """Answer at once, by the tool's effect."""
        if tool.effect == "read":
            return Approval(allowed=True)
        would = _EFFECTS.get(tool.effect, tool.effect)
        return Approval(
            allowed=False,
            reason=f"{call.name} could {would}, and only tools that read are allowed here.",
        )
