"""API keys that `ollm keys set` keeps: in the system's keyring, or in a private file without one.

Each key is kept with the origin of the server it was given for, and no other server gets it. An
index in a private file says which keys there are, so that the keyring is asked for no other.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal, TypeAlias

from ollm_tui.config.connection import current_addresses
from ollm_tui.config.keys.hub import current_hub
from ollm_tui.config.origin import ConfigProblem, KeyPath, Layers, Origin, Setting, dotted
from ollm_tui.config.private_file import folder_lock, write_private
from ollm_tui.config.regular_file import read_bounded, why_unreadable
from ollm_tui.config.urls import url_origin
from ollm_tui.dataclass import dataclass, field
from ollm_tui.protocol.errors import AIError, ErrorCode

HUB: Final = "hub"
"""The name of the hub's token."""
SIGN_IN: Final = "mcp:"
"""What the name of an MCP server's sign-in begins with; it is no setting."""
CLIENT_SECRET: Final = "mcp-client:"
"""The same for the secret of the client with which the user signs in to it."""
MAX_KEY_LENGTH: Final = 10_000
_SERVICE: Final = "ollm"
_MAX_INDEX_BYTES: Final = 1_000_000
_LOCK_S: Final = 5.0
_KEYRING: Final = "the system's keyring"
_RANK: Final = 1
Place: TypeAlias = Literal["keyring", "file"]
Change: TypeAlias = Callable[[Mapping[str, "StoredKey"]], Mapping[str, "StoredKey"]]


@dataclass(frozen=True, slots=True)
class StoredKey:
    """One kept key."""

    name: str
    """The provider, `hub`, or `mcp:` or `mcp-client:` with an MCP server."""
    server: str
    """The origin of the server that it was given for."""
    place: Place
    key: str = field(default="", repr=False)
    """The key itself, if it is kept in the file."""
    left_in_keyring: bool = False
    """Whether the keyring, which was locked when this one was set, has an older one still."""

    @property
    def is_in_keyring(self) -> bool:
        """Whether the keyring has a key of this name."""
        return self.place == "keyring" or self.left_in_keyring


class KeyringProblem(Exception):
    """The keyring cannot be used; the message completes "the keyring cannot be used: ..."."""


class SystemKeyring:
    """The keyring of the desktop, by the package `keyring`, which is imported when it is used."""

    def is_there(self) -> bool:
        """Whether the package is installed and has a backend that keeps anything."""
        if find_spec("keyring") is None:
            return False
        backend = import_module("keyring").get_keyring()
        return float(getattr(backend, "priority", 0)) >= 1

    def get(self, name: str) -> str | None:
        """Return a key, or None if the keyring does not have it."""
        value = self._call("get_password", name)
        return value if isinstance(value, str) else None

    def set(self, name: str, key: str) -> None:
        """Keep a key."""
        self._call("set_password", name, key)

    def remove(self, name: str) -> None:
        """Remove a key."""
        self._call("delete_password", name)

    def _call(self, what: str, *values: str) -> object:
        try:
            return getattr(import_module("keyring"), what)(_SERVICE, *values)
        except Exception as error:  # of any backend
            raise KeyringProblem(type(error).__name__) from error


class StoredKeys:
    """The kept keys; every method blocks."""

    def __init__(self, data_dir: Path, keyring: SystemKeyring | None = None) -> None:
        self.path = data_dir / "keys.json"
        self._keyring = keyring or SystemKeyring()

    def listed(self) -> list[StoredKey]:
        """Return what is kept, by name; keys in the keyring are not read.

        Raises:
            AIError: the file cannot be read.
        """
        try:
            entries = json.loads(read_bounded(self.path, _MAX_INDEX_BYTES))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except (OSError, ValueError, RecursionError) as error:
            reason = why_unreadable(error) if isinstance(error, OSError) else "it is not JSON"
            raise AIError(
                ErrorCode.INTERNAL_ERROR,
                f"{self.path} cannot be read: {reason}.",
                hint="Move it away, and set the keys again.",
            ) from error
        return [*_entries(entries)]

    def value(self, kept: StoredKey) -> str | None:
        """Return a key.

        Raises:
            KeyringProblem: it is in the keyring, which cannot be read.
        """
        return kept.key if kept.place == "file" else self._keyring.get(kept.name)

    def set(self, name: str, server: str, key: str) -> Place:
        """Keep a key, in the keyring if there is one; return where.

        Raises:
            AIError: it cannot be written.
        """
        place: Place = "file"
        if self._keyring.is_there():
            try:
                self._keyring.set(name, key)
                place = "keyring"
            except KeyringProblem:  # locked, or refused by the user
                place = "file"

        def kept(before: StoredKey | None) -> StoredKey:
            left = place == "file" and before is not None and before.is_in_keyring
            return StoredKey(name, server, place, key if place == "file" else "", left)

        self._write(lambda keys: {**keys, name: kept(keys.get(name))})
        return place

    def remove(self, name: str) -> bool:
        """Remove a key; return False if there is none of that name.

        Raises:
            AIError: the keyring or the file cannot be changed.
        """
        kept = {one.name: one for one in self.listed()}.get(name)
        if kept is None:
            return False
        if kept.is_in_keyring:
            try:
                self._keyring.remove(name)
            except KeyringProblem as problem:
                raise AIError(
                    ErrorCode.INTERNAL_ERROR,
                    f"The key of {name} cannot be removed from {_KEYRING} ({problem}).",
                    hint="Unlock the keyring and try again.",
                ) from problem
        self._write(lambda keys: {key: one for key, one in keys.items() if key != name})
        return True

    def _write(self, change: Change) -> None:
        try:
            with folder_lock(self.path.parent, within_s=_LOCK_S):
                keys = change({one.name: one for one in self.listed()})
                entries = [_as_json(one) for one in keys.values()]
                write_private(self.path, json.dumps(entries, indent=2).encode())
        except TimeoutError as error:
            raise AIError(
                ErrorCode.CONFLICT,
                "Another program is changing the keys.",
                hint="Try again in a moment.",
            ) from error
        except OSError as error:
            raise AIError(
                ErrorCode.INTERNAL_ERROR,
                f"{self.path} cannot be written: {why_unreadable(error)}.",
            ) from error


def _entries(entries: object) -> Iterator[StoredKey]:
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        name, server, place = entry.get("name"), entry.get("server"), entry.get("place")
        key = entry.get("key", "")
        if isinstance(name, str) and isinstance(server, str) and isinstance(key, str):
            left = entry.get("left_in_keyring") is True
            yield StoredKey(name, server, "keyring" if place == "keyring" else "file", key, left)


def _as_json(kept: StoredKey) -> Mapping[str, str | bool]:
    entry = {"name": kept.name, "server": kept.server, "place": kept.place}
    left = {"left_in_keyring": True} if kept.left_in_keyring else {}
    return {**entry, "key": kept.key, **left} if kept.place == "file" else entry


def key_path_of(name: str) -> KeyPath:
    """Return the setting that a kept key stands for."""
    return ("hub", "token") if name == HUB else ("providers", name, "api_key")


def stored_settings(layers: Layers, keys: StoredKeys) -> Iterator[Setting | ConfigProblem]:
    """Yield the kept keys of all providers that have none from elsewhere."""
    try:
        listed = keys.listed()
    except AIError as error:
        yield ConfigProblem(error.message, Origin("file", str(keys.path)), hint=error.hint)
        return
    for kept in listed:
        if kept.name.startswith((SIGN_IN, CLIENT_SECRET)):
            continue
        path = key_path_of(kept.name)
        named_by = (*path[:-1], f"{path[-1]}_env")
        if layers.top(path) is not None or layers.top(named_by) is not None:
            continue
        origin = origin_of(kept, keys.path)
        try:
            value = keys.value(kept)
        except KeyringProblem as problem:
            value = None
            reason = f" ({problem})"
        else:
            reason = ""
        if value:
            yield Setting(path, value, origin, _RANK)
        else:
            yield ConfigProblem(
                f"The key of {kept.name} cannot be read from {_KEYRING}{reason}.",
                origin,
                path,
                hint=f"Unlock the keyring, or set the key again: `ollm keys set {kept.name}`.",
                severity="warning",
            )


def origin_of(kept: StoredKey, file: Path) -> Origin:
    """Return where a key is kept."""
    return Origin("keyring", _KEYRING) if kept.place == "keyring" else Origin("file", str(file))


def drop_of_other_servers(layers: Layers, keys: StoredKeys) -> Iterator[ConfigProblem]:
    """Drop each kept key whose server is no longer the one that it was given for."""
    try:
        listed = keys.listed()
    except AIError:  # reported when the keys were taken
        return
    for kept in listed:
        path = key_path_of(kept.name)
        setting = layers.top(path)
        if setting is None or setting.origin != origin_of(kept, keys.path):
            continue
        is_hub = kept.name == HUB
        now = [current_hub(layers)] if is_hub else current_addresses(layers, kept.name)
        if {url_origin(url) for url in now} != {kept.server}:
            layers.drop(setting)
            yield ConfigProblem(
                f"`{dotted(path)}` is not used: the key was kept for another server.",
                setting.origin,
                path,
                hint=f"Set it again for this one: `ollm keys set {kept.name}`.",
                severity="warning",
            )
