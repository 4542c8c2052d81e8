"""The settings file as text: its values, and the line of each key."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from ollm_tui.config.origin import ConfigProblem, KeyPath, Origin
from ollm_tui.config.regular_file import TooLongError, read_bounded, why_unreadable
from ollm_tui.dataclass import dataclass, field
from ollm_tui.lazy import lazy_re

MAX_FILE_BYTES = 1_000_000
MAX_DEPTH = 64
"""Limit for the parts of a key and for nesting, because the parser takes quadratic time."""
# An unclosed string ends with its line or the file, so that every character is read once.
_TOKEN = lazy_re(
    r'"""(?:\\.|.)*?(?:"{3,5}|\Z)|' + r"'''.*?(?:'{3,5}|\Z)" + r'|"(?:\\.|[^"\\\n])*+"?|'
    r"'[^'\n]*+'?|#[^\n]*|[\[\]{}\n=]|[^\[\]{}\n=\"'#]+",
    re.DOTALL,
)
_MARKS = frozenset("[]{}\n=")
_QUOTED = frozenset("\"'#")
_PLACE = lazy_re(r" \((at line (\d+), column \d+|at end of document)\)$")


@dataclass(frozen=True, slots=True)
class TomlFile:
    """The contents of a file; one that cannot be read is empty and has a problem."""

    path: Path
    values: Mapping[str, object] = field(default_factory=dict)
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    problem: ConfigProblem | None = None

    def origin(self, path: KeyPath) -> Origin:
        """Return the origin of a key, or of the nearest table that contains it."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.lines:
                return Origin("file", str(self.path), self.lines[path[:end]])
        return Origin("file", str(self.path))


def read_toml(path: Path) -> TomlFile:
    """Read a settings file; a missing one is empty."""
    try:
        content = read_bounded(path, MAX_FILE_BYTES)
    except FileNotFoundError:
        if path.is_symlink():
            return _unreadable(path, "The file is a link that leads nowhere.")
        return TomlFile(path)
    except TooLongError:
        return _unreadable(path, f"The file is over {MAX_FILE_BYTES // 1000} kB.")
    except (OSError, ValueError) as error:
        return _unreadable(path, f"The file cannot be read: {why_unreadable(error)}.")
    try:
        return _parse(path, _decoded(content))
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        return _unreadable(path, "The file is not UTF-8 text.", line)


def toml_text(path: Path, text: str) -> TomlFile:
    """Return what a settings file with this text would hold."""
    return _parse(path, text)


def toml_values(path: Path) -> dict[str, object]:
    """Read the values of any TOML file.

    Raises:
        OSError: It cannot be read.
        ValueError: It is too long, not UTF-8, not TOML, or nested too deep.
    """
    return _values(_decoded(read_bounded(path, MAX_FILE_BYTES)))


def _decoded(content: bytes) -> str:
    return content.decode("utf-8-sig").replace("\r\n", "\n")


def _values(text: str) -> dict[str, object]:
    if _max_parts(text) > MAX_DEPTH:
        raise ValueError(f"a key has over {MAX_DEPTH} parts")
    try:
        values = tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("its tables and lists are nested too deep") from error
    level: list[object] = [values]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
    if level:
        raise ValueError("its tables and lists are nested too deep")
    return values


def _inside(value: object) -> Iterable[object]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (item for item in inner if isinstance(item, dict | list))


def _max_parts(text: str) -> int:
    """Count the parts of the longest key, before the parser sees it."""
    most = dots = 0
    for token in _TOKEN.findall(text):
        if token in _MARKS:
            dots = 0
        elif token[0] not in _QUOTED:
            first, *others = (part.count(".") for part in token.split(","))
            most = max(most, dots + first, *others)
            dots = others[-1] if others else dots + first
    return most


def _parse(path: Path, text: str) -> TomlFile:
    try:
        return TomlFile(path, _values(text), key_lines(text))
    except tomllib.TOMLDecodeError as error:
        return _malformed(path, text, str(error))
    except ValueError:
        return _unreadable(path, "The file has a number that is too large, or is nested too deep.")


def _unreadable(path: Path, message: str, line: int | None = None) -> TomlFile:
    problem = ConfigProblem(
        message, Origin("file", str(path), line), hint="Nothing of it is used until this is fixed."
    )
    return TomlFile(path, problem=problem)


def _malformed(path: Path, text: str, message: str) -> TomlFile:
    position = _PLACE.search(message)
    line = int(position.group(2)) if position and position.group(2) else text.count("\n") + 1
    return _unreadable(path, f"The file is not valid TOML: {_PLACE.sub('', message)}.", line)


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line of each table and key of a valid TOML text, in one pass over its tokens."""
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for line, head, is_value in _statements(text):
        path = key_path(head)
        if not is_value:
            table = path
        lines.setdefault(path if not is_value else table + path, line)
    return lines


def _statements(text: str) -> list[tuple[int, str, bool]]:
    """Split a text into (line, key, whether a value follows): `[a.b]` has none, `a.b = 1` has."""
    statements: list[tuple[int, str, bool]] = []
    line, depth, head, is_value = 1, 0, "", False
    for token in [*_TOKEN.findall(text), "\n"]:
        if token == "\n" and depth == 0:
            if head.strip():
                statements.append((line - head.count("\n"), head.strip(), is_value))
            head, is_value = "", False
        elif token in {"[", "{"} and is_value:
            depth += 1
        elif token in {"]", "}"} and is_value:
            depth -= 1
        elif token == "=" and depth == 0:
            is_value = True
        elif not is_value and not token.startswith("#"):
            head += token
        if is_value and head:
            statements.append((line, head.strip(), True))
            head = ""
        line += token.count("\n")
    return statements


def key_path(head: str) -> KeyPath:
    """Return the parts of a key, or of the head of a table; quoted parts may contain dots."""
    path: list[str] = []
    node: object = tomllib.loads(head if head.startswith("[") else f"{head} = 0")
    while isinstance(node, dict) and node:
        key, node = next(iter(node.items()))
        path.append(key)
        while isinstance(node, list) and node:
            node = node[0]
    return tuple(path)
