"""The prompts of MCP servers as slash commands: `/server:prompt ARGUMENTS`.

The words of a prompt come into the input, where the user reads them before they are sent.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, overload

from ollm_tui.commands.registry import Command, Completion
from ollm_tui.decode.clean import clean_name, spelled_line
from ollm_tui.decode.counted import counted
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.forms import FormField

if TYPE_CHECKING:
    from ollm_tui.commands.host import CommandHost
    from ollm_tui.mcp.catalogue import PromptDefinition
    from ollm_tui.mcp.server import McpServer

Servers = Mapping[str, "McpServer"]


class CommandList(Sequence[Command]):
    """The commands of the program, and those of the servers that run at the moment."""

    def __init__(self, fixed: Sequence[Command], servers: Callable[[], Servers]) -> None:
        self._fixed = tuple(fixed)
        self._servers = servers

    def _all(self) -> tuple[Command, ...]:
        return (*self._fixed, *prompt_commands(self._servers()))

    def __iter__(self) -> Iterator[Command]:
        """Return each, those of the program first."""
        return iter(self._all())

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._all())

    @overload
    def __getitem__(self, index: int) -> Command: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Command]: ...

    def __getitem__(self, index: int | slice) -> Command | Sequence[Command]:
        """Return one, or some."""
        return self._all()[index]


def prompt_commands(servers: Servers) -> tuple[Command, ...]:
    """Return a command for each prompt of each server."""
    return tuple(
        Command(
            name=_typed(server, prompt),
            aliases=(),
            usage=_usage(prompt),
            help=spelled_line(prompt.description) or f"Prompt of {clean_name(server.name)}.",
            run=partial(_run, server, prompt),
            complete=partial(_completions, prompt),
        )
        for server in servers.values()
        for prompt in server.catalogue.prompts
    )


def find_prompt(servers: Servers, name: str) -> "tuple[McpServer, PromptDefinition] | None":
    """Return the prompt of a command, if it is one."""
    for server in servers.values():
        for prompt in server.catalogue.prompts:
            if _typed(server, prompt) == name.casefold():
                return server, prompt
    return None


def _typed(server: "McpServer", prompt: "PromptDefinition") -> str:
    return f"{server.prefix.casefold()}:{prompt.command}"


def _usage(prompt: "PromptDefinition") -> str:
    names = ((clean_name(one.name), one.is_required) for one in prompt.arguments)
    return " ".join(f"{name}=…" if required else f"[{name}=…]" for name, required in names)


def _completions(
    prompt: "PromptDefinition", _host: "CommandHost", argument: str
) -> Sequence[Completion]:
    """Return the names of the arguments that are not given yet."""
    before, _, _begun = argument.rpartition(" ")
    given = {word.partition("=")[0] for word in before.split()}
    kept = f"{before} " if before else ""
    return [
        Completion(f"{kept}{clean_name(one.name)}=", spelled_line(one.description), is_example=True)
        for one in prompt.arguments
        if one.name not in given
    ]


async def _run(
    server: "McpServer", prompt: "PromptDefinition", host: "CommandHost", argument: str
) -> None:
    given = read_arguments(prompt, argument)
    missing = [one for one in prompt.arguments if one.is_required and one.name not in given]
    if missing:
        fields = [FormField(one.name, about=one.description, is_required=True) for one in missing]
        title = f"{_typed(server, prompt)} needs {counted(len(fields), 'argument')}"
        values = await host.forms.ask(title, fields)
        if values is None:
            return
        given |= {name: str(value) for name, value in values.items()}
    await host.attachments().insert(await server.prompt(prompt.name, given))


def read_arguments(prompt: "PromptDefinition", argument: str) -> dict[str, str]:
    """Return the arguments on a line: `name=value`, or values in their order; quotes hold blanks.

    All that follows is the value of the last argument, so that a sentence needs no quotes.

    Raises:
        AIError: there are more than the prompt takes.
    """
    names = [one.name for one in prompt.arguments]
    given: dict[str, str] = {}
    rest: list[str] = []
    for word in _words(argument):
        name, is_named, value = word.partition("=")
        if is_named and name in names and name not in given and not rest:
            given[name] = value
        else:
            rest.append(word)
    free = [name for name in names if name not in given]
    if rest and not free:
        words = (
            f"The prompt takes {counted(len(names), 'argument')}."
            if names
            else ("The prompt takes no arguments.")
        )
        raise AIError(ErrorCode.BAD_REQUEST, words)
    for position, name in enumerate(free):
        if rest:
            is_last = position == len(free) - 1
            given[name] = " ".join(rest) if is_last else rest.pop(0)
    return given


def _words(argument: str) -> list[str]:
    lexer = shlex.shlex(argument, posix=True)
    lexer.whitespace_split, lexer.commenters, lexer.quotes, lexer.escape = True, "", '"', ""
    try:
        return list(lexer)
    except ValueError:  # a quote that is not closed
        return argument.split()
