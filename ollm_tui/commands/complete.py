"""Suggestions while a command is being typed: its name first, then its argument."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Command, Completion
from ollm_tui.decode.matching import Rank, best_rank

MOST_SUGGESTIONS: Final = 50


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Completions of the end of a text."""

    start: int
    """Index of the first character that a suggestion replaces; it replaces to the end."""
    query: str
    """The text that a suggestion replaces."""
    items: tuple[Completion, ...]
    """Best first; never empty."""
    is_argument: bool = False
    is_mention: bool = False
    """Whether these are files, named after an `@`."""


def suggest(text: str, commands: Sequence[Command], host: CommandHost) -> Suggestions | None:
    """Suggest how to complete `text`, or return None."""
    if not text.startswith("/") or text.startswith("//") or "\n" in text:
        return None
    name, space, argument = text[1:].partition(" ")
    if not space:
        return _found(0, text, _names(name, commands))
    known = next((one for one in commands if name.casefold() in one.names), None)
    if known is None:
        return None
    query = argument.lstrip()
    start = len(text) - len(query)
    return _found(start, query, _arguments(query, known.complete(host, query)), is_argument=True)


def _found(
    start: int, query: str, items: tuple[Completion, ...], *, is_argument: bool = False
) -> Suggestions | None:
    return Suggestions(start, query, items, is_argument) if items else None


def _names(query: str, commands: Sequence[Command]) -> tuple[Completion, ...]:
    # An alias is searched but the name is offered, except where the alias is what was begun.
    ranked = [(best_rank(query, one.names), one) for one in commands]
    return _best([(rank, _name(query, one)) for rank, one in ranked if rank is not None])


def _name(query: str, command: Command) -> Completion:
    begun = [name for name in command.names if name.startswith(query.casefold())]
    return Completion(f"/{(begun or command.names)[0]}", command.help, bool(command.usage))


def _arguments(query: str, candidates: Sequence[Completion]) -> tuple[Completion, ...]:
    ranked = [(best_rank(query, (one.value,)), one) for one in candidates]
    return _best([(rank, one) for rank, one in ranked if rank is not None])


def _best(ranked: list[tuple[Rank, Completion]]) -> tuple[Completion, ...]:
    ranked.sort(key=lambda pair: pair[0])
    return tuple(item for _, item in ranked[:MOST_SUGGESTIONS])
