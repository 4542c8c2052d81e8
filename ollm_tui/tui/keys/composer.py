"""The keys of the composer; each can be remapped by its id."""

from typing import Final

from textual.binding import Binding


def _key(name: str, keys: str, action: str, description: str) -> Binding:
    return Binding(keys, action, description, show=False, id=f"composer.{name}")


PRIMARY_KEYS: Final[tuple[Binding, ...]] = (
    _key("submit", "enter", "submit", "Send the message"),
    _key("newline", "ctrl+j,shift+enter,alt+enter", "newline", "New line"),
    _key("complete", "tab", "complete", "Accept the suggestion"),
    _key("dismiss", "escape", "dismiss", "Close the suggestions"),
    _key("history_previous", "up", "cursor_up", "Previous prompt"),
    _key("history_next", "down", "cursor_down", "Next prompt"),
    _key("expand_paste", "ctrl+o", "expand_paste", "Expand the pasted text at the cursor"),
)
"""What belongs to a chat; help and the key table list these."""

EDITING_KEYS: Final[tuple[Binding, ...]] = (
    _key("left", "left", "cursor_left", "Left"),
    _key("right", "right", "cursor_right", "Right"),
    _key("word_left", "ctrl+left,alt+b", "cursor_word_left", "Word left"),
    _key("word_right", "ctrl+right,alt+f", "cursor_word_right", "Word right"),
    _key("line_start", "home,ctrl+a", "cursor_line_start", "Start of the line"),
    _key("line_end", "end,ctrl+e", "cursor_line_end", "End of the line"),
    _key("select_left", "shift+left", "cursor_left(True)", "Select left"),
    _key("select_right", "shift+right", "cursor_right(True)", "Select right"),
    _key("select_word_left", "ctrl+shift+left", "cursor_word_left(True)", "Select word left"),
    _key("select_word_right", "ctrl+shift+right", "cursor_word_right(True)", "Select word right"),
    _key("select_line_start", "shift+home", "cursor_line_start(True)", "Select to line start"),
    _key("select_line_end", "shift+end", "cursor_line_end(True)", "Select to line end"),
    _key("select_all", "f7", "select_all", "Select all"),
    _key("delete_left", "backspace", "delete_left", "Delete left"),
    _key("delete_right", "delete,ctrl+d", "delete_right", "Delete right"),
    _key(
        "delete_word_left",
        "ctrl+w,ctrl+backspace,alt+backspace",
        "delete_word_left",
        "Delete word left",
    ),
    _key("delete_word_right", "alt+delete,alt+d", "delete_word_right", "Delete word right"),
    _key(
        "delete_to_start",
        "ctrl+u,super+backspace",
        "delete_to_start_of_line",
        "Delete to line start",
    ),
    _key("delete_to_end", "ctrl+k", "delete_to_end_of_line_or_delete_line", "Delete to line end"),
    _key("cut", "ctrl+x,super+x", "cut", "Cut"),
    _key("copy", "super+c", "copy", "Copy"),
    _key("paste", "ctrl+v", "paste", "Paste"),
    _key("undo", "ctrl+underscore,super+z", "undo", "Undo"),
    _key("redo", "ctrl+y,super+y", "redo", "Redo"),
)
"""What every editor has."""

COMPOSER_KEYS: Final = (*PRIMARY_KEYS, *EDITING_KEYS)
