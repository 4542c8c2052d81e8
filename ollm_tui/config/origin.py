"""Settings with their origins, the layers that they form, and the problems found in them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Literal, TypeAlias

from ollm_tui.dataclass import dataclass, field
from ollm_tui.lazy import lazy_re

KeyPath: TypeAlias = tuple[str, ...]
Severity: TypeAlias = Literal["error", "warning"]
_BARE = lazy_re(r"[A-Za-z0-9_-]+")
_MAX_COMPARED = 200
_MAX_COMPARED_LENGTH = 64
"""Characters; the time for comparing words grows with the product of their lengths."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A place that a value can come from."""

    kind: Literal["flag", "environment", "file", "keyring", "default"]
    name: str = ""
    """The flag as typed, the name of the variable or the path of the file."""
    line: int | None = None

    def __str__(self) -> str:
        """Name the place so that the user can find it."""
        if self.kind == "default":
            return "default"
        return f"{self.name}:{self.line}" if self.line else self.name


MAX_SHOWN = 20
"""Problems shown when a program starts."""
MAX_LISTED = 100
"""Problems shown by `ollm config check`."""
DEFAULT = Origin("default")


def dotted(path: KeyPath) -> str:
    """Return a key as written in TOML, quoted where necessary."""
    return ".".join(part if _BARE.fullmatch(part) else f'"{part}"' for part in path)


def summarize(problems: Iterable[object]) -> tuple[str, ...]:
    """Return the first of many problems, and a note about the others."""
    listed = tuple(problems)
    sentences = tuple(map(str, listed[:MAX_SHOWN]))
    left = len(listed) - MAX_SHOWN
    return sentences if left <= 0 else (*sentences, f"And {left:,} more: see `ollm config check`.")


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One mistake in the settings: a sentence with place and key, but never the value."""

    message: str
    origin: Origin
    path: KeyPath = ()
    hint: str | None = None
    find_hint: Callable[[], str | None] | None = field(default=None, compare=False, repr=False)
    """Finds a hint when it is shown, because comparing words for thousands of mistakes is slow."""
    severity: Severity = "error"
    waits: bool = False
    """Whether it concerns a single provider and is reported only where that is used."""

    @property
    def key(self) -> str | None:
        """The key in dotted form; None if the whole file is concerned."""
        return dotted(self.path) if self.path else None

    def __str__(self) -> str:
        """Return place, sentence and hint on one line."""
        prefix = "" if self.origin.kind == "default" else f"{self.origin}: "
        hint = self.advice
        return f"{prefix}{self.message}" + (f" {hint}" if hint else "")

    @property
    def advice(self) -> str | None:
        """Return the hint."""
        return self.hint if self.find_hint is None else self.find_hint()


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the most similar known word."""
    # Costs some milliseconds at the start and is only needed after a typing mistake.
    from difflib import get_close_matches

    short = (name for name in islice(known, _MAX_COMPARED) if len(name) <= _MAX_COMPARED_LENGTH)
    by_lower = {name.lower(): name for name in short}
    wanted = word[:_MAX_COMPARED_LENGTH].lower().replace("-", "_")
    close = get_close_matches(wanted, by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None


MAX_RANK = 5


@dataclass(frozen=True, slots=True)
class Setting:
    """One value at one key, from one place."""

    path: KeyPath
    value: object = field(repr=False)
    origin: Origin
    rank: int
    """0 is a default, 1 the file, 2 a profile, 3 the environment, 4 a profile that the command line
    names, 5 the command line itself."""


def leaves(values: Mapping[str, object], base: KeyPath = ()) -> Iterator[tuple[KeyPath, object]]:
    """Yield each key of nested tables with its value; an empty table is a value."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, (*base, key))
        else:
            yield (*base, key), value


class Layers:
    """All values from all places; dropping an invalid one uncovers the value below it.

    Each key is also indexed by every key above it, so that finding the values of one table does not
    depend on the size of the others.
    """

    def __init__(self) -> None:
        self._stacks: dict[KeyPath, list[Setting]] = {}
        self._under: dict[KeyPath, dict[KeyPath, None]] = {}

    def add(self, setting: Setting) -> None:
        """Add a value to the layer of its rank."""
        path = setting.path
        if path not in self._stacks:
            self._stacks[path] = []
            for end in range(len(path) + 1):
                self._under.setdefault(path[:end], {})[path] = None
        stack = self._stacks[path]
        stack.append(setting)
        stack.sort(key=lambda setting: setting.rank)

    def top(self, path: KeyPath) -> Setting | None:
        """Return the value that wins at a key."""
        stack = self._stacks.get(path)
        return stack[-1] if stack else None

    def all_of(self, path: KeyPath) -> tuple[Setting, ...]:
        """Return all values of one key, the lowest first."""
        return tuple(self._stacks.get(path, ()))

    def below(self, path: KeyPath) -> tuple[Setting, ...]:
        """Return the values that win at a key and at every key below it."""
        stacks = (self._stacks[at] for at in self._under.get(path, ()))
        return tuple(stack[-1] for stack in stacks if stack)

    def drop(self, setting: Setting) -> None:
        """Remove a value."""
        self._stacks[setting.path].remove(setting)

    def counting(self, path: KeyPath) -> Setting | None:
        """Return the winning value of a key, unless a value above it that is no table hides it."""
        winner = self.top(path)
        above = (self.top(path[:end]) for end in range(1, len(path)))
        is_hidden = any(one is not None and not isinstance(one.value, Mapping) for one in above)
        return None if is_hidden else winner

    def winners(self) -> dict[KeyPath, Setting]:
        """Return the values that win; one that is not a table hides what is below its key."""
        counting = ((path, self.counting(path)) for path in self._stacks)
        return {path: setting for path, setting in counting if setting is not None}

    def nested(self) -> dict[str, object]:
        """Return the values that win as nested tables."""
        root: dict[str, object] = {}
        for path, setting in sorted(self.winners().items(), key=lambda item: len(item[0])):
            node = root
            for part in path[:-1]:
                child = node.setdefault(part, {})
                assert isinstance(child, dict)
                node = child
            if setting.value == {}:
                node.setdefault(path[-1], {})
            else:
                node[path[-1]] = setting.value
        return root
