"""A dialog whose letters decide something: a key counts only after a pause in typing.

A letter that allows something counts once every row of the `Reading` has been shown, and while all
of the dialog is in view. On a screen too small for that the dialog can only be refused.
"""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events, on
from textual.content import Content
from textual.screen import ScreenResultType
from textual.widgets import Static

from ollm_tui.frontend.consent import Arming
from ollm_tui.tui.dialogs.dialog import Dialog
from ollm_tui.tui.dialogs.reading import Reading, is_whole
from ollm_tui.tui.widgets import ShownAgain

if TYPE_CHECKING:
    from textual.timer import Timer

WAITING: Final = "Waiting for you to stop typing…"
_LATER_S: Final = 0.005
_SCROLLS: Final[Mapping[str, int]] = {"up": -1, "down": 1, "home": -1_000_000, "end": 1_000_000}
"""Keys that scroll, with their rows."""
_PAGES: Final[Mapping[str, int]] = {"pageup": -1, "pagedown": 1}
_TOO_SMALL: Final = "Too small to show the question. Enlarge the window, or press Esc to close it."


class ArmedDialog(Dialog[ScreenResultType]):
    """Has a `Reading` to scroll and a line `#about` with the keys that count.

    Esc and Ctrl+C refuse at any time; other keys answer only after a pause in typing.
    """

    AUTO_FOCUS = ""  # the dialog itself handles keys
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
        """Open; `answered_at` is when the last dialog was answered, if there was one."""
        super().__init__()
        self._clock = clock
        self._arming = Arming(answered_at)
        self._timer: Timer | None = None
        self._written = ""

    # For subclasses

    def keys(self) -> Content:
        """Return the keys that answer; those that allow something only once all was shown."""
        raise NotImplementedError

    def answer(self, event: events.Key) -> bool:
        """Answer by a key of an armed dialog; return False if the key has no meaning."""
        raise NotImplementedError

    def refuse(self) -> None:
        """Close without a yes."""
        raise NotImplementedError

    @property
    def handles_keys(self) -> bool:
        """Whether the dialog handles keys, not a field in it."""
        return True

    # Reading

    @property
    def may_consent(self) -> bool:
        """Whether all of the text has been shown and the dialog is in view."""
        return self.is_read and self._is_in_view()

    @property
    def is_read(self) -> bool:
        """Whether all of the text has been shown."""
        return self.query_one(Reading).is_read

    def _is_in_view(self) -> bool:
        words = self.query("Vertical > Static").exclude("#about")
        return self.query_one(Reading).has_room and all(map(is_whole, words))

    def on_resize(self) -> None:
        """Check again whether there is room for all of it."""
        self.remove_class("-too-small")
        self.call_after_refresh(self._measure)

    def _measure(self) -> None:
        # a stop may have removed the widgets, and another screen may lie over this one
        if not self.is_attached or not self.is_active or not self.query(Reading):
            return
        self.set_class(not self._is_in_view(), "-too-small")
        self.query_one(Reading).look()

    @on(Reading.Looked)
    def _show_rows(self) -> None:
        if self._arming.is_armed(self._clock()):
            self._show_keys()

    # Arming

    def on_mount(self) -> None:
        """Start the wait once it is drawn."""
        self.mount(Static(Content(_TOO_SMALL), id="too-small"))
        self.call_after_refresh(self._shown)

    def _shown(self) -> None:
        # a stop may have removed the widgets before it was drawn
        if not self.is_attached or not self.query("#about"):
            return
        self._arming.shown(self._clock())
        self._say_when_armed()

    @on(events.ScreenResume)
    @on(ShownAgain)
    def _resumed(self) -> None:
        """Restart the wait: the user was typing elsewhere."""
        if self.query("#about"):
            self._wait_again(self._clock())

    def _say_when_armed(self) -> None:
        now = self._clock()
        if self._arming.is_armed(now):
            self._show_keys()
        else:
            self.say(Content(WAITING))
            if self._timer is not None:
                self._timer.stop()
            wait = self._arming.waits_for(now) + _LATER_S
            self._timer = self.set_timer(wait, self._say_when_armed)

    def _show_keys(self) -> None:
        if not self.handles_keys:
            return
        reading = self.query_one(Reading)
        first, last, total = reading.shown_share
        rows = ""
        if last - first + 1 < total:
            left = reading.rows_not_shown
            more = f" · {left} not shown yet" if left else ""
            rows = f"Rows {first}-{last} of {total} · ↑ ↓ scroll{more}"
        lines = [Content(rows), self.keys()] if rows else [self.keys()]
        if self.has_class("-low"):  # the end is cut, and the keys matter more
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
        elif self.handles_keys:
            event.stop()
            event.prevent_default()
            self._hear(event)

    def _hear(self, event: events.Key) -> None:
        if not self._arming.is_armed(event.time):
            self._wait_again(event.time)
        elif event.key in _SCROLLS or event.key in _PAGES:
            self._scroll(event.key)
        elif event.character in self.CONSENTS and not self.may_consent:
            self._show_keys()
            self.remark(f"{event.character} works once all rows were shown")
        elif not self.answer(event):
            self._wait_again(event.time)

    def _scroll(self, key: str) -> None:
        if not self.has_class("-too-small"):
            reading = self.query_one(Reading)
            rows = _SCROLLS.get(key) or _PAGES[key] * reading.page
            reading.scroll_relative(y=rows, animate=False)
            self.call_after_refresh(self._show_keys)

    def on_paste(self, event: events.Paste) -> None:
        """Ignore a paste and restart the wait."""
        if self.handles_keys:
            event.stop()
            self._wait_again(event.time)

    def _wait_again(self, now: float) -> None:
        self._arming.typed(now)
        if self.handles_keys:
            self._say_when_armed()


def named_keys(*keys: tuple[str, str]) -> Content:
    """Return styled keys with what they do."""
    parts: list[str | tuple[str, str]] = []
    for key, meaning in keys:
        parts += [" · " if parts else "", (key, "bold $text-accent"), f" {meaning}"]
    return Content.assemble(*parts)
