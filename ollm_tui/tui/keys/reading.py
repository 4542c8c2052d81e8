"""The keys for reading: the cursor on a message, the caret in its text, one message alone."""

from typing import Final

from ollm_tui.tui.keys.key import Key


def _caret(name: str, key: str, description: str) -> Key:
    """Return a key that moves the caret; with Shift it selects."""
    shifted = f"ctrl+shift+{key.removeprefix('ctrl+')}" if "ctrl+" in key else f"shift+{key}"
    return Key(f"caret.{name}", f"{key},{shifted}", f"caret_move('{name}')", description)


READING: Final = (
    Key("cursor.up", "up", "cursor_step(-1)", "Previous message"),
    Key("cursor.down", "down", "cursor_step(1)", "Next message"),
    Key("cursor.first", "home", "cursor_edge(-1)", "First message"),
    Key("cursor.last", "end", "cursor_edge(1)", "Last message"),
    Key("cursor.next_code", "tab", "cursor_code(1)", "Next code block", "code"),
    Key("cursor.previous_code", "shift+tab", "cursor_code(-1)", "Previous code block"),
    Key("cursor.copy", "c", "cursor_copy", "Copy the message, or the code block", "copy"),
    Key("cursor.select", "v", "cursor_select", "Select text from here", "select"),
    Key("cursor.edit", "e", "cursor_edit", "Edit your message and continue from there", "edit"),
    Key("cursor.again", "r", "cursor_again", "Ask again and continue from there", "again"),
    Key("cursor.previous_branch", "less_than_sign,left", "cursor_branch('previous')",
        "Previous version of the message", "versions", "it has several"),
    Key("cursor.next_branch", "greater_than_sign,right", "cursor_branch('next')",
        "Next version of the message", when="it has several"),
    Key("cursor.fork", "f", "cursor_branch('fork')", "Copy the chat up to here to a new chat",
        "fork"),
    Key("cursor.delete", "d", "cursor_branch('delete')", "Delete the message and what follows",
        "delete"),
    Key("cursor.undelete", "u", "cursor_branch('undelete')", "Undo the last deletion", "undo"),
    Key("cursor.mark", "m", "cursor_mark", "Mark the message, or remove its mark", "mark"),
    Key("cursor.previous_mark", "left_square_bracket", "cursor_mark('previous')",
        "Previous marked message"),
    Key("cursor.next_mark", "right_square_bracket", "cursor_mark('next')", "Next marked message"),
    Key("cursor.fold", "space", "cursor_fold", "Fold or unfold", "fold"),
    Key("cursor.cancel", "x", "cursor_cancel", "Cancel this tool; the others go on", "cancel",
        "on a tool that runs", command="cancel"),
    Key("cursor.leave", "escape,enter", "cursor_leave", "Back to the input", "back"),
    _caret("left", "left", "Left (with Shift: select; the same below)"),
    _caret("right", "right", "Right"),
    _caret("up", "up", "Up"),
    _caret("down", "down", "Down"),
    _caret("word_left", "ctrl+left", "Word left"),
    _caret("word_right", "ctrl+right", "Word right"),
    _caret("line_start", "home", "Start of the row"),
    _caret("line_end", "end", "End of the row"),
    _caret("page_up", "pageup", "Page up"),
    _caret("page_down", "pagedown", "Page down"),
    _caret("top", "ctrl+home", "Beginning of the chat"),
    _caret("bottom", "ctrl+end", "End of the chat"),
    Key("caret.mark", "v,space", "caret_mark", "Start or end selecting", "select"),
    Key("caret.all", "a", "caret_all", "Select everything", "all"),
    Key("caret.copy", "c,enter", "caret_copy", "Copy what is selected", "copy"),
    Key("caret.leave", "escape", "caret_leave", "Back to the message", "back"),
)  # fmt: skip
"""The keys of the messages cursor and of the caret: the transcript itself looks them up."""

FOCUS: Final = (
    Key("focus.up", "up,k", "line(-1)", "Scroll up"),
    Key("focus.down", "down,j", "line(1)", "Scroll down"),
    Key("focus.page_up", "pageup,b", "page(-1)", "Scroll up a page"),
    Key("focus.page_down", "pagedown,space", "page(1)", "Scroll down a page"),
    Key("focus.top", "home,g", "edge(-1)", "Scroll to the top"),
    Key("focus.bottom", "end,G", "edge(1)", "Scroll to the bottom"),
    Key("focus.copy", "c", "copy", "Copy the message, or the code block", "copy"),
    Key("focus.select", "v", "select", "Select text", "select"),
    Key("focus.next_code", "tab", "code(1)", "Next code block", "code"),
    Key("focus.previous_code", "shift+tab", "code(-1)", "Previous code block"),
    Key("focus.tables", "w,alt+w", "tables", "Fold wide tables, or scroll them sideways",
        "tables"),
    Key("focus.left", "left,alt+left", "sideways(-1)", "Scroll wide tables left"),
    Key("focus.right", "right,alt+right", "sideways(1)", "Scroll wide tables right"),
    Key("focus.back", "escape,q,ctrl+c", "back", "Return to the chat", "back"),
)  # fmt: skip
"""The keys of the screen that shows one message alone."""
