"""The command palette: what keys and slash commands do, found by typing."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.types import IgnoreReturnCallbackType

from ollm_tui.tui.keymap import Key, display_all
from ollm_tui.tui.modals.help import Described


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the palette."""

    title: str
    help: str
    run: IgnoreReturnCallbackType


def entries(
    keys: Sequence[Key],
    commands: Sequence[Described],
    run_action: Callable[[str], object],
    run_command: Callable[[str], object],
) -> Iterator[Entry]:
    """Give an entry for each key that has one, and for each command that no key does."""
    shown = [key for key in keys if key.in_palette]
    for key in shown:
        yield Entry(key.description, display_all(key), partial(run_action, key.action))
    covered = {key.command for key in shown}
    for command in commands:
        if command.name not in covered:
            title = command.help.rstrip(".")
            yield Entry(title, f"/{command.name}", partial(run_command, command.name))


def provider_of(found: Sequence[Entry]) -> type[Provider]:
    """Make the provider that Textual's palette asks."""

    class Entries(Provider):
        async def discover(self) -> Hits:
            for entry in found:
                yield DiscoveryHit(entry.title, entry.run, help=entry.help)

        async def search(self, query: str) -> Hits:
            matcher = self.matcher(query)
            for entry in found:
                score = max(matcher.match(entry.title), matcher.match(entry.help))
                if score > 0:
                    title = matcher.highlight(entry.title)
                    yield Hit(score, title, entry.run, text=entry.title, help=entry.help)

    return Entries
