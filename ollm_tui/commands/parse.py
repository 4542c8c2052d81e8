"""What is typed: telling a command from a prompt, and suggestions while it is written."""

import re
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Final

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Command, Completion, offered
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.matching import Rank, best_rank
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError

# A path (`/etc/hosts`) is no command, so a name ends at a space or at the end. `/server:prompt` is
# a prompt of a server.
_CALL: Final = lazy_re(r"/(?P<name>[\w?-]*(?::[^\s/]*)?)(?:\s+(?P<argument>.*))?\Z", re.DOTALL)
_SHOWN_NAME: Final = 40
NOT_THERE: Final[Mapping[str, str]] = {
    "archive": "Ctrl+R lists all chats, and archives one.",
    "delete": "On a message d deletes it, and Ctrl+R lists all chats, to delete one.",
    "import": "Ctrl+R lists all chats, and imports those of a file.",
    "pin": "Ctrl+R lists all chats, and pins one.",
    "tag": "Ctrl+R lists all chats, and tags one.",
    "compare": "Answers of several models cannot be compared yet. /model chooses another one.",
}
"""Commands that people expect and that do not exist, with what to do in their place."""
_BARE: Final = frozenset({"exit", "quit"})
"""What leaves the program in a shell, without a slash."""
_BLOCK: Final = lazy_re(r'\s*"""(?P<text>.*)"""\s*', re.DOTALL)


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
        """The error for the user."""
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
    return text[1:] if text.startswith(("//", "!!")) else text


def as_typed(prompt: str) -> str:
    """Return a prompt as it is typed, so that it is no command and is sent as it is."""
    if prompt.startswith(("/", "!")):
        return f"{prompt[0]}{prompt}"
    bare = prompt.strip()
    is_command = bare.casefold() in _BARE or _CALL.match(bare) or shell_line(bare) is not None
    return f'"""\n{prompt}\n"""' if is_command or _BLOCK.fullmatch(prompt) else prompt


class ShellLine(str):
    """A command for the shell of the user, as it is queued among prompts."""

    __slots__ = ()


def shell_line(text: str) -> ShellLine | None:
    """Return what follows a `!`; None for a prompt. `!!` begins a prompt that starts with a `!`."""
    stripped = text.strip()
    if not stripped.startswith("!") or stripped.startswith("!!"):
        return None
    return ShellLine(stripped[1:].strip())


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


MAX_SUGGESTIONS: Final = 100


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
        if name.casefold() in NOT_THERE:  # another command may mean the opposite
            return None
        ranked = [(best_rank(name, one.names), _name(name, one)) for one in offered(commands, host)]
        return _best(0, text, ranked)
    known = next((one for one in commands if name.casefold() in one.names), None)
    if known is None:
        return None
    query = argument.lstrip()
    items = known.complete(host, query)
    models = [one for one in items if query.casefold() in _words(one.value)[1:]]
    if len(models) == 1:  # its whole name was typed: nothing is left to choose
        return None
    ranked = [(best_rank(query, _words(one.value)), one) for one in items]
    return _best(len(text) - len(query), query, ranked, is_argument=True)


def _words(value: str) -> tuple[str, ...]:
    """Return what a suggestion is found by: the address of a model, and its name alone."""
    value = value.casefold()
    _provider, is_address, name = value.partition("://")
    return (value, name) if is_address else (value,)


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
    most = MAX_SUGGESTIONS if is_argument else None  # the commands themselves are few
    items = tuple(one for _, one in kept[:most])
    return Suggestions(start, query, items, is_argument) if items else None
