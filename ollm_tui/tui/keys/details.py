"""The keys of a model's details as rows of the table of keys: id, keys, action, what it does."""

from typing import Final

DETAILS_ROWS: Final[tuple[tuple[str, ...], ...]] = (
    ("details.back", "escape,q", "back", "Back", "back"),
    ("details.next", "tab", "section(1)", "Next section", "section"),
    ("details.previous", "shift+tab", "section(-1)", "Previous section"),
    ("details.copy", "c", "copy", "Copy this section", "copy"),
    ("details.find", "slash,ctrl+f", "find", "Search in the details", "find"),
    ("details.find_next", "n", "again(1)", "Next match", "next", "after a search"),
    ("details.find_before", "N", "again(-1)", "Previous match", "", "after a search"),
    ("details.chat", "enter", "leave('chat')", "Chat with this model", "chat"),
    ("details.load", "f6", "leave('load')", "Load", "load", "if the server can"),
    ("details.unload", "f7", "leave('unload')", "Unload", "unload", "if the server can"),
    ("details.delete", "f8", "leave('delete')", "Delete…", "delete",
     "if the server can"),
    ("details.second_name", "f9", "leave('copy')", "Copy as…", "copy",
     "if the server can"),
    ("details.up", "up,k", "line(-1)", "Scroll up a line"),
    ("details.down", "down,j", "line(1)", "Scroll down a line"),
    ("details.page_up", "pageup", "page(-1)", "Scroll up a page"),
    ("details.page_down", "pagedown,space", "page(1)", "Scroll down a page"),
    ("details.top", "home,ctrl+home", "edge(-1)", "Scroll to the top"),
    ("details.bottom", "end,ctrl+end", "edge(1)", "Scroll to the bottom"),
)  # fmt: skip
