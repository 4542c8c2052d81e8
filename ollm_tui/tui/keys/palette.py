"""What the command palette lists: keys and slash commands, from their tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ollm_tui.tui.keys.table import Key, display_all


class Described(Protocol):
    """What is said of a command."""

    @property
    def name(self) -> str:
        """Its name without the slash."""
        ...

    @property
    def aliases(self) -> tuple[str, ...]:
        """Its other names."""
        ...

    @property
    def usage(self) -> str:
        """What may follow the name."""
        ...

    @property
    def help(self) -> str:
        """One sentence."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the palette."""

    title: str
    reach: str
    """The key or the command that does the same."""
    action: str = ""
    """The screen's action; empty for a command."""


def entries(keys: Sequence[Key], commands: Sequence[Described]) -> list[Entry]:
    """Give an entry for each key that has one, and for each command that no key does."""
    shown = [key for key in keys if key.in_palette]
    found = [Entry(key.description, display_all(key), key.action) for key in shown]
    covered = {key.command for key in shown}
    return found + [
        Entry(command.help.rstrip("."), f"/{command.name}")
        for command in commands
        if command.name not in covered
    ]


def matching(found: Sequence[Entry], query: str) -> list[Entry]:
    """Keep the entries that have every word of the query, those that begin with it first."""
    words = query.lower().split()
    kept = [
        entry
        for entry in found
        if all(word in f"{entry.title} {entry.reach}".lower() for word in words)
    ]
    return sorted(kept, key=lambda entry: not entry.title.lower().startswith(query.lower()))
