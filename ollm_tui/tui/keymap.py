"""Every key of the app in one table: bindings, help, palette and the reference page come from it.

A person remaps a key in `[keymap]` by the id of the action: `"chat.models" = "f4"`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from textual.binding import Binding

Scope: TypeAlias = Literal["chat", "composer"]
"""Who answers to the key: the chat screen or the input."""


@dataclass(frozen=True, slots=True)
class Key:
    """One action that a key can reach."""

    id: str
    keys: str
    action: str
    """The screen's action; empty where a widget brings its own binding."""
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


KEYS: Final[tuple[Key, ...]] = (
    Key("composer.submit", "enter", "", "Send the message", "send"),
    Key("composer.newline", "ctrl+j,shift+enter,alt+enter", "", "Begin a new line", "newline"),
    Key("composer.complete", "tab", "", "Take the suggestion", when="suggestions are shown"),
    Key("composer.history_previous", "up", "", "Earlier prompt", when="on the first line"),
    Key("composer.history_next", "down", "", "Later prompt", when="on the last line"),
    Key("chat.stop", "escape", "stop", "Stop the answer", "stop", "while an answer comes"),
    Key("chat.interrupt", "ctrl+c", "interrupt", "Stop, copy, clear the input, or twice: quit"),
    Key("chat.retry", "r", "retry_error", "Try again", "retry", "after an error, input empty",
        command="retry"),
    Key("chat.new", "ctrl+n", "new_chat", "New chat", "new", in_palette=True, command="new"),
    Key("chat.models", "ctrl+l", "models", "Choose a model", "model", in_palette=True,
        command="model"),
    Key("chat.next_recent", "f2", "next_recent", "Next recent model", in_palette=True),
    Key("chat.palette", "ctrl+p", "palette", "Command palette", "palette"),
    Key("chat.help", "f1", "help", "Help", "help", in_palette=True, command="help"),
    Key("chat.help_mark", "question_mark", "help_mark", "Help", when="the input is empty"),
    Key("chat.thinking", "ctrl+t", "toggle_thinking", "Show or fold thinking", in_palette=True),
    Key("chat.page_up", "pageup", "scroll_page(-1)", "Scroll up a page"),
    Key("chat.page_down", "pagedown", "scroll_page(1)", "Scroll down a page"),
    Key("chat.line_up", "shift+up", "scroll_line(-1)", "Scroll up a line"),
    Key("chat.line_down", "shift+down", "scroll_line(1)", "Scroll down a line"),
    Key("chat.top", "ctrl+home", "scroll_edge(-1)", "Scroll to the beginning"),
    Key("chat.bottom", "ctrl+end", "scroll_edge(1)", "Scroll to the end and follow"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Keymap:
    """The table with a person's own keys in it, and what was wrong with them."""

    keys: tuple[Key, ...] = KEYS
    problems: tuple[str, ...] = ()

    def bindings(self, scope: Scope) -> list[Binding]:
        """Make the bindings of one screen; they go before those of the focused widget."""
        return [
            Binding(key.keys, key.action, key.description, id=key.id, priority=True)
            for key in self.keys
            if key.scope == scope and key.action
        ]

    def key_for(self, key_id: str) -> str:
        """Give the first key of an action as a person reads it."""
        return display(next(key.keys for key in self.keys if key.id == key_id).split(",")[0])


def with_overrides(overrides: Mapping[str, str]) -> Keymap:
    """Put a person's keys into the table; unknown ids and shared keys become sentences."""
    known = {key.id for key in KEYS}
    problems = [f"[keymap] has no action named {name}." for name in overrides if name not in known]
    keys = tuple(_replaced(key, overrides.get(key.id)) for key in KEYS)
    return Keymap(keys, (*problems, *_conflicts(keys, set(overrides))))


def _replaced(key: Key, keys: str | None) -> Key:
    if not keys:
        return key
    return replace(key, keys=keys)


def _conflicts(keys: Iterable[Key], chosen: set[str]) -> list[str]:
    owners: dict[str, Key] = {}
    problems = []
    for key in keys:
        for name in _names(key):
            other = owners.setdefault(name, key)
            if other is not key and {other.id, key.id} & chosen:
                problems.append(
                    f"[keymap] gives {display(name)} to both {other.id} and {key.id}; "
                    f"{other.id} has it."
                )
    return problems


def _names(key: Key) -> list[str]:
    return [name.strip() for name in key.keys.split(",") if name.strip()]


_WORDS: Final = {
    "question_mark": "?",
    "escape": "Esc",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "enter": "Enter",
}


def display(key: str) -> str:
    """Write a key as people do: `ctrl+l` is `Ctrl+L`."""
    parts = [_WORDS.get(part, part.capitalize()) for part in key.split("+")]
    return "+".join(parts)


def short(key: str) -> str:
    """Write a key as the status line does: `ctrl+l` is `^L`."""
    modifier, plus, letter = key.partition("+")
    return (
        f"^{letter.upper()}" if plus and modifier == "ctrl" and len(letter) == 1 else display(key)
    )


def display_all(key: Key) -> str:
    """Write all keys of an action."""
    return ", ".join(display(name) for name in _names(key))


def reference_page(keys: Iterable[Key] = KEYS) -> str:
    """Write the page of all keys, as Markdown."""
    lines = [
        "# Keys",
        "",
        "Each can be changed in `config.toml` by its id, for example:",
        "",
        "```toml",
        "[keymap]",
        '"chat.models" = "f4"',
        "```",
        "",
        "| Key | What it does | When | Id |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {display_all(key)} | {key.description} | {key.when or 'always'} | `{key.id}` |"
        for key in keys
    ]
    return "\n".join(lines) + "\n"
