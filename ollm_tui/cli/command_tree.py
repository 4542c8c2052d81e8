"""The commands and options of the parser as plain data, for completion scripts and the man page."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from ollm_tui.cli.arguments import build_parser
from ollm_tui.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Argument:
    """An option, or a value that stands alone."""

    names: tuple[str, ...]
    """`-p` and `--prompt`; empty for a value that stands alone."""
    metavar: str
    """The name of its value; empty for an option without one."""
    help: str
    choices: tuple[str, ...] = ()
    is_file: bool = False
    is_required: bool = True
    is_repeated: bool = False


@dataclass(frozen=True, slots=True)
class CommandNode:
    """A command with what may follow it."""

    path: tuple[str, ...]
    """`("ollm", "models", "pull")`."""
    aliases: tuple[str, ...]
    help: str
    options: tuple[Argument, ...]
    values: tuple[Argument, ...]
    commands: tuple["CommandNode", ...]

    @property
    def name(self) -> str:
        """The last word of its path."""
        return self.path[-1]

    def walk(self) -> Iterator["CommandNode"]:
        """Yield this command and all below it."""
        yield self
        for command in self.commands:
            yield from command.walk()


def command_tree() -> CommandNode:
    """Read the parser of `ollm`."""
    return _node(build_parser(), ())


def _node(parser: argparse.ArgumentParser, aliases: tuple[str, ...]) -> CommandNode:
    groups = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    others = [_argument(one) for one in parser._actions if one not in groups]
    names: dict[argparse.ArgumentParser, list[str]] = {}
    for group in groups:
        for name, inner in group.choices.items():
            names.setdefault(inner, []).append(name)
    return CommandNode(
        tuple(parser.prog.split()),
        aliases,
        parser.description or "",
        tuple(one for one in others if one.names),
        tuple(one for one in others if not one.names),
        tuple(_node(inner, tuple(known[1:])) for inner, known in names.items()),
    )


def _argument(action: argparse.Action) -> Argument:
    metavar = str(action.metavar) if action.metavar is not None and action.nargs != 0 else ""
    return Argument(
        tuple(action.option_strings),
        metavar,
        action.help or "",
        tuple(map(str, action.choices or ())),
        is_file=action.type is Path or metavar == "FILE",
        is_required=action.nargs not in {"?", "*"},
        is_repeated=action.nargs == "*",
    )
