"""Changes one key of the settings file and keeps everything else as it is."""

from collections.abc import MutableMapping
from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError

from ollm_tui.config.private_file import write_private
from ollm_tui.config.regular_file import read_bounded, real_path, why_unreadable
from ollm_tui.config.toml_file import LARGEST_FILE_BYTES, key_path, toml_values
from ollm_tui.protocol.errors import AIError, ErrorCode

TomlValue = str | int | float | bool | list[str]


def set_key(path: Path, dotted_key: str, value: TomlValue | None) -> None:
    """Write one value; None removes the key. Comments stay, and a crash leaves the old file.

    Raises:
        AIError: CONFLICT if the file is not valid TOML or the key is a table;
            INTERNAL_ERROR if it cannot be written.
    """
    try:
        text = _changed(_text(path), dotted_key, value)
        write_private(real_path(path), text.encode())  # a link into a dotfiles folder stays one
    except (TOMLKitError, ValueError, RecursionError) as error:
        raise AIError(
            ErrorCode.CONFLICT,
            f"{path} is not valid TOML, so it was left as it is.",
            hint="`ollm config check` names the line.",
        ) from error
    except OSError as error:
        raise AIError(
            ErrorCode.INTERNAL_ERROR, f"{path} cannot be written: {why_unreadable(error)}."
        ) from error


def _text(path: Path) -> str:
    try:
        toml_values(path)  # bounds what the slower parser below is given
        return read_bounded(path, LARGEST_FILE_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        return ""


def _changed(text: str, dotted_key: str, value: TomlValue | None) -> str:
    document = tomlkit.parse(text)
    *tables, key = key_path(dotted_key)
    node: MutableMapping[str, object] = document
    for part in tables:
        if part not in node:
            if value is None:
                return text
            node[part] = tomlkit.table()
        child = node[part]
        if not isinstance(child, MutableMapping):
            raise AIError(ErrorCode.CONFLICT, f"`{part}` is a value in the file, not a table.")
        node = child
    if value is None:
        node.pop(key, None)
    else:
        node[key] = value
    return tomlkit.dumps(document)
