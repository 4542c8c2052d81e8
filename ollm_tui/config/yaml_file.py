"""YAML files as text, numbers, lists and tables, and the line of each key.

Plain values are those of JSON: `no`, `010`, `0x10`, `12:30` and dates are text.
Refused are repeated keys, keys that are not text, unknown tags, more than one document, and
whatever would become large or deep.
"""

from math import isfinite
from pathlib import Path
from typing import Any, Final, TypeAlias

from ollm_tui.config.origin import ConfigProblem, KeyPath, Origin, dotted
from ollm_tui.config.regular_file import TooLongError, read_bounded, why_unreadable
from ollm_tui.dataclass import dataclass, field
from ollm_tui.lazy import lazy_re

MAX_YAML_BYTES: Final = 1_000_000
MAX_DEPTH: Final = 50
MAX_ALIASES: Final = 100
MAX_VALUES: Final = 20_000
"""Values in one file; what an alias stands for counts each time."""
_MAX_DIGITS: Final = 18
_WHOLE: Final = lazy_re(r"[-+]?(?:0|[1-9][0-9]*)")
_NUMBER: Final = lazy_re(
    r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?"
)
_WORDS: Final = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_TEXT_TAGS: Final = frozenset({"!", "tag:yaml.org,2002:str"})
_PATTERN_TAG: Final = "!re"


@dataclass(frozen=True, slots=True)
class PatternText:
    """What follows the tag `!re`: `/pattern/flags`, not yet compiled."""

    text: str


@dataclass(frozen=True, slots=True)
class YamlFile:
    """The contents of a file."""

    path: Path
    values: dict[str, object] = field(default_factory=dict)
    lines: dict[KeyPath, int] = field(default_factory=dict)

    def origin(self, path: KeyPath) -> Origin:
        """Return the origin of a key, or of the nearest one that contains it."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.lines:
                return Origin("file", str(self.path), self.lines[path[:end]])
        return Origin("file", str(self.path))

    def problem(self, message: str, path: KeyPath = (), hint: str | None = None) -> "YamlProblem":
        """Return the error for a mistake at a key."""
        return YamlProblem(ConfigProblem(message, self.origin(path), path, hint=hint))


class YamlProblem(ValueError):
    """A file cannot be used; `problem` has the sentence with file, line and key."""

    def __init__(self, problem: ConfigProblem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def read_yaml(path: Path) -> YamlFile:
    """Read a file; blocks.

    Raises:
        FileNotFoundError: there is none.
        YamlProblem: it cannot be read.
    """
    try:
        content = read_bounded(path, MAX_YAML_BYTES)
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        raise
    except TooLongError:
        message = f"The file is over {MAX_YAML_BYTES // 1000} kB."
        raise YamlFile(path).problem(message) from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise _at(path, line, "The file is not UTF-8 text.") from None
    except (OSError, ValueError) as error:
        message = f"The file cannot be read: {why_unreadable(error)}."
        raise YamlFile(path).problem(message) from None
    return parse_yaml(text, path)


def parse_yaml(text: str, path: Path) -> YamlFile:
    """Read a text, which is a table; an empty one is an empty table.

    Raises:
        YamlProblem: it is anything else.
    """
    # Costs 10 ms, and few runs of the program read such a file.
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    reader = _Reader(path)
    try:
        for event in yaml.parse(text, Loader=loader):
            reader.take(event, type(event).__name__)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = (error.problem or "it cannot be parsed")[:200]
        raise _at(path, mark.line + 1 if mark else None, f"Not valid YAML: {why}.") from None
    except (yaml.YAMLError, UnicodeEncodeError):
        message = "Not valid YAML: it holds a character that is not allowed."
        raise YamlFile(path).problem(message) from None
    return YamlFile(path, reader.table(), reader.lines)


def _at(path: Path, line: int | None, message: str) -> YamlProblem:
    return YamlProblem(ConfigProblem(message, Origin("file", str(path), line)))


Container: TypeAlias = dict[str, object] | list[object]


@dataclass(slots=True)
class _Open:
    """A list or table that is being read."""

    value: Container
    path: KeyPath
    anchor: str | None
    before: int
    """How many values the file had before it."""
    key: str | None = None


class _Reader:
    """Puts the events of the parser together, without recursion."""

    def __init__(self, path: Path) -> None:
        self.lines: dict[KeyPath, int] = {}
        self._path = path
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[object, int]] = {}
        self._aliases = self._values = self._documents = 0
        self._root: object = None

    def table(self) -> dict[str, object]:
        """Return what was read."""
        if self._root is None:
            return {}
        if not isinstance(self._root, dict):
            raise _at(self._path, 1, "The file must be a table of keys and values.")
        return self._root

    def take(self, event: Any, kind: str) -> None:
        """Take the next event of the parser."""
        line = event.start_mark.line + 1
        match kind:
            case "DocumentStartEvent":
                self._documents += 1
                if self._documents > 1:
                    raise self._bad(line, "The file must hold one document.")
            case "MappingStartEvent":
                self._begin({}, event, line)
            case "SequenceStartEvent":
                self._begin([], event, line)
            case "MappingEndEvent" | "SequenceEndEvent":
                self._end(line)
            case "AliasEvent":
                self._alias(event.anchor, line)
            case "ScalarEvent":
                self._scalar(event, line)
            case _:
                pass

    def _begin(self, value: Container, event: Any, line: int) -> None:
        if event.tag not in (None, "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"):
            raise self._bad(line, "Lists and tables take no tag here.")
        if self._is_key():
            raise self._bad(line, "A key must be text.")
        if len(self._open) >= MAX_DEPTH:
            raise self._bad(line, f"Lists and tables are nested more than {MAX_DEPTH} deep.")
        path = self._next_path()
        if path:
            self.lines.setdefault(path, line)
        self._open.append(_Open(value, path, event.anchor, self._values))
        self._count(1, line)

    def _end(self, line: int) -> None:
        done = self._open.pop()
        self._put(done.value, done.anchor, self._values - done.before, line)

    def _alias(self, anchor: str, line: int) -> None:
        self._aliases += 1
        if self._aliases > MAX_ALIASES:
            raise self._bad(line, f"The file has more than {MAX_ALIASES} aliases.")
        if self._is_key():
            raise self._bad(line, "A key must be text.")
        if anchor not in self._anchors:
            raise self._bad(line, "An alias stands for nothing that is complete before it.")
        value, size = self._anchors[anchor]
        self._count(size, line)
        self._put(value, None, size, line)

    def _scalar(self, event: Any, line: int) -> None:
        if self._is_key():
            self._take_key(event, line)
            return
        self._count(1, line)
        self._put(self._value(event, line), event.anchor, 1, line)

    def _take_key(self, event: Any, line: int) -> None:
        table, key = self._open[-1], str(event.value)
        if event.tag not in (None, *_TEXT_TAGS):
            raise self._bad(line, "A key must be text.")
        if key in table.value:
            raise self._bad(line, f"`{dotted((*table.path, key))}` is set twice.")
        table.key = key
        self.lines[(*table.path, key)] = line

    def _value(self, event: Any, line: int) -> object:
        text = str(event.value)
        if event.tag == _PATTERN_TAG:
            return PatternText(text)
        if event.tag in _TEXT_TAGS or (event.tag is None and not event.implicit[0]):
            return text
        if event.tag is not None:
            message = "A value has a tag that is not supported. Use `!re` or `!!str`, or none."
            raise self._bad(line, message)
        return plain_value(text)

    def _put(self, value: object, anchor: str | None, size: int, line: int) -> None:
        if anchor is not None:
            self._anchors[anchor] = (value, size)
        if not self._open:
            self._root = value
            return
        into = self._open[-1]
        if isinstance(into.value, dict):
            assert into.key is not None
            into.value[into.key] = value
            into.key = None
        else:
            self.lines.setdefault((*into.path, str(len(into.value))), line)
            into.value.append(value)

    def _next_path(self) -> KeyPath:
        if not self._open:
            return ()
        into = self._open[-1]
        return (*into.path, str(len(into.value)) if into.key is None else into.key)

    def _is_key(self) -> bool:
        return (
            bool(self._open)
            and isinstance(self._open[-1].value, dict)
            and (self._open[-1].key is None)
        )

    def _count(self, more: int, line: int) -> None:
        self._values += more
        if self._values > MAX_VALUES:
            raise self._bad(line, f"The file has more than {MAX_VALUES:,} values.")

    def _bad(self, line: int, message: str) -> YamlProblem:
        return _at(self._path, line, message)


def plain_value(text: str) -> object:
    """Return the value of a text without quotes: a number, a word such as `true`, or the text."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= _MAX_DIGITS:
        if _WHOLE.fullmatch(text):
            return int(text)
        if _NUMBER.fullmatch(text) and isfinite(number := float(text)):
            return number
    return text
