"""The keymap: the table of keys with the user's own keys in it, and what is wrong with those."""

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from textual.binding import Binding
from textual.keys import REPLACED_KEYS, Keys, key_to_character

from ollm_tui.config.origin import nearest, summarize
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_name
from ollm_tui.tui.keys.key import Key, KeyHint, Scope, display_key, short
from ollm_tui.tui.keys.reading import READING
from ollm_tui.tui.keys.table import EDITING, KEYS, LETTERS, SCREENS

_IDLE: Final = ("composer.newline", "chat.models", "chat.palette", "chat.help")
_BUSY: Final = ("chat.stop",)
_ON_MESSAGE: Final = ("cursor.leave", "cursor.copy")
_HINTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "ready": _IDLE,
        "error": ("chat.retry", *_IDLE),
        "asking": (),  # the question names its own keys
        "message": (*_ON_MESSAGE, "cursor.again", "cursor.select"),
        "question": (*_ON_MESSAGE, "cursor.edit", "cursor.again", "cursor.select"),
        "answer": (*_ON_MESSAGE, "cursor.next_code", "cursor.again", "cursor.select"),
        "running": (*_ON_MESSAGE, "cursor.cancel", "cursor.fold"),
        "foldable": (*_ON_MESSAGE, "cursor.fold", "cursor.select"),
        "caret": ("caret.leave", "caret.mark", "caret.copy", "caret.all"),
        **dict.fromkeys(("loading", "reading", "compacting", "waiting"), _BUSY),
        **dict.fromkeys(("thinking", "answering", "tools", "drawing", "making", "command"), _BUSY),
    }
)
"""The keys that the status line names, by the state of the chat or by what the cursor is on."""

_LETTERS: Final = "letters"


@dataclass(frozen=True, slots=True)
class RefusedKey:
    """An entry below [keymap] that cannot be used: the action keeps its own key."""

    id: str
    message: str
    find_hint: Callable[[], str | None] | None = field(default=None, compare=False, repr=False)
    """Finds a hint; called only when the refusal is shown."""
    owner: Key | None = field(default=None, compare=False)
    """The action that has the key already, if that is why."""

    def __str__(self) -> str:
        """Return message and hint on one line."""
        hint = self.find_hint() if self.find_hint is not None else None
        return f"{self.message} {hint}" if hint else self.message


@dataclass(slots=True)
class Keymap:
    """The table with the user's own keys in it."""

    keys: tuple[Key, ...] = KEYS
    chosen: Mapping[str, str] = field(default_factory=dict)
    """A user's own keys that are used, by the id of the action."""
    refused: tuple[RefusedKey, ...] = ()
    _views: dict[str, dict[str, str]] = field(default_factory=dict, compare=False, repr=False)
    """What was handed out by scope, so that it changes with the keys."""

    def adopt(self, other: "Keymap") -> None:
        """Take the keys of another keymap, also in what was handed out before."""
        self.keys, self.chosen, self.refused = other.keys, other.chosen, other.refused
        for scope, view in self._views.items():
            view.clear()
            view.update(self._letters() if scope == _LETTERS else self._actions(scope))

    @property
    def problems(self) -> tuple[str, ...]:
        """What was refused, in short sentences."""
        return summarize(self.refused)

    def of_scopes(self, *scopes: str) -> list[Key]:
        """Return the keys of some scopes, in the order of the table."""
        return [key for key in self.keys if key.scope in scopes]

    def bindings(self, *scopes: Scope) -> list[Binding]:
        """Return the bindings of one screen; they go before those of the focused widget."""
        return [
            Binding(key.keys, key.action, key.description, id=key.id, priority=True)
            for key in self.of_scopes(*scopes)
            if key.action and key.id not in LETTERS
        ]

    def actions(self, scope: Scope) -> Mapping[str, str]:
        """Return the actions of a scope by the name of the key."""
        return self._views.setdefault(scope, self._actions(scope))

    def _actions(self, scope: str) -> dict[str, str]:
        return {name: key.action for key in self.of_scopes(scope) for name in key.names}

    def yielded_to(self, scope: Scope) -> frozenset[str]:
        """Return the chat screen's actions whose keys mean something else in a scope."""
        taken = self.actions(scope).keys()
        return frozenset(
            key.action.partition("(")[0]
            for key in self.of_scopes("chat", "find")
            if taken & set(key.names) and key.id not in LETTERS
        )

    def letters(self) -> Mapping[str, str]:
        """Return the actions of the keys that act only while the input is empty."""
        return self._views.setdefault(_LETTERS, self._letters())

    def _letters(self) -> dict[str, str]:
        return {name: key.action for key in self.keys if key.id in LETTERS for name in key.names}

    def hints(self, state: str = "ready", *, over: str | None = None) -> list[KeyHint]:
        """Return the keys that matter now, the most important first.

        `over` names what the cursor or the caret in the transcript is on. Its keys replace those
        of the state, except for the key that stops an answer, which goes before all.
        """
        ids = _HINTS.get(state, _HINTS["ready"])
        if over is None:
            return self.hints_of(*ids)
        stop = _BUSY if ids == _BUSY else ()
        hints: dict[str, KeyHint] = {}
        for hint in self.hints_of(*stop, *_HINTS[over]):
            hints.setdefault(hint.label, hint)
        return list(hints.values())

    def hints_of(self, *ids: str) -> list[KeyHint]:
        """Return the first key and the label of each of these actions."""
        labels = {key.id: (key.names[0], key.label) for key in self.keys}
        return [KeyHint(short(labels[one][0]), labels[one][1]) for one in ids]

    def key_for(self, key_id: str) -> str:
        """Return the first key of an action as people write it."""
        return display_key(next(key.keys for key in self.keys if key.id == key_id).split(",")[0])


_MODIFIERS: Final = ("ctrl", "alt", "shift", "super", "hyper", "meta")
_NAMED: Final = frozenset(key.value.rpartition("+")[2] for key in Keys if len(key.value) > 1)
_SCOPES_WITH_INPUT: Final = frozenset(
    {"chat", "composer", "find", "chats", "models", "find_models"}
)
"""The scopes in which letters go into an input."""


def with_overrides(overrides: Mapping[str, str]) -> Keymap:
    """Put the user's keys, by the id of the action, into the table; refuse what cannot be used."""
    known = {key.id: key for key in (*KEYS, *EDITING)}
    refused: list[RefusedKey] = []
    chosen: dict[str, str] = {}
    for key_id, names in overrides.items():
        refusal = _refusal(key_id, names, known)
        if refusal is None:
            chosen[key_id] = names
        else:
            refused.append(refusal)
    # an action that is given its own key may share it, as it does in the table
    moved = [key_id for key_id, names in chosen.items() if names != known[key_id].keys]
    while moved and (clash := _first_clash(_with(chosen), moved)) is not None:
        del chosen[clash.id]
        moved.remove(clash.id)
        refused.append(clash)
    return Keymap(_with(chosen), chosen, tuple(refused))


def _with(chosen: Mapping[str, str]) -> tuple[Key, ...]:
    return tuple(replace(key, keys=chosen[key.id]) if key.id in chosen else key for key in KEYS)


def _refusal(key_id: str, names: str, known: Mapping[str, Key]) -> RefusedKey | None:
    if key_id not in known:
        what = f"[keymap] has no action named {key_id}."
        return RefusedKey(
            key_id, what, lambda: _did_you_mean(nearest(key_id, known)) or "F1 lists them."
        )
    written = [name.strip() for name in names.split(",")]
    if wrong := next((name for name in written if not is_key(name)), None):
        usual = "Keys are written as in ctrl+l, alt+up or f4."
        what = f"[keymap] gives {key_id} an unknown key: {clean_name(wrong[:40])}."
        return RefusedKey(key_id, what, lambda: _did_you_mean(nearest_key(wrong)) or usual)
    if not all(written):
        return RefusedKey(key_id, f"[keymap] gives {key_id} no key.", lambda: "Remove the line.")
    scope = known[key_id].scope
    typed = next((name for name in written if is_typed(name)), None)
    if typed is not None and scope in _SCOPES_WITH_INPUT and key_id not in LETTERS:
        what = (
            f"[keymap] cannot give {display_key(typed)} to {key_id}: it could no longer be typed."
        )
        return RefusedKey(key_id, what, lambda: f"Add a modifier, as in alt+{typed}.")
    return None


def _did_you_mean(near: str | None) -> str | None:
    return f"Did you mean {near}?" if near else None


def _first_clash(keys: Iterable[Key], moved: Sequence[str]) -> RefusedKey | None:
    """Return the first action that loses a key which another action has too."""
    owners: dict[str, list[Key]] = {}
    for key in keys:
        for name in key.names:
            others = owners.setdefault(name, [])
            for other in others:
                both = [one.id for one in (other, key) if one.id in moved]
                if both and _overlap(other, key):
                    what = f"[keymap] gives {display_key(name)} to both {other.id} and {key.id}."
                    refused = max(both, key=moved.index)
                    return RefusedKey(refused, what, owner=other if refused == key.id else key)
            others.append(key)
    return None


def _overlap(one: Key, other: Key) -> bool:
    """Return whether both keys can act at the same time."""
    scopes = {one.scope, other.scope}
    if len(scopes) == 1:
        return True
    if "dictation" in scopes or scopes & SCREENS.keys():
        return False
    if scopes & {"cursor", "caret"}:
        return "chat" in scopes and not {one.id, other.id} & LETTERS
    # either the search or the input has the focus
    return scopes != {"composer", "find"}


def is_key(name: str) -> bool:
    """Return whether there is such a key: `ctrl+l`, `f4`, `question_mark`, or an empty name."""
    *modifiers, base = name.split("+")
    if not all(one in _MODIFIERS for one in modifiers) or len(set(modifiers)) < len(modifiers):
        return not name
    if len(base) == 1:
        return base.isprintable() and not (modifiers and base.isupper())
    return base in _NAMED or (base.islower() and _character(base) is not None)


def is_typed(name: str) -> bool:
    """Return whether a key writes a character."""
    character = _character(name)
    return character is not None and unicodedata.category(character)[0] != "C"


def _character(name: str) -> str | None:
    # some keys have a shorter name than their character: `slash`
    return key_to_character(REPLACED_KEYS.get(name, name))


def nearest_key(name: str) -> str | None:
    """Return the key that was probably meant, or None if none is near."""
    *modifiers, base = name.lower().replace("control", "ctrl").replace("-", "+").split("+")
    modifiers = [nearest(one, _MODIFIERS) or one for one in modifiers]
    if not is_key(base):
        base = nearest(base, _NAMED) or base
    near = "+".join([*modifiers, base])
    return near if near != name and is_key(near) and base else None


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
            "Separate several keys by commas. After a modifier, write the name of a character:",
            "`ctrl+comma`, `ctrl+underscore`, `alt+left_square_bracket`.",
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
