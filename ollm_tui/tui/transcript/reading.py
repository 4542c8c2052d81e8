"""How answers are shown, as settings and keys have it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ollm_tui.dataclass import dataclass, field
from ollm_tui.tui.graphics import PictureProtocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What changes the look of answers, but no text of theirs."""

    maths: bool = True
    """Whether formulas are shown as Unicode."""
    folds_tables: bool = True
    """Whether wide tables fit the width; otherwise they scroll sideways."""
    pictures: PictureProtocol = "blocks"
    """How pictures are drawn."""
    times: bool = False
    """Whether the time of each message is shown."""
    stats: bool = True
    """Whether a line of figures follows each answer."""


@dataclass(slots=True, eq=False)
class ReadingMode:
    """How the answers of a view are shown now."""

    current: Reading
    _changed: Callable[[], None]
    listeners: list[Callable[[], None]] = field(default_factory=list)
    """Called after a change."""

    def change(self, **changes: Any) -> None:
        """Show answers in another way from now on, those that are there too."""
        self.current = replace(self.current, **changes)
        self._changed()
        for listener in self.listeners:
            listener()
