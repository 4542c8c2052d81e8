"""`Key`: an action that a key can reach, and how a key is written."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from textual.binding import Binding

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name

Scope: TypeAlias = Literal[
    "chat", "composer", "dictation", "find", "cursor", "caret",
    "tree", "queue", "models", "details", "find_models", "variant", "downloads",
    "settings", "focus", "chats",
]  # fmt: skip
"""What handles the key: the chat screen, its input, a dictation into it, a search in the chat, the
cursor on a message, the caret in its text, the tree of a chat, the queue of messages, the list of
models, the details of one, the model search, the choice of a file, the list of downloads, the
settings, one message read alone, the list of chats."""


@dataclass(frozen=True, slots=True)
class Key:
    """One action that a key can reach."""

    id: str
    """The scope, a dot and a name."""
    keys: str
    """As Textual names them, separated by commas."""
    action: str
    """The Textual action; empty where the app itself has it."""
    description: str
    label: str = ""
    """The word for a line of keys, where space is short."""
    when: str = ""
    """When the key acts, if not always."""
    in_palette: bool = False
    command: str = ""
    """The slash command that does the same."""

    @property
    def scope(self) -> str:
        """The part of the id before the dot."""
        return self.id.partition(".")[0]

    @property
    def names(self) -> list[str]:
        """The keys, one by one."""
        return [name.strip() for name in self.keys.split(",") if name.strip()]

    @property
    def shown(self) -> str:
        """The keys as people write them."""
        return ", ".join(map(display_key, self.names))

    @property
    def binding(self) -> Binding:
        """The binding for the `BINDINGS` of a widget."""
        return Binding(self.keys, self.action, self.description, show=False, id=self.id)


@dataclass(frozen=True, slots=True)
class KeyHint:
    """A key that matters now and what it does, for a line of keys."""

    label: str
    description: str


_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "escape": "Esc",
        "pageup": "PgUp",
        "pagedown": "PgDn",
        "ampersand": "&",
        "apostrophe": "'",
        "asterisk": "*",
        "at": "@",
        "backslash": "\\",
        "circumflex_accent": "^",
        "colon": ":",
        "comma": ",",
        "dollar_sign": "$",
        "equals_sign": "=",
        "exclamation_mark": "!",
        "full_stop": ".",
        "grave_accent": "`",
        "greater_than_sign": ">",
        "left_curly_bracket": "{",
        "left_parenthesis": "(",
        "left_square_bracket": "[",
        "less_than_sign": "<",
        "minus": "-",
        "number_sign": "#",
        "percent_sign": "%",
        "plus": "+",
        "question_mark": "?",
        "quotation_mark": '"',
        "right_curly_bracket": "}",
        "right_parenthesis": ")",
        "right_square_bracket": "]",
        "semicolon": ";",
        "slash": "/",
        "tilde": "~",
        "underscore": "_",
        "vertical_line": "|",
    }
)


def display_key(key: str) -> str:
    """Return a key as people write it: `ctrl+l` is `Ctrl+L`."""
    # a key from the settings may be any text
    if len(key) == 1:
        return clean_name(key)
    return clean_name("+".join(_WORDS.get(part, part.capitalize()) for part in key.split("+")))


def short(key: str) -> str:
    """Return a key as the status line has it: `ctrl+l` is `^L`."""
    letter = key.removeprefix("ctrl+")
    is_short = letter != key and len(letter) == 1
    return f"^{clean_name(letter.upper())}" if is_short else display_key(key)
