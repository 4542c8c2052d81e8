"""Every key of the app in one table: bindings, help, palette and reference page are read from it.

The user remaps a key in `[keymap]` by the id of the action: `"chat.models" = "f4"`.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from ollm_tui.dataclass import dataclass
from ollm_tui.models.actions import ACTIONS, MenuEntry, ModelAction
from ollm_tui.tui.keys.key import Key
from ollm_tui.tui.keys.lists import CHAT_LIST, FIND_MODELS, SETTINGS, VARIANT
from ollm_tui.tui.keys.reading import FOCUS, READING


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


_CHAT: Final = (
    Key("chat.stop", "escape", "stop", "Stop the answer", "stop", "while answering"),
    Key("chat.back", "escape", "escape", "Twice: edit your last message", "", "idle, input empty"),
    Key("chat.interrupt", "ctrl+c", "interrupt",
        "Stop, copy, cancel an edit or clear the input; twice quits"),
    Key("chat.suspend", "ctrl+z", "", "Suspend; `fg` resumes", when="everywhere"),
    Key("chat.leave", "ctrl+d", "leave", "Quit", when="the input is empty"),
    Key("chat.retry", "r", "retry_error", "Try again", "retry", "after an error, input empty",
        command="retry"),
    Key("chat.go_on", "g", "go_on", "Continue after the tool limit, or not", "continue",
        "after the tool limit, input empty", command="continue"),
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
    Key("chat.editor", "ctrl+g", "do('edit_draft')", "Write in your own editor", "editor",
        in_palette=True, command="editor"),
    Key("chat.paste_picture", "alt+v", "do('paste_picture')", "Paste a picture",
        in_palette=True, command="paste"),
    Key("chat.queue", "alt+q", "show('queue')", "Change the order of waiting messages",
        in_palette=True, command="queue"),
    Key("chat.dictate", "f9", "do('dictate')", "Dictate a message", in_palette=True,
        command="dictate"),
    Key("chat.permissions", "shift+tab", "cycle_permissions", "Change auto-approved tools",
        in_palette=True),
    Key("chat.next_recent", "f2", "do('next_recent')", "Next recent model", in_palette=True),
    Key("chat.palette", "ctrl+p", "show('palette')", "Command palette", "palette"),
    Key("chat.settings", "f10,ctrl+comma", "show('settings')", "Settings", "settings",
        in_palette=True, command="settings"),
    Key("chat.help", "f1", "show('help')", "Help", "help", in_palette=True, command="help"),
    Key("chat.help_mark", "question_mark", "show('help')", "Help", when="the input is empty"),
    Key("chat.thinking", "ctrl+t", "fold('thinking')", "Toggle thinking", in_palette=True),
    Key("chat.tools", "ctrl+o", "fold('tools')", "Toggle tool output", in_palette=True),
    Key("chat.find", "ctrl+f", "do('find')", "Search in this chat", "find", in_palette=True,
        command="find"),
    Key("chat.messages", "alt+up", "go_through(-1)", "Previous message", "messages",
        in_palette=True),
    Key("chat.messages_down", "alt+down", "go_through(1)", "Next message"),
    Key("chat.previous_question", "alt+pageup", "do('previous_question')", "Previous question"),
    Key("chat.next_question", "alt+pagedown", "do('next_question')", "Next question"),
    Key("chat.focus", "alt+o", "do('focus')", "Read one message alone", in_palette=True,
        command="focus"),
    Key("chat.tables", "alt+w", "do('tables')", "Fold wide tables, or scroll them sideways",
        in_palette=True),
    Key("chat.tables_left", "alt+left", "do('tables_left')", "Scroll wide tables left"),
    Key("chat.tables_right", "alt+right", "do('tables_right')", "Scroll wide tables right"),
    Key("chat.times", "alt+t", "do('times')", "Show or hide the times of messages",
        in_palette=True, command="times"),
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

_TREE: Final = (
    Key("tree.open", "enter", "choose('open')", "Show this branch", "open"),
    Key("tree.fork", "f", "choose('fork')", "Copy this branch to a new chat", "fork"),
    Key("tree.delete", "d,delete", "choose('delete')", "Delete the message and what follows",
        "delete"),
    Key("tree.undelete", "u", "choose('undelete')", "Undo the last deletion", "undo"),
    Key("tree.close", "escape,ctrl+c", "dismiss(None)", "Close", "close"),
)  # fmt: skip

_QUEUE: Final = (
    Key("queue.edit", "enter", "arrange('edit')", "Edit the message in the input", "edit"),
    Key("queue.earlier", "shift+up,K", "arrange('earlier')", "Send it earlier", "earlier"),
    Key("queue.later", "shift+down,J", "arrange('later')", "Send it later", "later"),
    Key("queue.drop", "d,delete", "arrange('drop')", "Remove it", "remove"),
    Key("queue.close", "escape,ctrl+c", "dismiss(None)", "Close", "close"),
)  # fmt: skip

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
    *_TREE, *_QUEUE, *CHAT_LIST, *_MODELS, *_DETAILS, *FIND_MODELS, *VARIANT, *DOWNLOADS,
    *SETTINGS, *FOCUS,
)  # fmt: skip
"""Every key but those of `EDITING`, as help and the reference page list them."""

SCREENS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "tree": "In the tree of a chat",
        "queue": "In the list of waiting messages",
        "chats": "In the list of chats",
        "models": "In the list of models",
        "details": "In the details of a model",
        "find_models": "In the model search",
        "variant": "While choosing a download",
        "downloads": "In the list of downloads",
        "settings": "In the settings",
        "focus": "While reading one message alone",
    }
)
"""The scopes of screens that take the chat's place, with the headings of their keys."""

LETTERS: Final = frozenset({"chat.retry", "chat.go_on", "chat.help_mark", "chat.leave"})
"""Keys that act while the input is empty: the input itself looks them up."""
