"""Settings with their origins, the layers that they form, and the problems found in them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, TypeAlias

KeyPath: TypeAlias = tuple[str, ...]
Severity: TypeAlias = Literal["error", "warning"]
_MOST_COMPARED = 200
_LONGEST_COMPARED = 64
"""Characters; comparing words takes time with the product of their lengths."""


@dataclass(frozen=True, slots=True)
class Origin:
    """One place a value can come from."""

    kind: Literal["flag", "environment", "file", "default"]
    name: str = ""
    """The flag as typed, the variable's name or the file's path."""
    line: int | None = None

    def __str__(self) -> str:
        """Name the place as a person would look it up."""
        match self.kind:
            case "default":
                return "default"
            case "file":
                return f"{self.name}:{self.line}" if self.line else self.name
            case _:
                return self.name


MOST_SAID = 20
"""Sentences about the settings at the start of a program."""
MOST_LISTED = 100
"""Sentences of `ollm config check`."""
DEFAULT = Origin("default")


def dotted(path: KeyPath) -> str:
    """Give a key as it stands in TOML, quoted where it must be."""
    return ".".join(part if _is_bare(part) else f'"{part}"' for part in path)


def _is_bare(part: str) -> bool:
    return bool(part) and part.isascii() and part.replace("-", "a").replace("_", "a").isalnum()


def in_short(problems: Iterable[object]) -> tuple[str, ...]:
    """Give the first sentences of many, and where the others are."""
    said = tuple(problems)
    sentences = tuple(map(str, said[:MOST_SAID]))
    left = len(said) - MOST_SAID
    return sentences if left <= 0 else (*sentences, f"And {left:,} more: see `ollm config check`.")


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One thing wrong with the settings: a sentence that names place and key, never a value."""

    message: str
    origin: Origin
    path: KeyPath = ()
    hint: str | None = None
    find_hint: Callable[[], str | None] | None = field(default=None, compare=False, repr=False)
    """Looks a hint up where it is shown: comparing words takes long for thousands of mistakes."""
    severity: Severity = "error"
    waits: bool = False
    """Concerns one provider alone and is said where somebody uses it."""

    @property
    def key(self) -> str | None:
        """The key in dotted form; None when the whole file is concerned."""
        return dotted(self.path) if self.path else None

    def __str__(self) -> str:
        """Give place, sentence and hint on one line."""
        place = "" if self.origin.kind == "default" else f"{self.origin}: "
        hint = self.advice
        return f"{place}{self.message}" + (f" {hint}" if hint else "")

    @property
    def advice(self) -> str | None:
        """Give the hint, looked up if need be."""
        return self.hint if self.find_hint is None else self.find_hint()


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Give the known word that was probably meant."""
    # Costs some milliseconds of the start and is only needed after a typing mistake.
    from difflib import get_close_matches

    short = (name for name in islice(known, _MOST_COMPARED) if len(name) <= _LONGEST_COMPARED)
    by_lower = {name.lower(): name for name in short}
    wanted = word[:_LONGEST_COMPARED].lower().replace("-", "_")
    close = get_close_matches(wanted, by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None


HIGHEST_RANK = 3


@dataclass(frozen=True, slots=True)
class Setting:
    """One value at one key, from one place."""

    path: KeyPath
    value: object = field(repr=False)
    origin: Origin
    rank: int
    """0 is a default, 1 the file, 2 the environment, 3 the command line."""


def leaves(values: Mapping[str, object], base: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    """Give each key of nested tables with its value; an empty table is a value."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, (*base, key))
        else:
            yield (*base, key), value


class Layers:
    """All that was said, from which bad values can be taken out so that lower ones show.

    Each key is also filed under every key above it, so that looking up a table takes no longer
    for all that stands beside it.
    """

    def __init__(self) -> None:
        self._stacks: dict[KeyPath, list[Setting]] = {}
        self._under: dict[KeyPath, dict[KeyPath, None]] = {}

    def add(self, setting: Setting) -> None:
        """Lay a value over what was said before about the same key."""
        path = setting.path
        if path not in self._stacks:
            self._stacks[path] = []
            for end in range(len(path) + 1):
                self._under.setdefault(path[:end], {})[path] = None
        stack = self._stacks[path]
        stack.append(setting)
        stack.sort(key=lambda said: said.rank)

    def top(self, path: KeyPath) -> Setting | None:
        """Give the value that counts at a key."""
        stack = self._stacks.get(path)
        return stack[-1] if stack else None

    def all_of(self, path: KeyPath) -> tuple[Setting, ...]:
        """Give everything said about one key, the lowest first."""
        return tuple(self._stacks.get(path, ()))

    def below(self, path: KeyPath) -> tuple[Setting, ...]:
        """Give the values that count at a key and at every key below it."""
        stacks = (self._stacks[at] for at in self._under.get(path, ()))
        return tuple(stack[-1] for stack in stacks if stack)

    def drop(self, setting: Setting) -> None:
        """Take a value out."""
        self._stacks[setting.path].remove(setting)

    def counting(self, path: KeyPath) -> Setting | None:
        """Give the value of a key, unless one above it that is no table hides it."""
        said = self.top(path)
        above = (self.top(path[:end]) for end in range(1, len(path)))
        is_hidden = any(one is not None and not isinstance(one.value, Mapping) for one in above)
        return None if is_hidden else said

    def winners(self) -> dict[KeyPath, Setting]:
        """Give the values that count; one that is no table hides what lies below its key."""
        found = ((path, self.counting(path)) for path in self._stacks)
        return {path: said for path, said in found if said is not None}

    def nested(self) -> dict[str, object]:
        """Give the values that count as nested tables."""
        root: dict[str, object] = {}
        for path, said in sorted(self.winners().items(), key=lambda item: len(item[0])):
            node = root
            for part in path[:-1]:
                child = node.setdefault(part, {})
                assert isinstance(child, dict)
                node = child
            if said.value == {}:
                node.setdefault(path[-1], {})
            else:
                node[path[-1]] = said.value
        return root
