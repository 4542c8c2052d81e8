"""`ollm mcp`: the MCP servers of the settings, listed, added, removed and tried."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import anyio

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.mcp.arguments import McpOptions
from ollm_tui.cli.mcp.login import login, logout
from ollm_tui.cli.mcp.review import report_problem, review
from ollm_tui.cli.model_actions import confirm
from ollm_tui.cli.output import ERROR, OK, Output, UsageError
from ollm_tui.cli.settings import load_for
from ollm_tui.cli.stop import stopping
from ollm_tui.config.complaints import complaint
from ollm_tui.config.edit import set_key, set_table
from ollm_tui.config.keys.stored_keys import CLIENT_SECRET, SIGN_IN, StoredKeys
from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.origin import dotted, nearest
from ollm_tui.config.paths import AppPaths, default_paths, expanded
from ollm_tui.config.regular_file import read_bounded, why_unreadable
from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.config.urls import split_web_url
from ollm_tui.decode.clean import clean_line, clean_name, spelled_line
from ollm_tui.decode.counted import counted
from ollm_tui.decode.redact import names_secret
from ollm_tui.mcp.other_clients import MAX_BYTES, TomlServer, read_servers
from ollm_tui.mcp.server import McpServer
from ollm_tui.mcp.settings import address_of, shown_address
from ollm_tui.runtime.tools.toolbox import configured_servers
from ollm_tui.sections.reading import read_section
from ollm_tui.sections.section import MistakesError

_TABLE: Final = "mcp_servers"
_MAX_NAME_LENGTH: Final = 64
_RIGHTS: Final = ("sampling", "elicitation", "roots", "start_timeout_s", "call_timeout_s")
_OF_ONE: Final = {"review": review, "login": login, "logout": logout}


def run_mcp(arguments: Arguments, output: Output) -> int:
    """Run one action."""
    paths = default_paths()
    loaded = load_for(paths, os.environ, arguments.flags, output)
    if arguments.action in _OF_ONE:
        name = _named(arguments.mcp.server, loaded)
        return anyio.run(_OF_ONE[arguments.action], name, arguments, loaded, paths, output)
    match arguments.action:
        case "add" if arguments.mcp.clients_file is not None:
            return _add_from(arguments.mcp.clients_file, arguments, loaded, output)
        case "add":
            return _add(arguments.mcp, loaded, output)
        case "rm":
            return _remove(_named(arguments.mcp.server, loaded), loaded, paths, output)
        case "test":
            return anyio.run(_test, arguments.mcp.server, loaded, paths, output)
    return _list(loaded.config.mcp_servers, arguments, output)


def _list(servers: Mapping[str, McpServerSettings], arguments: Arguments, output: Output) -> int:
    if arguments.as_json:
        output.json(
            [
                {"name": name, "enabled": one.enabled, "place": _place(one)}
                for name, one in servers.items()
            ]
        )
    elif servers:
        rows = [
            (clean_name(name), "on" if one.enabled else "off", clean_line(_place(one)))
            for name, one in servers.items()
        ]
        output.table(("NAME", "STATE", "SERVER"), rows)
    else:
        output.note("The settings name no MCP servers. To add one: ollm mcp add NAME -- COMMAND")
    return OK


def _place(settings: McpServerSettings) -> str:
    address = address_of(settings)
    return shown_address(address) if address is not None else "neither `command` nor `url`"


def _add(options: McpOptions, loaded: LoadedConfig, output: Output) -> int:
    name = options.server
    if name is None:
        raise UsageError("A server needs a name.", "Try: ollm mcp add NAME -- COMMAND")
    table = _typed(options)
    _write(name, table, loaded)
    output.note(f"Added {clean_name(name)} to {loaded.path}: {clean_line(_words(table))}")
    output.note(f"To try it: ollm mcp test {shlex.quote(name)}")
    return OK


def _typed(options: McpOptions) -> TomlServer:
    if bool(options.program) == bool(options.url):
        raise UsageError(
            "A server needs either a command or an address.",
            "Try: ollm mcp add NAME -- COMMAND, or ollm mcp add NAME --url URL",
        )
    table: TomlServer = {}
    if options.url:
        if split_web_url(options.url) is None:
            raise UsageError("--url takes an address such as https://mcp.example.com/mcp.")
        table["url"] = options.url
    else:
        table["command"] = options.program[0]
        if options.program[1:]:
            table["args"] = list(options.program[1:])
    if options.folder is not None:
        table["cwd"] = str(expanded(options.folder).absolute())
    if options.env:
        table["env"] = dict(_pair(one, "=", "--env") for one in options.env)
    if options.header:
        table["headers"] = dict(_pair(one, ":", "--header") for one in options.header)
    return {**table, **_rights(options)}


def _rights(options: McpOptions) -> TomlServer:
    """Return what was typed of what the server may do, and how one signs in to it."""
    typed = {name: getattr(options, name) for name in _RIGHTS}
    table: TomlServer = {name: value for name, value in typed.items() if value is not None}
    oauth = {"client_id": options.client_id, "callback_port": options.callback_port}
    client = {name: value for name, value in oauth.items() if value is not None}
    if client and not options.url:
        raise UsageError("--client-id and --callback-port are for a server with --url.")
    if client:
        table["oauth"] = client
    try:
        read_section(McpServerSettings, table)
    except MistakesError as error:
        mistake = error.mistakes[0]
        option = str(mistake["loc"][-1]).removesuffix("_s").replace("_", "-")
        raise UsageError(f"--{option} {complaint(mistake)}.") from error
    return table


def _pair(text: str, mark: str, option: str) -> tuple[str, str]:
    name, found_mark, value = text.partition(mark)
    if not found_mark or not name.strip():
        raise UsageError(f"{option} takes NAME{mark}VALUE.")
    return name.strip(), value.strip() if mark == ":" else value


def _add_from(file: Path, arguments: Arguments, loaded: LoadedConfig, output: Output) -> int:
    try:
        foreign = read_servers(read_bounded(expanded(file), MAX_BYTES))
    except (OSError, ValueError) as error:
        output.error(f"{file} cannot be read: {why_unreadable(error)}.")
        return ERROR
    for problem in foreign.problems:
        output.note(problem)
    wanted = {
        name: table
        for name, table in foreign.servers.items()
        if arguments.mcp.server in (None, name)
    }
    known = [name for name in wanted if name in loaded.config.mcp_servers]
    for name in known:
        output.note(f"{clean_name(name)} is in the settings already, and stays as it is.")
        del wanted[name]
    if not wanted:
        output.error("There is no server to add.")
        return ERROR
    for name, table in wanted.items():
        output.note(f"{clean_name(name)}: {clean_line(_words(table))}")
        _warn_of_secrets(name, table, output)
    question = f"Add {counted(len(wanted), 'server')}, which can do what you can do?"
    if not arguments.yes and not confirm(question, output):
        return ERROR
    for name, table in wanted.items():
        _write(name, table, loaded)
    output.note(f"Added {counted(len(wanted), 'server')} to {loaded.path}.")
    return OK


def _warn_of_secrets(name: str, table: TomlServer, output: Output) -> None:
    for key in ("env", "headers"):
        entries = table.get(key)
        literal = [
            variable
            for variable, value in (entries.items() if isinstance(entries, dict) else ())
            if "${" not in value and (key == "headers" or names_secret(variable))
        ]
        if literal:
            names = clean_line(", ".join(literal))
            output.note(
                f"{clean_name(name)}: the values of {names} will be in the settings file. "
                '"${NAME}" there takes a variable of the environment instead.'
            )


def _words(table: TomlServer) -> str:
    """Return the whole command or the address, with the names of what is given to it."""
    if isinstance(url := table.get("url"), str):
        words = url
    else:
        args = table.get("args")
        words = shlex.join([str(table["command"]), *(args if isinstance(args, list) else [])])
    for key, label in (("env", "with"), ("headers", "with the headers")):
        if isinstance(entries := table.get(key), dict):
            words += f" {label} {', '.join(entries)}"
    return words


def _write(name: str, table: TomlServer, loaded: LoadedConfig) -> None:
    if not (name.isprintable() and name == name.strip() and 0 < len(name) <= _MAX_NAME_LENGTH):
        raise UsageError(
            f"A name has 1 to {_MAX_NAME_LENGTH} characters without blanks around them."
        )
    if name in loaded.config.mcp_servers:
        raise UsageError(
            f"There is a server {clean_name(name)} already.",
            f"`ollm mcp rm {shlex.quote(name)}` removes it.",
        )
    set_table(loaded.path, (_TABLE, name), table)


def _remove(name: str, loaded: LoadedConfig, paths: AppPaths, output: Output) -> int:
    key = dotted((_TABLE, name))
    set_key(loaded.path, key, None)
    for kind in (SIGN_IN, CLIENT_SECRET):
        StoredKeys(paths.data_dir).remove(f"{kind}{name}")
    output.note(f"Removed {clean_name(name)} from {loaded.path}.")
    return OK


def _named(name: str | None, loaded: LoadedConfig) -> str:
    servers = loaded.config.mcp_servers
    if name is None or name not in servers:
        near = nearest(name or "", servers)
        hint = f"Did you mean {clean_name(near)}?" if near else "`ollm mcp list` lists them."
        raise UsageError(f"There is no MCP server {clean_name(name or '')}.", hint)
    return name


async def _test(name: str | None, loaded: LoadedConfig, paths: AppPaths, output: Output) -> int:
    servers = loaded.config.mcp_servers
    chosen = [_named(name, loaded)] if name else [n for n, one in servers.items() if one.enabled]
    if not chosen:
        output.note("No MCP server is on.")
        return OK
    settings = {one: servers[one].changed(enabled=True) for one in chosen}
    with stopping() as stop:
        async with configured_servers(settings, paths) as running:
            running.start()
            await running.settled(chosen)
            for server in running.all.values():
                _report(server, output)
            states = {server.state for server in running.all.values()}
        return OK if states == {"ready"} else ERROR
    return stop.exit_code


def _report(server: McpServer, output: Output) -> None:
    name = clean_name(server.name)
    if server.state == "ready":
        tools = counted(len(server.listed.tools), "tool")
        output.line(f"{name}: ready, {tools} ({spelled_line(server.about)})")
        for tool in server.listed.tools:
            output.line(f"  {clean_name(tool.name)}")
    else:
        report_problem(server, output)
    for reason in server.listed.refused:
        output.note(f"  {spelled_line(reason)}")
