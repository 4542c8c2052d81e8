"""The command about MCP servers: /mcp."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Completion, command
from ollm_tui.commands.server_prompts import prompt_commands
from ollm_tui.config.origin import nearest
from ollm_tui.decode.clean import clean_name, spelled_line
from ollm_tui.decode.counted import counted

if TYPE_CHECKING:
    from ollm_tui.mcp.server import McpServer, ServerState

_LOG_LINES: Final = 20
_GIST: Final = 60
_MOST_PROMPTS: Final = 20
_ACTS: Final[Mapping[str, bool]] = {"restart": True, "on": True, "off": False}
_NONE: Final = (
    "The settings name no MCP servers. `ollm mcp add NAME -- COMMAND` in a shell adds one; start "
    "ollm again afterwards."
)
_STATES: Final[Mapping["ServerState", str]] = {
    "off": "off",
    "starting": "starting",
    "ready": "ready",
    "waiting": "stopped, starts again soon",
    "failed": "stopped",
}


def _choices(host: CommandHost, argument: str) -> Sequence[Completion]:
    servers, (name, blank, _) = host.servers(), argument.partition(" ")
    if not blank:
        return [Completion(one.name, _STATES[one.state]) for one in servers.values()]
    if name not in servers:
        return []
    return [
        Completion(f"{name} restart", "start it anew"),
        Completion(f"{name} off", "stop it until the app ends"),
    ]


@command(
    "mcp",
    usage="[NAME [restart | off]]",
    complete=_choices,
    is_offered=lambda host: bool(host.servers()),
)
async def show_servers(host: CommandHost, argument: str) -> None:
    """Show the MCP servers, or one; restart or stop one."""
    servers = host.servers()
    name, _, act = argument.strip().rpartition(" ")
    if act.casefold() not in _ACTS or not name:
        name, act = argument.strip(), ""
    server = servers.get(name.strip())
    if not servers:
        host.say(_NONE)
    elif not name:
        host.say("\n".join(_listing(list(servers.values()))))
    elif server is None:
        near = nearest(name, servers)
        hint = f"Did you mean {clean_name(near)}?" if near else f"Available: {_names(servers)}."
        host.say(f'No MCP server "{clean_name(name[:40])}". {hint}', "error")
    elif act:
        is_on = _ACTS[act.casefold()]
        server.switch(is_on=is_on)
        done = "starts anew" if is_on else "is off until the app ends, or until you restart it"
        host.say(f"The MCP server {clean_name(server.name)} {done}.")
    else:
        host.say("\n".join(_details(server)))


def _names(servers: Mapping[str, "McpServer"]) -> str:
    return ", ".join(map(clean_name, servers))


def _listing(servers: Sequence["McpServer"]) -> Iterator[str]:
    width = max(len(clean_name(one.name)) for one in servers)
    for server in servers:
        state = "sign in needed" if server.needs_sign_in else _STATES[server.state]
        if server.state == "ready":
            state = f"ready, {counted(len(server.listed.tools), 'tool')}"
        name = clean_name(server.name)
        yield f"{name:<{width}}  {state:<20}  {spelled_line(server.place)}".rstrip()
    yield "/mcp NAME shows the tools and the log of one; /mcp NAME restart starts it anew."


def _rights(server: "McpServer") -> Iterator[str]:
    """Write what it may ask for, as far as it may."""
    if server.rights.root is not None:
        yield f"It is told the working folder, {clean_name(str(server.rights.root))}."
    may = {"your model": server.rights.may_sample, "you": server.rights.may_elicit}
    if any(may.values()):
        asked = " and ".join(one for one, is_allowed in may.items() if is_allowed)
        yield f"It may ask {asked}; each request is a question."


def _offers(server: "McpServer") -> Iterator[str]:
    """Write the prompts and how many resources there are, with how they are used."""
    commands = [one.signature for one in prompt_commands({server.name: server})]
    if commands:
        more = f" and {len(commands) - _MOST_PROMPTS} more" if len(commands) > _MOST_PROMPTS else ""
        yield f"Prompts: {', '.join(commands[:_MOST_PROMPTS])}{more}"
    catalogue = server.catalogue
    counts = [
        counted(len(one), word)
        for one, word in ((catalogue.resources, "resource"), (catalogue.templates, "template"))
        if one
    ]
    if counts:
        yield f"{' and '.join(counts)}: type @{server.prefix}: in a message."


def _details(server: "McpServer") -> Iterator[str]:
    about = f" ({spelled_line(server.about)})" if server.about else ""
    state = "sign in needed" if server.needs_sign_in else _STATES[server.state]
    yield f"{clean_name(server.name)}: {state}{about}"
    yield f"It is {spelled_line(server.place) or 'not described in the settings'}"
    if server.problem:
        yield spelled_line(server.problem)
    yield from _rights(server)
    for tool in server.listed.tools:
        gist = spelled_line(tool.description)
        gist = gist if len(gist) <= _GIST else f"{gist[:_GIST]}…"
        yield f"  {clean_name(tool.name)}  {gist}".rstrip()
    yield from (f"  {spelled_line(reason)}" for reason in server.listed.refused)
    yield from _offers(server)
    lines = [line for line in server.log.tail(_LOG_LINES) if line.strip()]
    if lines:
        yield "The end of its log:"
        yield from (f"  {spelled_line(line)}" for line in lines)
