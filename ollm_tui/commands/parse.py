"""What is typed: telling a command from a prompt, and suggestions while it is written."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Command, Completion
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.matching import Rank, best_rank
from ollm_tui.protocol.errors import AIError

# A path (`/etc/hosts`) is no command, so a name ends at a space or at the end.
_CALL: Final = re.compile(r"/(?P<name>[\w?-]*)(?:\s+(?P<argument>.*))?\Z", re.DOTALL)
_SHOWN_NAME: Final = 40
NOT_THERE: Final[Mapping[str, str]] = {
    "compact": "A chat cannot be summarized yet. /context shows other ways to make room.",
    "compare": "Answers of several models cannot be compared yet. /model chooses another one.",
    "fork": "A chat cannot be copied yet. Edit a message (Alt+Up, e) to begin a branch.",
    "mcp": "MCP servers cannot be used yet. /tools lists the available tools.",
    "private": "There is no private chat yet. /chats deletes one; `save = false` below [chat] "
    "in the settings saves none.",
    "settings": "Settings are in a file: `ollm config path` names it.",
}
"""Commands that people expect and that do not exist, with what to do in their place."""
_BARE: Final = frozenset({"exit", "quit"})
"""What leaves the program in a shell, without a slash."""
_BLOCK: Final = re.compile(r'\s*"""(?P<text>.*)"""\s*', re.DOTALL)


@dataclass(frozen=True, slots=True)
class CommandCall:
    """A command and its argument."""

    command: Command
    argument: str


@dataclass(frozen=True, slots=True)
class UnknownCommand:
    """Something that looks like a command but is none."""

    name: str
    nearest: str | None

    @property
    def sentence(self) -> str:
        """The error for the person."""
        if not self.name:
            return "A command has a name: /help lists them."
        if instead := NOT_THERE.get(self.name.casefold()):
            return f"Unknown command: /{self.name.casefold()}. {instead}"
        shown = clean_name(self.name[:_SHOWN_NAME])
        meant = f"Did you mean /{self.nearest}?" if self.nearest else "/help lists the commands."
        return f"Unknown command: /{shown}. {meant}"


def parse(text: str, commands: Sequence[Command]) -> CommandCall | UnknownCommand | None:
    """Parse a command; None for a prompt. `//` begins a prompt that starts with a slash."""
    stripped = text.strip()
    if stripped.casefold() in _BARE:
        stripped = f"/{stripped}"
    match = _CALL.match(stripped)
    if match is None:
        return None
    name = match["name"].casefold()
    for command in commands:
        if name in command.names:
            return CommandCall(command, (match["argument"] or "").strip())
    return UnknownCommand(match["name"], _nearest(name, commands))


def prompt_text(text: str) -> str:
    """Return a prompt without its second slash or the quotes of a block."""
    if block := _BLOCK.fullmatch(text):
        return block["text"].removeprefix("\n").removesuffix("\n") or text
    return text[1:] if text.startswith("//") else text


def _nearest(name: str, commands: Sequence[Command]) -> str | None:
    # Costs a few milliseconds of start-up and is only needed after a typing mistake.
    from difflib import get_close_matches

    names = [known for command in commands for known in command.names]
    beginnings = [known for known in names if name and known.startswith(name)]
    close = beginnings or get_close_matches(name[:_SHOWN_NAME], names, n=1, cutoff=0.5)
    return close[0] if close else None


async def run_command(call: CommandCall | UnknownCommand, host: CommandHost) -> None:
    """Run a command; an error becomes a note."""
    if isinstance(call, UnknownCommand):
        host.say(call.sentence, "error")
        return
    try:
        await call.command.run(host, call.argument)
    except AIError as error:
        host.say(f"{error.message} {error.hint}" if error.hint else error.message, "error")


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
        # An alias is searched but the name is offered, except where the alias is what was begun.
        ranked = [
            (best_rank(name, one.names), _name(name, one))
            for one in commands
            if one.is_offered(host)
        ]
        return _best(0, text, ranked)
    known = next((one for one in commands if name.casefold() in one.names), None)
    if known is None:
        return None
    query = argument.lstrip()
    ranked = [(best_rank(query, (one.value,)), one) for one in known.complete(host, query)]
    return _best(len(text) - len(query), query, ranked, is_argument=True)


def _name(query: str, command: Command) -> Completion:
    begun = [name for name in command.names if name.startswith(query.casefold())]
    return Completion(f"/{(begun or command.names)[0]}", command.help, bool(command.usage))


def _best(
    start: int,
    query: str,
    ranked: Sequence[tuple[Rank | None, Completion]],
    *,
    is_argument: bool = False,
) -> Suggestions | None:
    kept = sorted(((rank, one) for rank, one in ranked if rank is not None), key=itemgetter(0))
    items = tuple(one for _, one in kept[:MOST_SUGGESTIONS])
    return Suggestions(start, query, items, is_argument) if items else None
