"""Changes the settings file and keeps everything else in it as it is."""

import tomllib
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable, Item, Table

from ollm_tui.config.origin import KeyPath, dotted
from ollm_tui.config.private_file import folder_lock, write_private
from ollm_tui.config.regular_file import read_bounded, real_path, why_unreadable
from ollm_tui.config.toml_file import MAX_FILE_BYTES, key_path, toml_values
from ollm_tui.protocol.errors import AIError, ErrorCode

TomlValue: TypeAlias = str | int | float | bool | list[Any] | Mapping[str, Any]
TomlTable: TypeAlias = Mapping[str, TomlValue]
Check: TypeAlias = Callable[[str, str], None]
LOCK_S: Final = 5.0
"""How long to wait for another program that changes the file."""


def set_key(
    path: Path,
    dotted_key: str,
    value: TomlValue | None,
    *,
    check: Check | None = None,
) -> None:
    """Write one value; None removes the key. Comments stay, and a crash leaves the old file.

    `check` gets the old text and the new one while no other program changes the file; what it
    raises leaves the file as it is.

    Raises:
        AIError: CONFLICT if the file is not valid TOML or the key is a table;
            INTERNAL_ERROR if it cannot be written.
    """
    *tables, key = key_path(dotted_key)

    def change(document: MutableMapping[str, object]) -> None:
        table = _table(document, tables, makes=value is not None)
        if table is not None:
            _set(table, key, value)

    _change(path, change, check=check)


def set_table(path: Path, keys: KeyPath, values: TomlTable, *, check: Check | None = None) -> None:
    """Write a table with these values; its other keys are removed, but not the comments in it.

    Raises:
        AIError: as `set_key`.
    """

    def change(document: MutableMapping[str, object]) -> None:
        is_new = _table(document, keys, makes=False) is None
        table = _table(document, keys, makes=True)
        assert table is not None
        _fill(table, values)
        if is_new and isinstance(table, Table):
            table.add(tomlkit.nl())

    _change(path, change, expected=(keys, values), check=check)


def _change(
    path: Path,
    change: Callable[[MutableMapping[str, object]], None],
    expected: tuple[KeyPath, TomlTable] | None = None,
    check: Check | None = None,
) -> None:
    """Change the file while no other program does; `expected` is checked before it is written."""
    target = real_path(path)  # a link into a dotfiles folder stays one
    try:
        # Of the folder: the file itself is replaced by a new one.
        with folder_lock(target.parent, within_s=LOCK_S):
            before = file_text(path)
            document = tomlkit.parse(before)
            change(document)
            after = tomlkit.dumps(document)
            if after.endswith("\n\n") and not before.endswith("\n\n"):
                after = after.rstrip("\n") + "\n"  # a new table ends with an empty line
            _check(path, after, expected)
            if check is not None:
                check(before, after)
            write_private(target, after.encode())
    except (TOMLKitError, ValueError, RecursionError) as error:
        raise AIError(
            ErrorCode.CONFLICT,
            f"{path} is not valid TOML, so it was left as it is.",
            hint="`ollm config check` names the line.",
        ) from error
    except TimeoutError as error:
        raise AIError(
            ErrorCode.CONFLICT,
            f"Another program is changing {path}, so it was left as it is.",
            hint="Try again in a moment.",
        ) from error
    except OSError as error:
        raise AIError(
            ErrorCode.INTERNAL_ERROR, f"{path} cannot be written: {why_unreadable(error)}."
        ) from error


def file_text(path: Path) -> str:
    """Return the text of a TOML file; a missing one is empty.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not valid TOML.
    """
    try:
        toml_values(path)  # bounds what the slower parser below is given
        return read_bounded(path, MAX_FILE_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        return ""


def _check(path: Path, text: str, expected: tuple[KeyPath, TomlTable] | None) -> None:
    """Refuse to write a text that is not TOML, or that has other values than those expected."""
    node: object = tomllib.loads(text)
    keys, values = expected or ((), node)
    for key in keys:
        node = node.get(key) if isinstance(node, dict) else None
    if node != values:
        raise AIError(
            ErrorCode.CONFLICT,
            f"`{dotted(keys)}` cannot be changed in {path}, so it was left as it is.",
            hint="Change it in the file yourself.",
        )


def _table(
    document: MutableMapping[str, object], keys: KeyPath | list[str], *, makes: bool
) -> MutableMapping[str, object] | None:
    """Return the table of a key, or None if there is none and it is not to be made."""
    node = document
    for number, part in enumerate(keys, 1):
        if part not in node:
            if not makes:
                return None
            node[part] = _new_table(node, is_last=number == len(keys))
        child = node[part]
        if not isinstance(child, MutableMapping):
            raise AIError(ErrorCode.CONFLICT, f"`{part}` is a value in the file, not a table.")
        node = child
    return node


def _fill(table: MutableMapping[str, object], values: TomlTable) -> None:
    for key in [key for key in table if key not in values]:
        del table[key]
    for key, value in values.items():
        inner = table.get(key)
        if isinstance(value, Mapping) and isinstance(inner, MutableMapping):
            _fill(inner, value)
        elif inner != value:
            _set(table, key, value)


def _set(table: MutableMapping[str, object], key: str, value: TomlValue | None) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = _item(value)


def _new_table(above: MutableMapping[str, object], *, is_last: bool) -> Item:
    if isinstance(above, InlineTable):
        return tomlkit.inline_table()
    # `[profiles]` needs no line of its own above `[profiles.coding]`
    return tomlkit.table(is_super_table=not is_last)


def _item(value: TomlValue) -> Item:
    """Return a value as it is written: a long text on several lines, a table on one."""
    if isinstance(value, str) and "\n" in value:
        return tomlkit.string(value, multiline=True)
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        for key, inner in value.items():
            table[key] = _item(inner)
        return table
    return tomlkit.item(value)
