"""`@command` turns a function into a `Command`; its help is the first line of the docstring."""

import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TypeAlias

from ollm_tui.commands.host import CommandHost
from ollm_tui.config.plugins import load_plugins
from ollm_tui.protocol.errors import AIError, ErrorCode

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Completion:
    """One way to go on typing."""

    value: str
    help: str = ""
    takes_more: bool = False
    """Whether something has to follow, so that completing it adds a space."""
    is_example: bool = False
    """Whether it only shows a form: then it is never taken unless somebody chooses it."""


CommandFunction: TypeAlias = Callable[[CommandHost, str], Awaitable[None]]
Completer: TypeAlias = Callable[[CommandHost, str], Sequence[Completion]]


def complete_nothing(_host: CommandHost, _argument: str) -> Sequence[Completion]:
    """Know no argument."""
    return ()


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command."""

    name: str
    aliases: tuple[str, ...]
    usage: str
    """What follows the name, as `[NAME]`; empty when nothing does."""
    help: str
    run: CommandFunction
    complete: Completer = complete_nothing
    """Gives whole arguments that may be meant; the caller keeps those that match."""

    @property
    def names(self) -> tuple[str, ...]:
        """The name and its aliases."""
        return (self.name, *self.aliases)

    @property
    def signature(self) -> str:
        """How it is written: `/set [OPTION VALUE]`."""
        return f"/{self.name} {self.usage}".rstrip()


def command(
    name: str,
    aliases: tuple[str, ...] = (),
    usage: str = "",
    complete: Completer = complete_nothing,
) -> Callable[[CommandFunction], Command]:
    """Make a `Command` of the function below."""

    def decorate(run: CommandFunction) -> Command:
        first_line = (inspect.getdoc(run) or "").partition("\n")[0]
        if not first_line:
            raise TypeError(f"/{name} needs a docstring: its first line is the help.")
        return Command(name, aliases, usage, first_line, run, complete)

    return decorate


def commands_of(*modules: ModuleType) -> tuple[Command, ...]:
    """Collect the commands of modules, in the order they are written.

    Raises:
        TypeError: two of them share a name.
    """
    found = tuple(
        value for module in modules for value in vars(module).values() if isinstance(value, Command)
    )
    names = [name for one in found for name in one.names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TypeError(f"Two commands are called /{twice[0]}.")
    return found


def plugin_commands(built_in: Sequence[Command]) -> tuple[tuple[Command, ...], tuple[str, ...]]:
    """Import the commands of installed packages; give those that fit, and sentences for others.

    What one of them raises is a sentence beside the conversation, too.
    """
    taken = {name for one in built_in for name in one.names}
    loaded, problems = load_plugins("commands", Command, taken)
    commands: list[Command] = []
    for plugin, one in loaded:
        known = taken.intersection(one.names)
        if one.name != plugin.name:
            problems.append(
                str(plugin.problem(f"brings /{one.name} under the name {plugin.name!r}"))
            )
        elif known:
            words = f"brings /{one.name} with the alias {min(known)!r}, and that name is taken"
            problems.append(str(plugin.problem(words)))
        else:
            taken.update(one.names)
            commands.append(_guarded(one))
    return tuple(commands), tuple(problems)


def _guarded(one: Command) -> Command:
    """Let no exception of foreign code through."""

    async def run(host: CommandHost, argument: str) -> None:
        try:
            await one.run(host, argument)
        except AIError:
            raise
        except Exception as error:
            logger.exception("The command /%s failed", one.name)
            words = f"/{one.name} failed ({type(error).__name__})."
            raise AIError(ErrorCode.ENGINE_ERROR, words, hint="The log has the details.") from error

    def complete(host: CommandHost, argument: str) -> Sequence[Completion]:
        try:
            return tuple(one.complete(host, argument))
        except Exception:
            logger.exception("The command /%s could not be completed", one.name)
            return ()

    return replace(one, run=run, complete=complete)
