"""The command about MCP servers: /mcp."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Completion, command
from ollm_tui.commands.server_prompts import prompt_commands
from ollm_tui.config.origin import nearest
from ollm_tui.decode.clean import clean_name, spelled_line
from ollm_tui.decode.counted import counted
from ollm_tui.protocol.forms import FormField

if TYPE_CHECKING:
    from ollm_tui.mcp.server import McpServer, ServerState

_LOG_LINES: Final = 20
_GIST: Final = 60
_MAX_PROMPTS: Final = 20
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
        signing = [one for one in servers.values() if one.tokens is not None]
        is_sign_in = name.casefold() in _SIGN_INS
        return [Completion(f"{name} {one.name}", _state(one)) for one in signing if is_sign_in]
    acts = [
        Completion(f"{name} restart", "restart it"),
        Completion(f"{name} off", "stop it until the app ends"),
    ]
    if servers[name].tokens is not None:
        acts += [
            Completion(f"{name} login", "sign in, in the browser"),
            Completion(f"{name} logout", "sign out: remove its tokens from this machine"),
        ]
    return acts


@command(
    "mcp",
    usage="[NAME [restart | off | login | logout]]",
    complete=_choices,
    is_offered=lambda host: bool(host.servers()),
)
async def show_servers(host: CommandHost, argument: str) -> None:
    """Show the MCP servers; restart, stop or sign in to one."""
    servers = host.servers()
    name, act = _read(argument.strip(), servers)
    server = servers.get(name)
    if not servers:
        host.say(_NONE)
    elif not name:
        host.say("\n".join(_listing(list(servers.values()))))
    elif server is None:
        near = nearest(name, servers)
        hint = f"Did you mean {clean_name(near)}?" if near else f"Available: {_names(servers)}."
        host.say(f'No MCP server "{clean_name(name[:40])}". {hint}', "error")
    elif act in _SIGN_INS:
        await _SIGN_INS[act](host, server)
    elif act:
        is_on = _ACTS[act]
        server.switch(is_on=is_on)
        done = "restarts" if is_on else "is off until the app ends, or until you restart it"
        host.say(f"The MCP server {clean_name(server.name)} {done}.")
    else:
        host.say("\n".join(_details(server)))


def _read(words: str, servers: Mapping[str, "McpServer"]) -> tuple[str, str]:
    """Return the name of a server and what to do with it, which may stand before or after it."""
    first, _, rest = words.partition(" ")
    name, _, last = words.rpartition(" ")
    if words in servers:
        return words, ""
    if name and (act := last.casefold()) in {*_ACTS, *_SIGN_INS}:
        return name.strip(), act
    if rest and (act := first.casefold()) in {*_ACTS, *_SIGN_INS}:
        return rest.strip(), act
    return words, ""


async def _sign_in(host: CommandHost, server: "McpServer") -> None:
    """Begin a sign-in, or take the address where the browser of one ended."""
    name = clean_name(server.name)
    if why := _why_none(server):
        host.say(why, "error")
    elif not host.sign_ins.is_going(server.name):
        host.say(f"Asking {name} where you sign in. /mcp logout {name} gives it up.")
        host.sign_ins.begin(server)
    else:
        about = "It begins with http://127.0.0.1."
        fields = [FormField("address", title="Where the browser ended", about=about)]
        typed = await host.forms.ask(f"The sign-in to {name} waits for the browser", fields)
        if typed and not host.sign_ins.take(server.name, str(typed.get("address", ""))):
            host.say("This is not the address where the sign-in ended.", "error")


async def _sign_out(host: CommandHost, server: "McpServer") -> None:
    """Give a sign-in up, or forget one."""
    name = clean_name(server.name)
    if host.sign_ins.cancel(server.name):
        return
    if why := _why_none(server):
        host.say(why, "error")
    elif server.tokens is None or not await server.tokens.remove():
        host.say(f"You are not signed in to {name}.")
    else:
        server.switch(is_on=server.state != "off")
        host.say(f"Signed out of {name}: its tokens are removed from this machine.")


_SIGN_INS: Final[Mapping[str, Callable[[CommandHost, "McpServer"], Awaitable[None]]]] = {
    "login": _sign_in,
    "logout": _sign_out,
}


def _why_none(server: "McpServer") -> str:
    # what reads the keys is not needed before
    from ollm_tui.mcp.tokens import why_no_sign_in

    return why_no_sign_in(server.name, server.address)


def _names(servers: Mapping[str, "McpServer"]) -> str:
    return ", ".join(map(clean_name, servers))


def _state(server: "McpServer") -> str:
    if server.state == "ready":
        return f"ready, {counted(len(server.listed.tools), 'tool')}"
    return "sign in needed" if server.needs_sign_in else _STATES[server.state]


def _listing(servers: Sequence["McpServer"]) -> Iterator[str]:
    names = [clean_name(one.name) for one in servers]
    states = [_state(one) for one in servers]
    width, across = max(map(len, names)), max(map(len, states))
    for server, name, state in zip(servers, names, states, strict=True):
        yield f"{name:<{width}}  {state:<{across}}  {spelled_line(server.place)}".rstrip()
    yield "/mcp NAME shows the tools and the log of one; /mcp NAME restart restarts it."


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
        more = f" and {len(commands) - _MAX_PROMPTS} more" if len(commands) > _MAX_PROMPTS else ""
        yield f"Prompts: {', '.join(commands[:_MAX_PROMPTS])}{more}"
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
