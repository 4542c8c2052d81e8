"""The suggestions for what is being typed, and which of them is chosen."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # the commands are loaded after the first frame
    from ollm_tui.commands.complete import Suggestions
    from ollm_tui.commands.registry import Completion


@dataclass(frozen=True, slots=True)
class Menu:
    """An open list of suggestions."""

    suggestions: "Suggestions"
    index: int | None
    """None while nothing is chosen: then Enter sends what was typed."""

    @property
    def items(self) -> "tuple[Completion, ...]":
        """The suggestions, best first."""
        return self.suggestions.items

    @property
    def chosen(self) -> "Completion | None":
        """The suggestion that Enter would take."""
        return None if self.index is None else self.items[self.index]

    def moved(self, step: int) -> "Menu":
        """Choose another one; the ends meet."""
        start = self.index if self.index is not None else (-1 if step > 0 else 0)
        return replace(self, index=(start + step) % len(self.items))


def open_menu(suggestions: "Suggestions | None") -> Menu | None:
    """Open the list; the first is chosen where that cannot change what was meant."""
    if suggestions is None:
        return None
    begun = bool(suggestions.query)
    return Menu(suggestions, 0 if begun and not suggestions.items[0].is_example else None)
