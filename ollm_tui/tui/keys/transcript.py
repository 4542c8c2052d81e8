"""The keys that go through the chat: over its messages, and with a caret over its text."""

from typing import Final

from textual.binding import Binding


def _key(name: str, keys: str, action: str, description: str) -> Binding:
    return Binding(keys, action, description, show=False, id=name)


def _move(name: str, key: str, description: str) -> Binding:
    shifted = f"ctrl+shift+{key.removeprefix('ctrl+')}" if "ctrl+" in key else f"shift+{key}"
    return _key(f"caret.{name}", f"{key},{shifted}", f"caret_move('{name}')", description)


CURSOR_KEYS: Final[tuple[Binding, ...]] = (
    _key("cursor.up", "up", "cursor_step(-1)", "Previous message"),
    _key("cursor.down", "down", "cursor_step(1)", "Next message"),
    _key("cursor.first", "home", "cursor_edge(-1)", "First message"),
    _key("cursor.last", "end", "cursor_edge(1)", "Last message"),
    _key("cursor.next_code", "tab", "cursor_code(1)", "Next code block"),
    _key("cursor.previous_code", "shift+tab", "cursor_code(-1)", "Previous code block"),
    _key("cursor.copy", "c", "cursor_copy", "Copy the message, or the code block"),
    _key("cursor.select", "v", "cursor_select", "Select text from here"),
    _key("cursor.edit", "e", "cursor_edit", "Edit your message and continue from there"),
    _key("cursor.again", "r", "cursor_again", "Ask again and continue from there"),
    _key("cursor.fold", "space", "cursor_fold", "Fold or unfold"),
    _key("cursor.leave", "escape,enter", "cursor_leave", "Back to the input"),
)
"""While the cursor is on a message."""

CARET_KEYS: Final[tuple[Binding, ...]] = (
    _move("left", "left", "Left (with Shift: select; the same below)"),
    _move("right", "right", "Right"),
    _move("up", "up", "Up"),
    _move("down", "down", "Down"),
    _move("word_left", "ctrl+left", "Word left"),
    _move("word_right", "ctrl+right", "Word right"),
    _move("line_start", "home", "Start of the row"),
    _move("line_end", "end", "End of the row"),
    _move("page_up", "pageup", "Page up"),
    _move("page_down", "pagedown", "Page down"),
    _move("top", "ctrl+home", "Beginning of the chat"),
    _move("bottom", "ctrl+end", "End of the chat"),
    _key("caret.mark", "v,space", "caret_mark", "Start or end selecting"),
    _key("caret.all", "a", "caret_all", "Select everything"),
    _key("caret.copy", "c,enter", "caret_copy", "Copy what is selected"),
    _key("caret.leave", "escape", "caret_leave", "Back to the message"),
)
"""While the caret is in the text."""
