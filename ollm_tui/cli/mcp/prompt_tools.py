"""The tools of one prompt on the command line: those that only read, and those that may act."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ollm_tui.cli.allowing import Allowed
from ollm_tui.cli.output import NeedsApproval, Output, UsageError
from ollm_tui.config.flags import Flags
from ollm_tui.config.origin import nearest
from ollm_tui.frontend.tool_text import missing_tools
from ollm_tui.protocol.tools import includes
from ollm_tui.runtime.tools.served import ServedTools, ToolServers
from ollm_tui.runtime.tools.toolbox import OfferedTool

if TYPE_CHECKING:
    from ollm_tui.chat.conversation import Conversation
    from ollm_tui.runtime.compose import Runtime

_MAX_LISTED = 5


class PromptTools:
    """Decides what a prompt offers, and starts the MCP servers that it needs."""

    def __init__(self, runtime: "Runtime", flags: Flags, output: Output) -> None:
        self._flags, self._output = flags, output
        self._may_act = Allowed.of(flags.allow)
        self._servers = ToolServers(runtime.mcp)
        self._groups = tuple(runtime.mcp.groups) if runtime.mcp is not None else ()
        self._runtime = runtime
        self._enabled = runtime.config.tools.enabled
        self._of_servers = self._servers.named(flags.tools or ())

    @cached_property
    def _offered(self) -> Sequence[OfferedTool]:
        return self._runtime.offered_tools()

    def start(self) -> None:
        """Start the servers whose tools may run.

        Raises:
            NeedsApproval: `--tools` names one of a server that `--allow` does not name.
        """
        for name in self._of_servers:
            if not includes(self._may_act.tools, name):
                raise _needs_approval(name)
        self._servers.start(self._of_servers)

    async def choose(self, conversation: "Conversation") -> tuple[str, ...]:
        """Return the tools of the prompt, and say which of the chat are left out.

        Raises:
            UsageError: there is no tool of a name.
            NeedsApproval: a tool does more than read, or nobody has read its description.
        """
        allowed = self._allowed()
        if self._flags.tools is not None:
            conversation.tools = (*allowed, *self._of_servers)
        elif (on := conversation.tools) and (line := _tools_note(on, allowed, self._offered)):
            self._output.note(line)
        served = await self._servers.offered(self._of_servers)
        for problem in served.problems:
            self._output.note(problem)
        self._check(served)
        return (*allowed, *served.names)

    def _allowed(self) -> tuple[str, ...]:
        """Return the tools that the command line names, else the enabled ones that only read."""
        named = self._flags.tools
        if named is not None:
            own = [name for name in named if name not in self._of_servers]
            if not own:
                return ()
            further = (*(tool.name for tool in self._runtime.tools_off()), *self._groups)
            return allowed_tools(own, self._offered, self._may_act, further)
        if not self._enabled:
            return ()
        reading = (tool.name for tool in self._offered if tool.effect == "read")
        return tuple(name for name in reading if name in self._enabled or "all" in self._enabled)

    def _check(self, served: ServedTools) -> None:
        """Refuse a tool that was named and cannot run; say which others of a server cannot."""
        unread = dict(served.unread)
        for name in self._of_servers:
            if name in unread:
                raise NeedsApproval(f"{name} is not run. {unread[name]}", "")
            if name not in (*self._groups, *served.names) and not served.problems:
                raise UsageError(f"There is no tool {name!r}.", _meant(name, served.names))
        if unread and not served.names and not served.problems:
            raise NeedsApproval(next(iter(unread.values())), "")
        for sentence in list(unread.values())[:_MAX_LISTED]:
            self._output.note(sentence)
        if (more := len(unread) - _MAX_LISTED) > 0:
            self._output.note(f"The same holds for {more} more.")


def _tools_note(
    enabled: Sequence[str], allowed: Sequence[str], offered: Sequence[OfferedTool]
) -> str | None:
    """Return a note on tools of a chat that are off here, where no call can be approved."""
    names = {tool.name for tool in offered}.difference(allowed)
    if left_out := [name for name in enabled if name in names]:
        return f"Tools are off: {', '.join(left_out)}. Use --tools to allow those that read."
    return missing_tools(enabled, lambda: offered)


def allowed_tools(
    names: Sequence[str],
    offered: Sequence[OfferedTool],
    may_act: Allowed | None = None,
    further: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return the tools of these names; an error unless all exist, and only read or may act.

    `further` are names that could be given, too.
    """
    acting = may_act.names if may_act is not None else ()
    known = {tool.name: tool for tool in offered}
    wanted = tuple(known) if "all" in names else tuple(dict.fromkeys(names))
    for name in wanted:
        if name not in known:
            raise UsageError(f"There is no tool {name!r}.", _meant(name, (*known, *further)))
        if known[name].effect != "read" and name not in acting:
            raise _needs_approval(name)
    return wanted


def _meant(name: str, known: Sequence[str]) -> str:
    near = nearest(name, known)
    return f"Did you mean {near}?" if near else f"Available: {', '.join(known) or 'none'}."


def _needs_approval(name: str) -> NeedsApproval:
    quoted = f"'{name}'" if "*" in name else name
    return NeedsApproval(
        f"{name} does more than read, and there is no terminal for approval. "
        f"--allow {quoted} allows it."
    )
