"""`ollm mcp` as the command line takes it."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ollm_tui.cli.models_arguments import add_command, typed_fields
from ollm_tui.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class McpOptions:
    """What the actions of `ollm mcp` take."""

    server: str | None = None
    """The name of a server."""
    program: tuple[str, ...] = ()
    """The program of a new server, with its arguments."""
    url: str | None = None
    """The address of a new server."""
    env: tuple[str, ...] = ()
    """Variables of its environment, as `NAME=VALUE`."""
    header: tuple[str, ...] = ()
    """Headers of every request, as `NAME: VALUE`."""
    folder: Path | None = None
    """The folder in which it runs."""
    sampling: bool | None = None
    """Whether it may ask the model of the chat."""
    elicitation: bool | None = None
    """Whether it may ask the user."""
    roots: bool | None = None
    """Whether it is told the working folder."""
    start_timeout_s: float | None = None
    """Seconds to wait until it has started."""
    call_timeout_s: float | None = None
    """Time limit for one call, in seconds."""
    client_id: str | None = None
    """The id under which its authorization server knows ollm."""
    callback_port: int | None = None
    """Where the browser comes back to after a sign-in."""
    client_secret: bool = False
    """Whether to ask for the secret of that client."""
    clients_file: Path | None = None
    """A file of another client, whose servers are added."""


def add_mcp(commands: "argparse._SubParsersAction[Any]", shared: argparse.ArgumentParser) -> None:
    """Add `mcp` and its actions."""
    mcp = add_command(commands, "mcp", "list, add, remove and test MCP servers")
    actions = mcp.add_subparsers(dest="action", metavar="ACTION", required=True)
    add_command(actions, "list", "list the servers in the settings", shared)
    _add_options(add_command(actions, "add", "add a server to the settings", shared))
    remove = add_command(actions, "rm", "remove a server from the settings", shared)
    remove.add_argument("server", metavar="NAME", help="the name of a server")
    about = "start servers, list their tools and show errors"
    test = add_command(actions, "test", about, shared)
    about = "the name of a server (default: all that are enabled)"
    test.add_argument("server", metavar="NAME", nargs="?", help=about)
    about = "show the descriptions of a server's tools that you have not read yet"
    review = add_command(actions, "review", about, shared)
    review.add_argument("server", metavar="NAME", help="the name of a server")
    about = "sign in to a server at an address, in the browser"
    login = add_command(actions, "login", about, shared)
    login.add_argument("server", metavar="NAME", help="the name of a server")
    about = "ask for the secret of `oauth.client_id` first, and store it with your keys"
    login.add_argument("--client-secret", action="store_true", help=about)
    about = "sign out of a server: remove its tokens from this machine"
    logout = add_command(actions, "logout", about, shared)
    logout.add_argument("server", metavar="NAME", help="the name of a server")
    about = "mark them as read without asking"
    review.add_argument("--yes", action="store_true", help=about)


def _add_options(add: argparse.ArgumentParser) -> None:
    option = add.add_argument
    option("server", metavar="NAME", nargs="?", help="the name of the new server")
    about = "its program with arguments, after `--`"
    option("program", metavar="COMMAND", nargs="*", help=about)
    option("--url", metavar="URL", help="the address of a server that speaks streamable HTTP")
    about = "a variable of its environment, best as NAME='${NAME}'; may be repeated"
    option("--env", metavar="NAME=VALUE", action="append", help=about)
    about = "a header of every request, such as 'Authorization: Bearer ${TOKEN}'; may be repeated"
    option("--header", metavar="NAME:VALUE", action="append", help=about)
    option("--cwd", dest="folder", metavar="DIR", type=Path, help="the folder in which it runs")
    _add_rights(add)
    about = "add the servers of another client from its file with `mcpServers`, after asking"
    option("--from", dest="clients_file", metavar="FILE", type=Path, help=about)
    option("--yes", action="store_true", help="add them without asking")


def _add_rights(add: argparse.ArgumentParser) -> None:
    option, switch = add.add_argument, argparse.BooleanOptionalAction
    about = "whether it may send requests to the model of the chat; you are asked about each"
    option("--sampling", action=switch, help=about)
    about = "whether it may ask you to fill in a form or to open a page"
    option("--elicitation", action=switch, help=about)
    about = "whether it gets the path of the working folder (default: only programs do)"
    option("--roots", action=switch, help=about)
    about = "how long it may take to start (default: 10)"
    option("--start-timeout", dest="start_timeout_s", metavar="SECONDS", type=float, help=about)
    about = "how long a call may take (default: 60)"
    option("--call-timeout", dest="call_timeout_s", metavar="SECONDS", type=float, help=about)
    about = "the id of your own client at the authorization server of an address"
    option("--client-id", metavar="ID", help=about)
    about = "the port of http://127.0.0.1:PORT/callback, the redirect address"
    option("--callback-port", metavar="PORT", type=int, help=about)


def mcp_options(values: Mapping[str, Any]) -> McpOptions:
    """Return the options that were typed."""
    typed = typed_fields(McpOptions, values)
    for name in ("program", "env", "header"):
        typed[name] = tuple(typed.get(name, ()))
    return McpOptions(**typed)
