"""A dialog whose letters decide something: they count only from somebody who has read it."""

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from textual import events
from textual.content import Content
from textual.screen import ScreenResultType
from textual.widgets import Static

from ollm_tui.tui.arming import Arming
from ollm_tui.tui.modals.dialog import Dialog
from ollm_tui.tui.widgets.reading import Reading

if TYPE_CHECKING:
    from textual.timer import Timer

WAITING: Final = "Waiting for you to stop typing…"
_LATER_S: Final = 0.005
_SCROLLS: Final[Mapping[str, int]] = MappingProxyType(
    {"up": -1, "down": 1, "pageup": -10, "pagedown": 10, "home": -1_000_000, "end": 1_000_000}
)
"""Rows that a key goes."""


class ArmedDialog(Dialog[ScreenResultType]):
    """Has a `Reading` that keys scroll and a line `#about` that says which keys count.

    Esc and Ctrl+C refuse at any time; any other key answers only once nobody has typed for a while.
    """

    AUTO_FOCUS = ""  # keys are for the dialog itself

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._arming = Arming()
        self._looks_again: Timer | None = None

    # What each dialog says and does

    def keys(self) -> Content:
        """Name the keys that answer."""
        raise NotImplementedError

    def answer(self, event: events.Key) -> bool:
        """Take a key of an armed dialog for an answer; False when it means nothing."""
        raise NotImplementedError

    def refuse(self) -> None:
        """Close it without a yes."""
        raise NotImplementedError

    @property
    def hears_itself(self) -> bool:
        """Whether keys are for the dialog, not for a field in it."""
        return True

    # Arming

    def on_mount(self) -> None:
        """Begin to count once it is drawn."""
        self.call_after_refresh(self._shown)

    def _shown(self) -> None:
        # A stop may have come before it was drawn: its parts go before it does.
        if not self.is_attached or not self.query("#about"):
            return
        self._arming.shown(self._clock())
        self._say_when_armed()

    def _say_when_armed(self) -> None:
        now = self._clock()
        if self._arming.is_armed(now):
            self._say_what_counts()
        else:
            self.say(Content(WAITING))
            if self._looks_again is not None:
                self._looks_again.stop()
            wait = self._arming.waits_for(now) + _LATER_S
            self._looks_again = self.set_timer(wait, self._say_when_armed)

    def _say_what_counts(self) -> None:
        if not self.hears_itself:
            return
        first, last, total = self.query_one(Reading).shown_share
        rows = f"Rows {first}-{last} of {total} · ↑ ↓ scroll\n" if last - first + 1 < total else ""
        self.say(Content.assemble(rows, self.keys()))

    def say(self, text: Content) -> None:
        """Write the line about the keys."""
        self.query_one("#about", Static).update(text)

    # Keys

    def on_key(self, event: events.Key) -> None:
        """Answer, scroll, or wait again for a pause."""
        if event.key in {"escape", "ctrl+c"}:
            event.stop()
            event.prevent_default()
            self.refuse()
        elif self.hears_itself:
            event.stop()
            event.prevent_default()
            self._hear(event)

    def _hear(self, event: events.Key) -> None:
        if not self._arming.is_armed(event.time):
            self._wait_again(event.time)
        elif event.key in _SCROLLS:
            self.query_one(Reading).scroll_relative(y=_SCROLLS[event.key], animate=False)
            self.call_after_refresh(self._say_what_counts)
        elif not self.answer(event):
            self._wait_again(event.time)

    def on_paste(self, event: events.Paste) -> None:
        """Nothing that is pasted answers, nor what comes right after it."""
        if self.hears_itself:
            event.stop()
            self._wait_again(event.time)

    def _wait_again(self, now: float) -> None:
        self._arming.typed(now)
        self._say_when_armed()


def named_keys(*keys: tuple[str, str]) -> Content:
    """Write keys and what they do, as all these dialogs do."""
    parts: list[str | tuple[str, str]] = []
    for key, meaning in keys:
        parts += [" · " if parts else "", (key, "bold $text-accent"), f" {meaning}"]
    return Content.assemble(*parts)
