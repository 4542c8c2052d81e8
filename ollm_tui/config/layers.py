"""Values from several places, one above the other, each leaf knowing its place."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ollm_tui.config.origin import KeyPath, Origin

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
