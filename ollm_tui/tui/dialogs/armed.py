"""A dialog whose letters decide something: they count only from somebody who has read it.

A letter that allows something counts once every row of the `Reading` has been shown, and while all
of the dialog is in view. On a screen too small for that it says so and can only be refused.
"""

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events, on
from textual.content import Content
from textual.screen import ScreenResultType
from textual.widgets import Static

from ollm_tui.tui.dialogs.arming import Arming
from ollm_tui.tui.dialogs.dialog import Dialog
from ollm_tui.tui.dialogs.reading import Reading, is_whole
from ollm_tui.tui.widgets.messages import ShownAgain

if TYPE_CHECKING:
    from textual.timer import Timer

WAITING: Final = "Waiting for you to stop typing…"
_LATER_S: Final = 0.005
_SCROLLS: Final[Mapping[str, int]] = MappingProxyType(
    {"up": -1, "down": 1, "home": -1_000_000, "end": 1_000_000}
)
"""Rows that a key goes."""
_PAGES: Final[Mapping[str, int]] = MappingProxyType({"pageup": -1, "pagedown": 1})
_TOO_SMALL: Final = "Too small to show the question. Enlarge the window, or press Esc to close it."


class ArmedDialog(Dialog[ScreenResultType]):
    """Has a `Reading` that keys scroll and a line `#about` that says which keys count.

    Esc and Ctrl+C refuse at any time; any other key answers only once nobody has typed for a while.
    """

    AUTO_FOCUS = ""  # keys are for the dialog itself
    DEFAULT_CSS = """
    ArmedDialog {
        #too-small { display: none; width: 100%; height: 100%; color: $text-warning; }
        &.-too-small { align: left top; }
        &.-too-small > Vertical { display: none; }
        &.-too-small #too-small { display: block; }
    }
    """
    CONSENTS: ClassVar[frozenset[str]] = frozenset("y")
    """Letters that allow something."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, answered_at: float | None = None
    ) -> None:
        """Ask; `answered_at` is when the question before was answered, where there was one."""
        super().__init__()
        self._clock = clock
        self._arming = Arming(answered_at)
        self._looks_again: Timer | None = None
        self._written = ""

    # What each dialog says and does

    def keys(self) -> Content:
        """Name the keys that answer; those that allow something once all of it was shown."""
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

    # What was shown

    @property
    def may_consent(self) -> bool:
        """Whether all that is asked about has been shown, and the dialog is in view now."""
        return self.is_read and self._is_in_view()

    @property
    def is_read(self) -> bool:
        """Whether all that is asked about has been shown."""
        return self.query_one(Reading).is_read

    def _is_in_view(self) -> bool:
        words = self.query("Vertical > Static").exclude("#about")
        return self.query_one(Reading).has_room and all(map(is_whole, words))

    def on_resize(self) -> None:
        """Try again whether all of it has room."""
        self.remove_class("-too-small")
        self.call_after_refresh(self._measure)

    def _measure(self) -> None:
        # A stop may have taken the parts away, and another screen may lie over this one.
        if not self.is_attached or not self.is_active or not self.query(Reading):
            return
        self.set_class(not self._is_in_view(), "-too-small")
        self.query_one(Reading).look()

    @on(Reading.Looked)
    def _say_rows(self) -> None:
        """Name the rows in view, and the keys that count now."""
        if self._arming.is_armed(self._clock()):
            self._say_what_counts()

    # Arming

    def on_mount(self) -> None:
        """Begin to count once it is drawn."""
        self.mount(Static(Content(_TOO_SMALL), id="too-small"))
        self.call_after_refresh(self._shown)

    def _shown(self) -> None:
        # A stop may have come before it was drawn: its parts go before it does.
        if not self.is_attached or not self.query("#about"):
            return
        self._arming.shown(self._clock())
        self._say_when_armed()

    @on(events.ScreenResume)
    @on(ShownAgain)
    def _seen_anew(self) -> None:
        """Wait again: whoever comes back to it was typing somewhere else."""
        if self.query("#about"):
            self._wait_again(self._clock())

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
        reading = self.query_one(Reading)
        first, last, total = reading.shown_share
        rows = ""
        if last - first + 1 < total:
            left = reading.rows_not_shown
            more = f" · {left} not shown yet" if left else ""
            rows = f"Rows {first}-{last} of {total} · ↑ ↓ scroll{more}"
        lines = [Content(rows), self.keys()] if rows else [self.keys()]
        if self.has_class("-low"):  # what has no room is at the end, and the keys matter more
            lines.reverse()
        self.say(Content("\n").join(lines))

    def say(self, text: Content) -> None:
        """Write the line about the keys."""
        if text.plain != self._written:
            self._written = text.plain
            self.query_one("#about", Static).update(text)
            self.call_after_refresh(self._measure)

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
        elif event.key in _SCROLLS or event.key in _PAGES:
            self._scroll(event.key)
        elif event.character in self.CONSENTS and not self.may_consent:
            self._say_what_counts()
            self.remark(f"{event.character} works once all rows were shown")
        elif not self.answer(event):
            self._wait_again(event.time)

    def _scroll(self, key: str) -> None:
        if not self.has_class("-too-small"):
            reading = self.query_one(Reading)
            rows = _SCROLLS.get(key) or _PAGES[key] * reading.page
            reading.scroll_relative(y=rows, animate=False)
            self.call_after_refresh(self._say_what_counts)

    def on_paste(self, event: events.Paste) -> None:
        """Nothing that is pasted answers, nor what comes right after it."""
        if self.hears_itself:
            event.stop()
            self._wait_again(event.time)

    def _wait_again(self, now: float) -> None:
        self._arming.typed(now)
        if self.hears_itself:
            self._say_when_armed()


def named_keys(*keys: tuple[str, str]) -> Content:
    """Write keys and what they do, as all these dialogs do."""
    parts: list[str | tuple[str, str]] = []
    for key, meaning in keys:
        parts += [" · " if parts else "", (key, "bold $text-accent"), f" {meaning}"]
    return Content.assemble(*parts)
