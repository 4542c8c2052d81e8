"""The tools there are, by name, and which of them are switched on."""

from collections.abc import Collection, Iterable, Sequence

from ollm_tui.protocol.ports import Tool
from ollm_tui.protocol.tools import ToolSchema
from ollm_tui.tools.define import is_tool_name


class ToolRegistry:
    """Keeps tools in the order they came; a later one never takes an earlier one's name."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._enabled: set[str] = set()
        for tool in tools:
            self.register(tool)

    @property
    def enabled(self) -> frozenset[str]:
        """The names of the tools that are switched on."""
        return frozenset(self._enabled)

    def register(self, tool: Tool, *, enabled: bool = True) -> None:
        """Add a tool.

        Raises:
            ValueError: the name is taken, but for its case, or no backend would take it.
        """
        name = tool.schema.name
        if not is_tool_name(name):
            raise ValueError(
                f"{name!r} cannot name a tool: use 1 to 64 letters, digits, _ and -, no digit first"
            )
        # Models mix up names that differ in case only, and an approval would mean the wrong one.
        if any(known.casefold() == name.casefold() for known in self._tools):
            raise ValueError(f"there is a tool named {name} already")
        self._tools[name] = tool
        if enabled:
            self._enabled.add(name)

    def get(self, name: str) -> Tool | None:
        """Give the tool of exactly this name, switched on or not."""
        return self._tools.get(name)

    def list(self) -> tuple[Tool, ...]:
        """Give every tool, switched on or not."""
        return tuple(self._tools.values())

    def enable(self, names: Collection[str]) -> None:
        """Switch on these tools and no others.

        Raises:
            ValueError: there is no tool of one of the names.
        """
        unknown = [name for name in names if name not in self._tools]
        if unknown:
            raise ValueError(
                f"there is no tool named {', '.join(unknown)}; there are: {', '.join(self._tools)}"
            )
        self._enabled = set(names)

    def schemas(self, names: Sequence[str] | None = None) -> tuple[ToolSchema, ...]:
        """Give what is offered to a model: the tools switched on, or those of them named."""
        return tuple(
            tool.schema
            for name, tool in self._tools.items()
            if name in self._enabled and (names is None or name in names)
        )
