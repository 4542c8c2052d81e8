"""Every key of the app in one table: bindings, help, palette and the reference page come from it.

A person remaps a key in `[keymap]` by the id of the action: `"chat.models" = "f4"`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from textual.binding import Binding

from ollm_tui.config.origin import summarize
from ollm_tui.decode.clean import clean_name
from ollm_tui.tui.keys.composer import EDITING_KEYS, PRIMARY_KEYS
from ollm_tui.tui.keys.details import DETAILS_ROWS
from ollm_tui.tui.keys.downloads import DOWNLOADS_KEYS
from ollm_tui.tui.keys.finding import FETCH_LABELS, FETCH_WHEN, FIND_MODELS_KEYS, VARIANT_KEYS
from ollm_tui.tui.keys.transcript import CARET_KEYS, CURSOR_KEYS
from ollm_tui.tui.widgets.key_line import KeyHint

Scope: TypeAlias = Literal[
    "chat",
    "composer",
    "find",
    "cursor",
    "caret",
    "models",
    "details",
    "find_models",
    "variant",
    "downloads",
]
"""Who answers to the key: the chat screen, the input, the screen while it searches, the chat that
somebody goes through, the list of models, the details of one, or what finds models: its screen,
its choice, the downloads."""


@dataclass(frozen=True, slots=True)
class Key:
    """One action that a key can reach."""

    id: str
    keys: str
    action: str
    """The screen's action, or the transcript's; empty where a widget brings its own binding."""
    description: str
    label: str = ""
    """The word for the status line, where space is short."""
    when: str = ""
    """When it does something, where that is not always."""
    in_palette: bool = False
    command: str = ""
    """The slash command that does the same."""

    @property
    def scope(self) -> str:
        """The part before the dot: who answers to the key."""
        return self.id.partition(".")[0]


_CHAT_KEYS: Final[tuple[Key, ...]] = (
    Key("chat.stop", "escape", "stop", "Stop the answer", "stop", "while answering"),
    Key("chat.back", "escape", "escape", "Twice: edit your last message", "",
        "idle, input empty"),
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
    Key("chat.context", "f6", "show('context')", "Context: make room", "context",
        in_palette=True, command="context"),
    Key("chat.links", "f8", "show('links')", "Open a link in the last answer", in_palette=True,
        command="links"),
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

_WHILE_SEARCHING: Final = "while searching"
_FIND_KEYS: Final[tuple[Key, ...]] = (
    Key("find.older", "up,enter", "find_step(-1)", "Previous match", "older", _WHILE_SEARCHING),
    Key("find.newer", "down,shift+enter", "find_step(1)", "Next match", "newer", _WHILE_SEARCHING),
    Key("find.close", "escape", "find_close", "Close the search and stay there", "close",
        _WHILE_SEARCHING),
)  # fmt: skip

_MODELS_KEYS: Final[tuple[Key, ...]] = (
    Key("models.chat", "enter", "chat", "Chat with the selected model", "chat"),
    Key("models.menu", "f2", "menu", "Actions for this model", "actions"),
    Key("models.find", "ctrl+f", "find_models", "Find and download models", "find",
        in_palette=True),
    Key("models.downloads", "tab", "to_downloads", "Go to downloads", "downloads"),
    Key("models.details", "f4", "deed('show')", "Show details", "details",
        in_palette=True),
    Key("models.ask_again", "f5", "ask_again", "Refresh", "refresh",
        in_palette=True),
    Key("models.load", "f6", "deed('load')", "Load", "load", "if the server can",
        in_palette=True),
    Key("models.unload", "f7", "deed('unload')", "Unload", "unload", "if the server can",
        in_palette=True),
    Key("models.delete", "f8", "deed('delete')", "Delete…", "delete",
        "if the server can", in_palette=True),
    Key("models.copy", "f9", "deed('copy')", "Copy as…", "copy", "if the server can",
        in_palette=True),
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


def _of_row(
    key_id: str, keys: str, action: str, description: str, label: str = "", when: str = ""
) -> Key:
    return Key(key_id, keys, action, description, label, when)


_DETAILS_KEYS: Final = tuple(_of_row(*row) for row in DETAILS_ROWS)

_WHEN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "composer.complete": "suggestions are shown",
        "composer.dismiss": "suggestions are shown",
        "composer.history_previous": "on the first line; first what is queued",
        "composer.history_next": "on the last line",
        "composer.expand_paste": "on folded text",
        **FETCH_WHEN,
    }
)
_LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "composer.submit": "send",
        "composer.newline": "newline",
        "cursor.copy": "copy",
        "cursor.next_code": "code",
        "cursor.fold": "fold",
        "cursor.leave": "back",
        "cursor.select": "select",
        "cursor.edit": "edit",
        "cursor.again": "again",
        "caret.mark": "select",
        "caret.all": "all",
        "caret.copy": "copy",
        "caret.leave": "back",
        **FETCH_LABELS,
    }
)


def _of_widget(binding: Binding) -> Key:
    key_id = binding.id or ""
    return Key(
        key_id,
        binding.key,
        "",
        binding.description,
        _LABELS.get(key_id, ""),
        _WHEN.get(key_id, ""),
    )


def _of_reader(binding: Binding) -> Key:
    return replace(_of_widget(binding), action=binding.action)


READING: Final = tuple(map(_of_reader, (*CURSOR_KEYS, *CARET_KEYS)))
"""What counts while somebody goes through the chat: the transcript itself looks them up."""

KEYS: Final = (
    *map(_of_widget, PRIMARY_KEYS),
    *_CHAT_KEYS,
    *_FIND_KEYS,
    *READING,
    *_MODELS_KEYS,
    *_DETAILS_KEYS,
    *map(_of_reader, (*FIND_MODELS_KEYS, *VARIANT_KEYS)),
    *map(_of_widget, DOWNLOADS_KEYS),
)
"""What belongs to a chat, and to the other screens."""

SCREENS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "models": "In the list of models",
        "details": "In the details of a model",
        "find_models": "In the model search",
        "variant": "While choosing a download",
        "downloads": "In the list of downloads",
    }
)
"""The scopes of screens that take the chat's place, and what their keys are headed by."""

EDITING: Final = tuple(map(_of_widget, EDITING_KEYS))
"""What every editor has."""


LETTERS: Final = frozenset({"chat.retry", "chat.go_on", "chat.help_mark", "chat.leave"})
"""What a key does that is pressed in an empty input: the input itself looks them up."""

_IDLE: Final = ("composer.newline", "chat.models", "chat.palette", "chat.help")
_BUSY: Final = ("chat.stop",)
_HINTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "ready": _IDLE,
        "error": ("chat.retry", *_IDLE),
        "asking": (),  # the question names its own keys
        "message": ("cursor.leave", "cursor.copy", "cursor.again", "cursor.select"),
        "question": (
            *("cursor.leave", "cursor.copy", "cursor.edit", "cursor.again", "cursor.select"),
        ),
        "answer": (
            *("cursor.leave", "cursor.copy", "cursor.next_code", "cursor.again", "cursor.select"),
        ),
        "foldable": ("cursor.leave", "cursor.copy", "cursor.fold", "cursor.select"),
        "caret": ("caret.leave", "caret.mark", "caret.copy", "caret.all"),
        **dict.fromkeys(("loading", "waiting", "thinking", "answering", "tools"), _BUSY),
    }
)


@dataclass(frozen=True, slots=True)
class RefusedKey:
    """What a person wrote below [keymap] and what cannot be used: the action keeps its own key."""

    id: str
    message: str
    find_hint: Callable[[], str | None] | None = field(default=None, compare=False, repr=False)
    """Looks a hint up where it is shown."""

    def __str__(self) -> str:
        """Give sentence and hint on one line."""
        hint = self.find_hint() if self.find_hint is not None else None
        return f"{self.message} {hint}" if hint else self.message


@dataclass(frozen=True, slots=True)
class Keymap:
    """The table with a person's own keys in it, and what was wrong with them."""

    keys: tuple[Key, ...] = KEYS
    chosen: Mapping[str, str] = field(default_factory=dict)
    """A person's own keys that are used, by the id of the action."""
    refused: tuple[RefusedKey, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        """Say what was refused, in short."""
        return summarize(self.refused)

    def bindings(self, *scopes: Scope) -> list[Binding]:
        """Make the bindings of one screen; they go before those of the focused widget."""
        return [
            Binding(key.keys, key.action, key.description, id=key.id, priority=True)
            for key in self.keys
            if key.scope in scopes and key.action and key.id not in LETTERS
        ]

    def actions(self, scope: Scope) -> Mapping[str, str]:
        """Give the action of each key of a scope."""
        return {
            name: key.action for key in self.keys if key.scope == scope for name in names_of(key)
        }

    def yielded_to(self, scope: Scope) -> frozenset[str]:
        """Name the screen's actions whose keys mean something else in a scope."""
        taken = self.actions(scope).keys()
        return frozenset(
            key.action.partition("(")[0]
            for key in self.keys
            if key.scope in {"chat", "find"}
            and taken & set(names_of(key))
            and key.id not in LETTERS
        )

    def letters(self) -> Mapping[str, str]:
        """Give the keys that act only while the input is empty, with their actions."""
        found = [key for key in self.keys if key.id in LETTERS]
        return {name: key.action for key in found for name in names_of(key)}

    def hints(self, state: str = "ready", *, over: str | None = None) -> list[KeyHint]:
        """Give the keys that matter now, the one that matters most first.

        `over` names the keys of a transcript that somebody goes through. They take the place of
        the others, but for the key that stops an answer: that one goes before all.
        """
        ids = _HINTS.get(state, _HINTS["ready"])
        if over is None:
            return self.hints_of(*ids)
        stop = _BUSY if ids == _BUSY else ()
        found: dict[str, KeyHint] = {}
        for hint in self.hints_of(*stop, *_HINTS[over]):
            found.setdefault(hint.label, hint)
        return list(found.values())

    def hints_of(self, *ids: str) -> list[KeyHint]:
        """Give the first key of each of these actions, and its word."""
        labels = {key.id: (names_of(key)[0], key.label) for key in self.keys}
        return [KeyHint(short(labels[one][0]), labels[one][1]) for one in ids]

    def key_for(self, key_id: str) -> str:
        """Give the first key of an action as a person reads it."""
        return display(next(key.keys for key in self.keys if key.id == key_id).split(",")[0])


def names_of(key: Key) -> list[str]:
    """Give the keys of an action, one by one."""
    return [name.strip() for name in key.keys.split(",") if name.strip()]


_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {"question_mark": "?", "slash": "/", "escape": "Esc", "pageup": "PgUp", "pagedown": "PgDn"}
)


def display(key: str) -> str:
    """Write a key as people do: `ctrl+l` is `Ctrl+L`."""
    # What stands in somebody's settings may be no key at all.
    if len(key) == 1:
        return clean_name(key)
    return clean_name("+".join(_WORDS.get(part, part.capitalize()) for part in key.split("+")))


def short(key: str) -> str:
    """Write a key as the status line does: `ctrl+l` is `^L`."""
    modifier, plus, letter = key.partition("+")
    return (
        f"^{clean_name(letter.upper())}"
        if plus and modifier == "ctrl" and len(letter) == 1
        else display(key)
    )


def display_all(key: Key) -> str:
    """Write all keys of an action."""
    return ", ".join(display(name) for name in names_of(key))
