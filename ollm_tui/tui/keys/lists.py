"""The keys of screens with a list: chats, the model search, the choice of a file, settings."""

from typing import Final

from ollm_tui.tui.keys.key import Key

CHAT_LIST: Final = (
    Key("chats.open", "enter", "open", "Open the selected chat", "open"),
    Key("chats.menu", "f2", "menu", "Actions for this chat", "actions"),
    Key("chats.view", "tab", "view", "Show the chats, the archive or the deleted chats",
        "archive/deleted"),
    Key("chats.archive", "f3", "change('archive')", "Archive it, or return it to the list",
        "archive it"),
    Key("chats.rename", "f4", "change('rename')", "Rename", "rename"),
    Key("chats.search", "f5", "search", "Search in the messages of all chats", "search"),
    Key("chats.pin", "f6", "change('pin')", "Pin it to the top, or unpin it", "pin"),
    Key("chats.tag", "f7", "change('tag')", "Change its tags", "tags"),
    Key("chats.delete", "ctrl+d,f8", "change('delete')", "Delete", "delete"),
    Key("chats.undelete", "ctrl+u", "change('undelete')",
        "Restore the deleted chat, or the one deleted last",
        "restore"),
    Key("chats.export", "f9", "change('export')", "Export to a file", "export"),
    Key("chats.import", "f10", "import", "Import chats, or stop the import", "import"),
    Key("chats.sort", "ctrl+o", "sort", "Sort by the next column", "sort"),
    Key("chats.reverse", "ctrl+y", "reverse", "Reverse the sort order"),
    Key("chats.up", "up", "move(-1)", "Select the previous chat"),
    Key("chats.down", "down", "move(1)", "Select the next chat"),
    Key("chats.page_up", "pageup", "page(-1)", "Page up"),
    Key("chats.page_down", "pagedown", "page(1)", "Page down"),
    Key("chats.top", "ctrl+home", "edge(-1)", "Select the first chat"),
    Key("chats.bottom", "ctrl+end", "edge(1)", "Select the last chat"),
    Key("chats.clear", "ctrl+c", "clear", "Clear the filter, or return to the chat"),
    Key("chats.help", "f1", "help", "Help", "help"),
    Key("chats.back", "escape,ctrl+r", "back", "Return to the chat", "back"),
)  # fmt: skip

SETTINGS: Final = (
    Key("settings.edit", "enter", "edit", "Change the setting", "change"),
    Key("settings.reset", "ctrl+r", "reset", "Remove it from the file, so that the default counts",
        "reset"),
    Key("settings.next_section", "tab", "section(1)", "Next section", "section"),
    Key("settings.previous_section", "shift+tab", "section(-1)", "Previous section"),
    Key("settings.up", "up", "move(-1)", "Previous setting"),
    Key("settings.down", "down", "move(1)", "Next setting"),
    Key("settings.page_up", "pageup", "move(-10)", "Page up"),
    Key("settings.page_down", "pagedown", "move(10)", "Page down"),
    Key("settings.help", "f1", "help", "Help", "help"),
    Key("settings.back", "escape,ctrl+c", "back", "Clear the search, or return to the chat",
        "back"),
)  # fmt: skip

FIND_MODELS: Final = (
    Key("find_models.choose", "enter", "choose", "Choose a file to download", "choose"),
    Key("find_models.up", "up", "move(-1)", "Previous model"),
    Key("find_models.down", "down", "move(1)", "Next model"),
    Key("find_models.page_up", "pageup", "move(-10)", "Page up"),
    Key("find_models.page_down", "pagedown", "move(10)", "Page down"),
    Key("find_models.purpose", "f4", "next_purpose", "Filter by purpose", "purpose"),
    Key("find_models.again", "f5", "refresh_results", "Refresh", "refresh"),
    Key("find_models.rate", "f6", "rate", "Rate it; higher-rated models come first", "rate"),
    Key("find_models.downloads", "tab", "to_downloads", "Go to downloads", "downloads"),
    Key("find_models.help", "f1", "help", "Help", "help"),
    Key("find_models.close", "escape,ctrl+c", "close", "Back", "back"),
)  # fmt: skip

VARIANT: Final = (
    Key("variant.choose", "enter", "choose", "Download", "download"),
    Key("variant.up", "up,k", "move(-1)", "Better quality"),
    Key("variant.down", "down,j", "move(1)", "Smaller file"),
    Key("variant.context", "c,right", "context(1)", "Check the fit with a larger context",
        "context"),
    Key("variant.context_less", "C,left", "context(-1)", "Check the fit with a smaller context"),
    Key("variant.cache", "v", "cache", "Check the fit with another KV cache type", "cache"),
    Key("variant.place", "w", "place", "Choose the destination", "where", "a server can pull it"),
    Key("variant.projector", "p", "projector", "Include the image encoder, or not", "pictures",
        "the model sees pictures"),
    Key("variant.close", "escape,ctrl+c,q", "close", "Cancel", "close"),
)  # fmt: skip
