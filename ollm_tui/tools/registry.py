"""The tools there are, by name; which of them a prompt offers is said with each prompt."""

from collections.abc import Collection, Iterable

from ollm_tui.protocol.ports import Tool
from ollm_tui.tools.define import EVERY_TOOL, is_tool_name


class ToolRegistry:
    """Keeps tools in the order they came; a later one never takes an earlier one's name."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool) -> None:
        """Add a tool.

        Raises:
            ValueError: the name is taken, but for its case, or no backend would take it.
        """
        name = tool.schema.name
        if name.casefold() == EVERY_TOOL:
            raise ValueError(f"{name!r} cannot name a tool: it stands for every tool")
        if not is_tool_name(name):
            raise ValueError(
                f"{name!r} cannot name a tool: use 1 to 64 letters, digits, _ and -, no digit first"
            )
        # Models mix up names that differ in case only, and an approval would mean the wrong one.
        if any(known.casefold() == name.casefold() for known in self._tools):
            raise ValueError(f"there is a tool named {name} already")
        self._tools[name] = tool

    def get(self, name: str) -> Tool | None:
        """Give the tool of exactly this name."""
        return self._tools.get(name)

    def list(self) -> tuple[Tool, ...]:
        """Give every tool."""
        return tuple(self._tools.values())

    def named(self, names: Collection[str]) -> tuple[Tool, ...]:
        """Give the tools of these names, in the order they came; unknown names are left out."""
        return tuple(tool for name, tool in self._tools.items() if name in names)
