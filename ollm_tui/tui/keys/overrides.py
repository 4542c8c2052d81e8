"""A person's own keys: which of them can be used, and what is wrong with the others."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from textual.keys import REPLACED_KEYS, Keys, key_to_character

from ollm_tui.config.origin import nearest
from ollm_tui.decode.clean import clean_name
from ollm_tui.tui.keys.table import (
    EDITING,
    KEYS,
    LETTERS,
    SCREENS,
    Key,
    Keymap,
    RefusedKey,
    display,
    names_of,
)

_MODIFIERS: Final = ("ctrl", "alt", "shift", "super", "hyper", "meta")
_NAMED: Final = frozenset(key.value.rpartition("+")[2] for key in Keys if len(key.value) > 1)
_WHERE_ONE_TYPES: Final = frozenset({"chat", "composer", "find", "models", "find_models"})
"""The scopes in which letters go into an input."""


def with_overrides(overrides: Mapping[str, str]) -> Keymap:
    """Put a person's keys into the table; what cannot be used is refused with a sentence."""
    known = {key.id: key for key in (*KEYS, *EDITING)}
    refused: list[RefusedKey] = []
    chosen: dict[str, str] = {}
    for key_id, names in overrides.items():
        refusal = _refusal(key_id, names, known)
        if refusal is None:
            chosen[key_id] = names
        else:
            refused.append(refusal)
    # An action that is given the key it has may share it, as it always did.
    moved = [key_id for key_id, names in chosen.items() if names != known[key_id].keys]
    while (clash := _first_clash(_with(chosen), moved)) is not None:
        del chosen[clash.id]
        moved.remove(clash.id)
        refused.append(clash)
    return Keymap(_with(chosen), chosen, tuple(refused))


def _with(chosen: Mapping[str, str]) -> tuple[Key, ...]:
    return tuple(replace(key, keys=chosen.get(key.id, key.keys)) for key in KEYS)


def _refusal(key_id: str, names: str, known: Mapping[str, Key]) -> RefusedKey | None:
    if key_id not in known:
        what = f"[keymap] has no action named {key_id}."
        return RefusedKey(key_id, what, lambda: _meant(nearest(key_id, known)) or "F1 lists them.")
    written = [name.strip() for name in names.split(",")]
    if wrong := next((name for name in written if not is_key(name)), None):
        usual = "Keys are written as in ctrl+l, alt+up or f4."
        what = f"[keymap] gives {key_id} an unknown key: {clean_name(wrong[:40])}."
        return RefusedKey(key_id, what, lambda: _meant(nearest_key(wrong)) or usual)
    if not all(written):
        return RefusedKey(key_id, f"[keymap] gives {key_id} no key.", lambda: "Remove the line.")
    scope = known[key_id].scope
    typed = next((name for name in written if is_typed(name)), None)
    if typed is not None and scope in _WHERE_ONE_TYPES and key_id not in LETTERS:
        what = f"[keymap] cannot give {display(typed)} to {key_id}: it could no longer be typed."
        return RefusedKey(key_id, what, lambda: f"Add a modifier, as in alt+{typed}.")
    return None


def _meant(near: str | None) -> str | None:
    return f"Did you mean {near}?" if near else None


def _first_clash(keys: Iterable[Key], moved: Sequence[str]) -> RefusedKey | None:
    """Find a key that a person gave to an action while another one has it, and who loses it."""
    owners: dict[str, list[Key]] = {}
    for key in keys:
        for name in names_of(key):
            others = owners.setdefault(name, [])
            for other in others:
                both = [one.id for one in (other, key) if one.id in moved]
                if both and _are_heard_together(other, key):
                    what = f"[keymap] gives {display(name)} to both {other.id} and {key.id}."
                    return RefusedKey(max(both, key=moved.index), what)
            others.append(key)
    return None


def _are_heard_together(one: Key, other: Key) -> bool:
    """Can both keys be meant at the same time?"""
    scopes = {one.scope, other.scope}
    if len(scopes) == 1:
        return True
    if scopes & SCREENS.keys():
        return False
    if scopes & {"cursor", "caret"}:
        return "chat" in scopes and not {one.id, other.id} & LETTERS
    # Either the line of a search has the focus or the input.
    return scopes != {"composer", "find"}


def is_key(name: str) -> bool:
    """Whether there is such a key: `ctrl+l`, `f4`, `question_mark`; an empty name is none's."""
    *modifiers, base = name.split("+")
    if not all(one in _MODIFIERS for one in modifiers) or len(set(modifiers)) < len(modifiers):
        return not name
    if len(base) == 1:
        return base.isprintable() and not (modifiers and base.isupper())
    return base in _NAMED or (base.islower() and _character(base) is not None)


def is_typed(name: str) -> bool:
    """Whether a key writes a character."""
    character = _character(name)
    return character is not None and unicodedata.category(character)[0] != "C"


def _character(name: str) -> str | None:
    # Some have a shorter name than their character: `slash`.
    return key_to_character(REPLACED_KEYS.get(name, name))


def nearest_key(name: str) -> str | None:
    """Give the key that was probably meant."""
    *modifiers, base = name.lower().replace("control", "ctrl").replace("-", "+").split("+")
    modifiers = [nearest(one, _MODIFIERS) or one for one in modifiers]
    if not is_key(base):
        base = nearest(base, _NAMED) or base
    meant = "+".join([*modifiers, base])
    return meant if meant != name and is_key(meant) and base else None
