"""`@command` turns a function into a `Command`; its help is the first line of the docstring."""

import inspect
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from types import ModuleType
from typing import TypeAlias

from ollm_tui.commands.host import CommandHost, View
from ollm_tui.config.foreign import Misuse, foreign_code
from ollm_tui.config.plugins import Plugin, load_plugins
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.lazy import lazy_re
from ollm_tui.models.tasks import ModelTask
from ollm_tui.protocol.errors import AIError, ErrorCode

_NAME = lazy_re(r"[^\s/]{1,64}")


@dataclass(frozen=True, slots=True)
class Completion:
    """One completion."""

    value: str
    help: str = ""
    takes_more: bool = False
    """Whether an argument must follow, so that completing adds a space."""
    is_example: bool = False
    """Whether it only shows a form, which is never taken unless it is chosen."""


CommandFunction: TypeAlias = Callable[[CommandHost, str], Awaitable[None]]
Completer: TypeAlias = Callable[[CommandHost, str], Sequence[Completion]]


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command."""

    name: str
    aliases: tuple[str, ...]
    usage: str
    """What follows the name, such as `[NAME]`, or an empty text."""
    help: str
    run: CommandFunction
    complete: Completer = lambda _host, _argument: ()
    """Returns whole arguments; the caller keeps those that match."""
    is_offered: Callable[[CommandHost], bool] = lambda _host: True
    """Whether it is suggested as things are; typed in full, it runs all the same."""
    task: ModelTask | None = None
    """What another model than that of the chat may do for it: it is offered if one can."""

    def described(self, host: CommandHost) -> "Command":
        """Return it with a help that names the model which does its work."""
        models = host.tasks.models(self.task) if self.task is not None else ()
        if not models:
            return self
        model = clean_name(models[0]) if len(models) == 1 else f"one of {len(models)} models"
        return replace(self, help=f"With {model}: {self.help[:1].lower()}{self.help[1:]}")

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
    complete: Completer = lambda _host, _argument: (),
    is_offered: Callable[[CommandHost], bool] = lambda _host: True,
    task: ModelTask | None = None,
) -> Callable[[CommandFunction], Command]:
    """Make a `Command` of the function below.

    Raises:
        TypeError: a name cannot be typed, the aliases are no tuple, or there is no docstring.
    """
    if not isinstance(aliases, tuple):
        raise Misuse("the aliases of a command must be a tuple of names")
    for one in (name, *aliases):
        if not _can_be_typed(one):
            raise Misuse("the name of a command has 1 to 64 characters, and no space or /")

    def decorate(run: CommandFunction) -> Command:
        first_line = (inspect.getdoc(run) or "").partition("\n")[0]
        if not first_line:
            raise Misuse(f"/{name} needs a docstring: its first line is the help.")
        return Command(name, aliases, usage, first_line, run, complete, is_offered, task)

    return decorate


def offered(commands: Sequence[Command], host: CommandHost) -> list[Command]:
    """Return the commands that can be used as things are, with the models that they use."""
    return [
        one.described(host)
        for one in commands
        if one.is_offered(host) and (one.task is None or host.tasks.models(one.task))
    ]


def opens(
    view: View, name: str, help: str, aliases: tuple[str, ...] = (), usage: str = ""
) -> Command:
    """Return a command that opens a view; with a `usage` its argument is the view's text."""

    async def run(host: CommandHost, argument: str) -> None:
        host.show(view, argument if usage else "")

    return Command(name, aliases, usage, help, run)


def _can_be_typed(name: object) -> bool:
    return isinstance(name, str) and name.isprintable() and bool(_NAME.fullmatch(name))


def commands_of(*modules: ModuleType) -> tuple[Command, ...]:
    """Collect the commands of modules, and those in tuples there, in the order they are written.

    Raises:
        TypeError: two of them share a name.
    """
    commands = tuple(
        one
        for module in modules
        for value in vars(module).values()
        for one in (value if isinstance(value, tuple) else (value,))
        if isinstance(one, Command)
    )
    names = [name for one in commands for name in one.names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TypeError(f"Two commands are called /{twice[0]}.")
    return commands


def plugin_commands(built_in: Sequence[Command]) -> tuple[tuple[Command, ...], tuple[str, ...]]:
    """Import the commands of installed packages; returns them and the problems of the others.

    What one of them raises is a sentence beside the conversation, too.
    """
    names = {name for one in built_in for name in one.names}
    commands: list[Command] = []

    def use(plugin: Plugin, one: Command) -> None:
        _check(plugin, one, names)
        names.update(one.names)
        commands.append(_guarded(one))

    problems = load_plugins("commands", Command, use, frozenset(names))
    return tuple(commands), tuple(problems)


def _check(plugin: Plugin, one: Command, taken: Collection[str]) -> None:
    """Refuse a command that was made by hand and cannot be used, or takes another's name."""
    texts = (one.name, one.usage, one.help)
    if not all(isinstance(text, str) for text in texts) or not isinstance(one.aliases, tuple):
        raise plugin.problem(f"provides /{plugin.name}, whose name, aliases or help are unusable")
    if one.name != plugin.name:
        raise plugin.problem(f"names its command {one.name!r}, but its entry point {plugin.name!r}")
    if not all(map(_can_be_typed, one.aliases)):
        raise plugin.problem(f"provides /{one.name}, one of whose aliases cannot be typed")
    lower = {name.casefold() for name in taken}
    known = [name for name in one.names if name.casefold() in lower]
    if known:
        words = f"provides /{one.name} with the alias {known[0]!r}, but that name is already taken"
        raise plugin.problem(words)


def _guarded(one: Command) -> Command:
    """Let no exception of foreign code through."""

    def problem(error: BaseException) -> AIError:
        words = f"/{one.name} failed ({type(error).__name__})."
        return AIError(ErrorCode.ENGINE_ERROR, words, hint="The log has the details.")

    async def run(host: CommandHost, argument: str) -> None:
        with foreign_code(f"The command /{one.name} failed", problem):
            await one.run(host, argument)

    def complete(host: CommandHost, argument: str) -> Sequence[Completion]:
        with (
            suppress(AIError),
            foreign_code(f"The command /{one.name} could not be completed", problem),
        ):
            given: Sequence[object] = one.complete(host, argument)
            return tuple(item for item in given if isinstance(item, Completion))
        return ()

    return replace(one, run=run, complete=complete)
