"""`ollm mcp review`: what a server says of its tools, read outside a chat."""

from collections.abc import Iterator
from typing import Final

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_actions import confirm
from ollm_tui.cli.output import ERROR, OK, Output
from ollm_tui.cli.stop import stopping
from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.paths import AppPaths
from ollm_tui.decode.clean import clean_name, spelled_line
from ollm_tui.decode.counted import counted
from ollm_tui.mcp.known_tools import KnownTools, difference
from ollm_tui.mcp.listing import ToolDefinition
from ollm_tui.mcp.server import McpServer
from ollm_tui.runtime.tools.toolbox import configured_servers

_LOG_LINES: Final = 5


async def review(
    name: str, arguments: Arguments, loaded: LoadedConfig, paths: AppPaths, output: Output
) -> int:
    """Show each new or changed description in full, and keep that it was read after a yes."""
    settings = loaded.config.mcp_servers[name].changed(enabled=True)
    with stopping() as stop:
        async with configured_servers({name: settings}, paths) as servers:
            servers.start()
            await servers.settled([name])
            return await _review(servers.all[name], servers.known, arguments, output)
    return stop.exit_code


async def _review(
    server: McpServer, known: KnownTools, arguments: Arguments, output: Output
) -> int:
    name = clean_name(server.name)
    if server.state != "ready":
        report_problem(server, output)
        return ERROR
    unread = list(_unread(server, known))
    if not unread:
        output.note(f"You have read all that {name} says of its tools.")
        return OK
    for tool, before in unread:
        text = tool.text if before is None else difference(before, tool)
        state = "new" if before is None else "changed"
        output.line(f"{clean_name(tool.name)} ({state})")
        for line in text.split("\n"):
            output.line(f"  {clean_name(line)}".rstrip())
        output.line("")
    many = counted(len(unread), "description")
    if not arguments.yes and not confirm(f"Keep that you have read {many}?", output):
        return ERROR
    await known.keep(server.name, server.identity, *(tool for tool, _ in unread))
    output.note(f"Kept. `ollm -p` can use the tools of {name} that --allow names.")
    return OK


def _unread(
    server: McpServer, known: KnownTools
) -> Iterator[tuple[ToolDefinition, ToolDefinition | None]]:
    """Yield each tool that is not known as it is, with what it was when it was read."""
    for tool in server.listed.tools:
        before = known.of(server.name, server.identity, tool.name)
        if before is None or before.fingerprint != tool.fingerprint:
            yield tool, before


def report_problem(server: McpServer, output: Output) -> None:
    """Say why a server is not ready, with the end of its log."""
    output.error(f"{clean_name(server.name)}: {spelled_line(server.problem)}")
    lines = server.log.tail(_LOG_LINES)
    if lines[-1:] == [server.problem]:
        del lines[-1]
    for line in lines:
        output.note(f"  {spelled_line(line)}")
