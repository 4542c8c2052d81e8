"""The tools that a model may be given, by their names."""

from collections.abc import Callable, Collection, Iterable
from threading import RLock

from ollm_tui.protocol.ports import Tool
from ollm_tui.protocol.tools import includes
from ollm_tui.tools.define import EVERY_TOOL, is_tool_name


class ToolRegistry:
    """The tools by name, in the order of their registration; a name is never replaced."""

    def __init__(
        self, tools: Iterable[Tool] = (), *, make: Callable[[], Iterable[Tool]] | None = None
    ) -> None:
        """Hold these tools, and those that `make` returns when a tool is first asked for."""
        self._held: dict[str, Tool] = {}
        self._make = make
        self._making = RLock()
        self.further: Callable[[], Iterable[Tool]] = lambda: ()
        """The tools of servers, which come and go."""
        self.groups: Collection[str] = ()
        """What stands for all tools of each server: `time__*`."""
        self.offers_groups = True
        """Whether new chats offer them although no setting names them."""
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool) -> None:
        """Add a tool.

        Raises:
            ValueError: the name is taken, ignoring case, or some backend would refuse it.
        """
        name = tool.schema.name
        if name.casefold() == EVERY_TOOL:
            raise ValueError(f"{name!r} cannot name a tool: it stands for every tool")
        if not is_tool_name(name):
            raise ValueError(
                f"{name!r} cannot name a tool: use 1 to 64 letters, digits, _ and -, no digit first"
            )
        # Models mix up names that differ only in case, and an approval would be for the wrong one.
        if any(known.casefold() == name.casefold() for known in self._known()):
            raise ValueError(f"there is a tool named {name} already")
        self._held[name] = tool

    def _known(self) -> dict[str, Tool]:
        """Return the tools by name, made by now."""
        with self._making:
            if (make := self._make) is not None:
                made = make()
                self._make = None
                for tool in made:
                    self.register(tool)
        return self._held

    def get(self, name: str) -> Tool | None:
        """Return the tool with exactly this name, or None."""
        return self._known().get(name) or next(
            (tool for tool in self.list() if tool.schema.name == name), None
        )

    def list(self) -> tuple[Tool, ...]:
        """Return every tool; one of a server never takes the place of another."""
        taken = {name.casefold() for name in self._known()}
        further = (tool for tool in self.further() if tool.schema.name.casefold() not in taken)
        return (*self._known().values(), *further)

    def named(self, names: Collection[str]) -> tuple[Tool, ...]:
        """Return the tools with these names, in registration order; unknown names are ignored.

        A name may stand for all tools of a server: see `protocol/tools.py: includes`. A tool that
        belongs to another one comes with it.
        """
        return tuple(
            tool
            for tool in (self.list() if names else ())
            if includes(names, tool.schema.name) or getattr(tool, "belongs_to", None) in names
        )

    def chosen(self, wanted: Collection[str], *, with_groups: bool) -> tuple[str, ...]:
        """Return those of the wanted names that exist; all servers belong to `EVERY_TOOL`."""
        takes_all = EVERY_TOOL in wanted
        names = [
            name
            for name in (self._known() if takes_all else wanted)
            if name not in self.missing([name])
        ]
        names += self.groups if takes_all or (with_groups and self.offers_groups) else ()
        return tuple(dict.fromkeys(names))

    def missing(self, wanted: Collection[str]) -> tuple[str, ...]:
        """Return those of the wanted names that do not exist; tools of a server may come yet."""
        if not wanted:
            return ()
        known = {*self._known(), *self.groups, EVERY_TOOL}
        return tuple(
            name for name in wanted if name not in known and not includes(self.groups, name)
        )
