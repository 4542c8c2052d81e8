"""Every key of the app in one table: bindings, help, palette and reference page are read from it.

A person remaps a key in `[keymap]` by the id of the action: `"chat.models" = "f4"`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from ollm_tui.models.actions import ACTIONS, MenuEntry, ModelAction
from ollm_tui.tui.keys.key import Key


@dataclass(frozen=True, slots=True)
class ModelCommand:
    """Something that can be done with a model, as its keys and menu entries offer it."""

    action: ModelAction
    entry: MenuEntry

    @property
    def key(self) -> Key:
        """Its key on the models screen."""
        key_id = f"models.{self.entry.name}"
        return self._key(key_id, f"model_action('{self.action}')", in_palette=True)

    @property
    def details_key(self) -> Key:
        """Its key in the details of a model, if it has a name there."""
        return self._key(f"details.{self.entry.details_name}", f"leave('{self.action}')")

    def _key(self, key_id: str, action: str, *, in_palette: bool = False) -> Key:
        entry = self.entry
        return Key(key_id, entry.keys, action, entry.title, entry.label, entry.when, in_palette)


_COMMANDS = [ModelCommand(action, known.menu) for action, known in ACTIONS.items() if known.menu]
MODEL_COMMANDS: Final[Mapping[ModelAction, ModelCommand]] = MappingProxyType(
    {one.action: one for one in sorted(_COMMANDS, key=lambda one: one.entry.order)}
)
"""What can be done with a model, by its action, in the order of the menu."""


def named_commands(*, is_loaded: bool) -> Sequence[ModelCommand]:
    """Return what the line of keys names, without actions that would change nothing."""
    named = (
        one
        for one in MODEL_COMMANDS.values()
        if not ACTIONS[one.action].has_happened(is_loaded=is_loaded)
    )
    return sorted(named, key=lambda one: one.entry.line_order)


def _in_key_order(*keys: Key) -> list[Key]:
    return sorted(keys, key=lambda key: key.keys)


def _caret(name: str, key: str, description: str) -> Key:
    """Return a key that moves the caret; with Shift it selects."""
    shifted = f"ctrl+shift+{key.removeprefix('ctrl+')}" if "ctrl+" in key else f"shift+{key}"
    return Key(f"caret.{name}", f"{key},{shifted}", f"caret_move('{name}')", description)


_CHAT: Final = (
    Key("chat.stop", "escape", "stop", "Stop the answer", "stop", "while answering"),
    Key("chat.back", "escape", "escape", "Twice: edit your last message", "", "idle, input empty"),
    Key("chat.interrupt", "ctrl+c", "interrupt",
        "Stop, copy, cancel an edit or clear the input; twice quits"),
    Key("chat.suspend", "ctrl+z", "", "Suspend; `fg` resumes", when="everywhere"),
    Key("chat.leave", "ctrl+d", "leave", "Quit", when="the input is empty"),
    Key("chat.retry", "r", "retry_error", "Try again", "retry", "after an error, input empty",
        command="retry"),
    Key("chat.go_on", "g", "go_on", "Continue after the tool limit", "continue",
        "after the tool limit, input empty"),
    Key("chat.new", "ctrl+n", "do('new_chat')", "New chat", "new", in_palette=True, command="new"),
    Key("chat.models", "ctrl+l", "show('models')", "Choose a model", "model", in_palette=True,
        command="model"),
    Key("chat.manager", "f3", "show('manager')", "Manage models",
        "models", in_palette=True, command="models"),
    Key("chat.chats", "ctrl+r", "show('chats')", "Open a saved chat", "chats", in_palette=True,
        command="chats"),
    Key("chat.search", "f5", "show('search')", "Search in all chats", in_palette=True,
        command="search"),
    Key("chat.context", "f6", "show('context')", "Context: make room", "context",
        in_palette=True, command="context"),
    Key("chat.links", "f8", "show('links')", "Open a link in the last answer", in_palette=True,
        command="links"),
    Key("chat.dictate", "f9", "do('dictate')", "Dictate a message", in_palette=True,
        command="dictate"),
    Key("chat.permissions", "shift+tab", "cycle_permissions", "Change auto-approved tools",
        in_palette=True),
    Key("chat.next_recent", "f2", "do('next_recent')", "Next recent model", in_palette=True),
    Key("chat.palette", "ctrl+p", "show('palette')", "Command palette", "palette"),
    Key("chat.help", "f1", "show('help')", "Help", "help", in_palette=True, command="help"),
    Key("chat.help_mark", "question_mark", "show('help')", "Help", when="the input is empty"),
    Key("chat.thinking", "ctrl+t", "fold('thinking')", "Toggle thinking", in_palette=True),
    Key("chat.tools", "ctrl+o", "fold('tools')", "Toggle tool output", in_palette=True),
    Key("chat.find", "ctrl+f", "do('find')", "Search in this chat", "find", in_palette=True,
        command="find"),
    Key("chat.messages", "alt+up", "go_through(-1)", "Previous message", "messages",
        in_palette=True),
    Key("chat.messages_down", "alt+down", "go_through(1)", "Next message"),
    Key("chat.page_up", "pageup", "scroll_page(-1)", "Scroll up a page"),
    Key("chat.page_down", "pagedown", "scroll_page(1)", "Scroll down a page"),
    Key("chat.line_up", "shift+up", "scroll_line(-1)", "Scroll up a line"),
    Key("chat.line_down", "shift+down", "scroll_line(1)", "Scroll down a line"),
    Key("chat.top", "ctrl+home", "scroll_edge(-1)", "Scroll to the top"),
    Key("chat.bottom", "ctrl+end", "scroll_edge(1)", "Scroll to the bottom and follow"),
)  # fmt: skip

_COMPOSER: Final = (
    Key("composer.submit", "enter", "submit", "Send the message", "send"),
    Key("composer.newline", "ctrl+j,shift+enter,alt+enter", "newline", "New line", "newline"),
    Key("composer.complete", "tab", "complete", "Accept the suggestion",
        when="suggestions are shown"),
    Key("composer.dismiss", "escape", "dismiss", "Close the suggestions",
        when="suggestions are shown"),
    Key("composer.history_previous", "up", "cursor_up", "Previous prompt",
        when="on the first line; first what is queued"),
    Key("composer.history_next", "down", "cursor_down", "Next prompt", when="on the last line"),
    Key("composer.expand_paste", "ctrl+o", "expand_paste", "Expand the pasted text at the cursor",
        when="on folded text"),
)  # fmt: skip

EDITING: Final = (
    Key("composer.left", "left", "cursor_left", "Left"),
    Key("composer.right", "right", "cursor_right", "Right"),
    Key("composer.word_left", "ctrl+left,alt+b", "cursor_word_left", "Word left"),
    Key("composer.word_right", "ctrl+right,alt+f", "cursor_word_right", "Word right"),
    Key("composer.line_start", "home,ctrl+a", "cursor_line_start", "Start of the line"),
    Key("composer.line_end", "end,ctrl+e", "cursor_line_end", "End of the line"),
    Key("composer.select_left", "shift+left", "cursor_left(True)", "Select left"),
    Key("composer.select_right", "shift+right", "cursor_right(True)", "Select right"),
    Key("composer.select_word_left", "ctrl+shift+left", "cursor_word_left(True)",
        "Select word left"),
    Key("composer.select_word_right", "ctrl+shift+right", "cursor_word_right(True)",
        "Select word right"),
    Key("composer.select_line_start", "shift+home", "cursor_line_start(True)",
        "Select to line start"),
    Key("composer.select_line_end", "shift+end", "cursor_line_end(True)", "Select to line end"),
    Key("composer.select_all", "f7", "select_all", "Select all"),
    Key("composer.delete_left", "backspace", "delete_left", "Delete left"),
    Key("composer.delete_right", "delete,ctrl+d", "delete_right", "Delete right"),
    Key("composer.delete_word_left", "ctrl+w,ctrl+backspace,alt+backspace", "delete_word_left",
        "Delete word left"),
    Key("composer.delete_word_right", "alt+delete,alt+d", "delete_word_right", "Delete word right"),
    Key("composer.delete_to_start", "ctrl+u,super+backspace", "delete_to_start_of_line",
        "Delete to line start"),
    Key("composer.delete_to_end", "ctrl+k", "delete_to_end_of_line_or_delete_line",
        "Delete to line end"),
    Key("composer.cut", "ctrl+x,super+x", "cut", "Cut"),
    Key("composer.copy", "super+c", "copy", "Copy"),
    Key("composer.paste", "ctrl+v", "paste", "Paste"),
    Key("composer.undo", "ctrl+underscore,super+z", "undo", "Undo"),
    Key("composer.redo", "ctrl+y,super+y", "redo", "Redo"),
)  # fmt: skip
"""The keys of the composer that every editor has."""

COMPOSER: Final = (*_COMPOSER, *EDITING)

_WHILE_RECORDING: Final = "while dictating"
_DICTATION: Final = (
    Key("dictation.insert", "enter", "do('insert')", "Stop recording and insert the text",
        "insert", _WHILE_RECORDING),
    Key("dictation.cancel", "escape", "do('cancel')", "Cancel the dictation", "cancel",
        _WHILE_RECORDING),
)  # fmt: skip

_WHILE_SEARCHING: Final = "while searching"
_FIND: Final = (
    Key("find.older", "up,enter", "find_step(-1)", "Previous match", "older", _WHILE_SEARCHING),
    Key("find.newer", "down,shift+enter", "find_step(1)", "Next match", "newer", _WHILE_SEARCHING),
    Key("find.close", "escape", "find_close", "Close the search and stay there", "close",
        _WHILE_SEARCHING),
)  # fmt: skip

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
    Key("cursor.fold", "space", "cursor_fold", "Fold or unfold", "fold"),
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

_MODELS: Final = (
    Key("models.chat", "enter", "chat", "Chat with the selected model", "chat"),
    Key("models.menu", "f2", "menu", "Actions for this model", "actions"),
    Key("models.find", "ctrl+f", "find_models", "Find and download models", "find",
        in_palette=True),
    Key("models.downloads", "tab", "to_downloads", "Go to downloads", "downloads"),
    *_in_key_order(
        Key("models.refresh", "f5", "refresh_lists", "Refresh", "refresh", in_palette=True),
        *(command.key for command in MODEL_COMMANDS.values()),
    ),
    Key("models.sort", "ctrl+o", "sort", "Sort by the next column", "sort", in_palette=True),
    Key("models.reverse", "ctrl+r", "reverse", "Reverse the sort order", in_palette=True),
    Key("models.up", "up", "move(-1)", "Select the previous model"),
    Key("models.down", "down", "move(1)", "Select the next model"),
    Key("models.page_up", "pageup", "page(-1)", "Page up"),
    Key("models.page_down", "pagedown", "page(1)", "Page down"),
    Key("models.top", "ctrl+home", "edge(-1)", "Select the first model"),
    Key("models.bottom", "ctrl+end", "edge(1)", "Select the last model"),
    Key("models.clear", "ctrl+c", "clear", "Clear the filter, or return to the chat"),
    Key("models.palette", "ctrl+p", "show('palette')", "Command palette"),
    Key("models.help", "f1", "show('help')", "Help", "help"),
    Key("models.back", "escape,f3", "back", "Return to the chat", "back"),
)  # fmt: skip

_DETAILS: Final = (
    Key("details.back", "escape,q", "back", "Back", "back"),
    Key("details.next", "tab", "section(1)", "Next section", "section"),
    Key("details.previous", "shift+tab", "section(-1)", "Previous section"),
    Key("details.copy", "c", "copy", "Copy this section", "copy"),
    Key("details.find", "slash,ctrl+f", "find", "Search in the details", "find"),
    Key("details.find_next", "n", "again(1)", "Next match", "next", "after a search"),
    Key("details.find_before", "N", "again(-1)", "Previous match", when="after a search"),
    Key("details.chat", "enter", "leave('chat')", "Chat with this model", "chat"),
    *_in_key_order(
        *(one.details_key for one in MODEL_COMMANDS.values() if one.entry.details_name)
    ),
    Key("details.up", "up,k", "line(-1)", "Scroll up a line"),
    Key("details.down", "down,j", "line(1)", "Scroll down a line"),
    Key("details.page_up", "pageup", "page(-1)", "Scroll up a page"),
    Key("details.page_down", "pagedown,space", "page(1)", "Scroll down a page"),
    Key("details.top", "home,ctrl+home", "edge(-1)", "Scroll to the top"),
    Key("details.bottom", "end,ctrl+end", "edge(1)", "Scroll to the bottom"),
)  # fmt: skip

_FIND_MODELS: Final = (
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

_VARIANT: Final = (
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

DOWNLOADS: Final = (
    Key("downloads.up", "up,k", "mark(-1)", "Previous download"),
    Key("downloads.down", "down,j", "mark(1)", "Next download"),
    Key("downloads.pause", "p,space", "want('pause')", "Pause or resume", "pause"),
    Key("downloads.cancel", "x,delete", "want('cancel')", "Cancel and delete the partial file",
        "cancel"),
    Key("downloads.retry", "r", "want('retry')", "Retry from where it stopped", "retry"),
    Key("downloads.dismiss", "d,backspace", "want('dismiss')",
        "Remove a finished download from the list", "dismiss"),
    Key("downloads.chat", "enter", "want('chat')", "Chat with the downloaded model", "chat"),
    Key("downloads.leave", "escape,tab", "leave", "Return to the model list", "back"),
)  # fmt: skip

KEYS: Final = (
    *_COMPOSER, *_DICTATION, *_CHAT, *_FIND, *READING,
    *_MODELS, *_DETAILS, *_FIND_MODELS, *_VARIANT, *DOWNLOADS,
)  # fmt: skip
"""Every key but those of `EDITING`, as help and the reference page list them."""

SCREENS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "models": "In the list of models",
        "details": "In the details of a model",
        "find_models": "In the model search",
        "variant": "While choosing a download",
        "downloads": "In the list of downloads",
    }
)
"""The scopes of screens that take the chat's place, with the headings of their keys."""

LETTERS: Final = frozenset({"chat.retry", "chat.go_on", "chat.help_mark", "chat.leave"})
"""Keys that act while the input is empty: the input itself looks them up."""


def reference_page() -> str:
    """Return the reference page of all keys, as Markdown."""
    return "\n".join(
        [
            "# Keys",
            "",
            "Each can be changed in `config.toml` by its id, for example:",
            "",
            "```toml",
            "[keymap]",
            '"chat.models" = "f4"',
            "```",
            "",
            *_rows(key for key in KEYS if key not in READING and key.scope not in SCREENS),
            "",
            "## While browsing messages",
            "",
            *_rows(READING),
            "",
            *(line for scope, head in SCREENS.items() for line in _screen_rows(scope, head)),
            "## In the input",
            "",
            *_rows(EDITING),
            "",
        ]
    )


def _screen_rows(scope: str, head: str) -> list[str]:
    return [f"## {head}", "", *_rows(key for key in KEYS if key.scope == scope), ""]


def _rows(keys: Iterable[Key]) -> list[str]:
    head = ["| Key | What it does | When | Id |", "|---|---|---|---|"]
    return head + [
        f"| {key.shown} | {key.description} | {key.when or 'always'} | `{key.id}` |" for key in keys
    ]
