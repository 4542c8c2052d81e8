"""Text that is typed: letters that come at once are one edit, and a field of one line has an end.

Each edit of a field costs its whole text and whatever follows from a change, such as filtering a
list. A terminal may send thousands of letters at once, without the marks of a paste.
"""

from collections.abc import Callable
from typing import Final

import anyio
from textual import events
from textual.message_pump import MessagePump, MessagePumpClosed
from textual.widget import Widget
from textual.widgets import Input

MAX_LENGTH: Final = 4000
"""Characters of a line: no name, reason, path or address that a user types is as long."""

QUEUE_S: Final = 1.0
"""How long a key waits for the letters before it; they take a millisecond unless a widget hangs."""


def typed_run(
    widget: MessagePump, first: events.Key, is_more: Callable[[events.Key], bool]
) -> list[events.Key]:
    """Take the printable keys behind one out of a widget's queue, while `is_more` holds."""
    run = [first]
    while (key := _waiting_key(widget)) is not None and key.is_printable and is_more(key):
        widget._pending_message = None
        run.append(key)
    return run


def _waiting_key(widget: MessagePump) -> events.Key | None:
    try:
        waiting = widget._peek_message()
    except MessagePumpClosed:
        return None
    return waiting if isinstance(waiting, events.Key) else None


def letters(run: list[events.Key]) -> str:
    """The text that keys type."""
    return "".join(key.character or "" for key in run)


async def take_waiting(widget: Widget) -> None:
    """Return when a widget has handled what is in its queue now."""
    if not widget.message_queue_size and widget._pending_message is None:
        return
    is_handled = anyio.Event()
    # one that is busy with something else, or is waiting for its caller, is not waited for
    with anyio.move_on_after(QUEUE_S):
        if widget.call_later(is_handled.set):
            await is_handled.wait()


async def obey_own_binding(widget: Widget, event: events.Key) -> bool:
    """Run the action that a key is bound to in the focused widget at once; say if there is one.

    The app looks bindings up only after later letters may have been inserted.
    """
    active = widget.screen.active_bindings.get(event.key)
    if active is None or active.node is not widget:
        return False
    event.stop()
    event.prevent_default()
    await widget.run_action(active.binding.action)
    return True


class TextField(Input):
    """An `Input` that takes letters in runs, and only the beginning of a text that is too long.

    Every key that it binds is obeyed in the order of typing, between the letters around it.
    """

    def on_mount(self) -> None:
        """Let the cursor stand still where motion is reduced."""
        self.cursor_blink = self.cursor_blink and self.app.animation_level != "none"

    async def _on_key(self, event: events.Key) -> None:
        self._restart_blink()
        if not event.is_printable:
            await obey_own_binding(self, event)
            return
        event.stop()
        event.prevent_default()
        self.replace(letters(typed_run(self, event, lambda _key: True)), *self.selection)

    def replace(self, text: str, start: int, end: int) -> None:
        """Replace a text by another, as much of it as there is room for."""
        most = self.max_length or MAX_LENGTH
        kept = len(self.value) - abs(end - start)
        if kept + len(text) > most:
            self.restricted()
        super().replace(text[: max(0, most - kept)], start, end)
