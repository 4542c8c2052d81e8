"""Approvers that answer by a rule and ask nobody."""

from collections.abc import Collection, Mapping
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


class NamedTools:
    """Allows the tools that were named with an option and only read; refuses the rest.

    A chat or the settings may offer more tools. In the app each call of them asks, so where there
    is nobody to ask, offering a tool does not allow it.
    """

    def __init__(self, names: Collection[str], option: str) -> None:
        self._names = frozenset(names)
        self._option = option

    async def approve(self, call: ToolCall, tool: Tool) -> Approval:
        """Answer at once, by the tool's effect and name."""
        if tool.effect == "read" and call.name not in self._names:
            return Approval(
                allowed=False,
                reason=(
                    f"{call.name} needs approval, and there is no terminal for approval. "
                    f"Use {self._option} {call.name} to allow it."
                ),
            )
        return await ReadOnly().approve(call, tool)
