"""A JSON value as lines, of which those of objects and lists fold."""

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.json_types import JsonValue

MAX_LINES: Final = 1_000
"""Lines of a tree that are ever shown."""
OPEN_LINES: Final = 40
"""A tree opens level by level, as long as it has no more lines than these."""

Path: TypeAlias = tuple[int, ...]
"""The place of a value: which child of which child of the whole."""
Child: TypeAlias = tuple[str | None, JsonValue]
"""A value with its key; the items of a list have none."""


@dataclass(frozen=True, slots=True)
class TreeLine:
    """One line of a tree."""

    path: Path
    key: str | None
    value: JsonValue
    is_open: bool = False
    """Whether the values inside it follow."""

    @property
    def folds(self) -> bool:
        """Whether it has anything inside."""
        return isinstance(self.value, dict | list) and bool(self.value)


class JsonTree:
    """A JSON value, and which of its objects and lists are open."""

    def __init__(self, value: JsonValue) -> None:
        self._value = value
        self._open = self._opened(OPEN_LINES)

    @property
    def is_open(self) -> bool:
        """Whether everything is open that fits."""
        return self._open >= self._opened(MAX_LINES)

    def toggle(self, path: Path) -> None:
        """Fold or unfold one object or list."""
        self._open ^= {path}

    def unfold(self) -> None:
        """Open everything, as far as that is ever shown."""
        self._open |= self._opened(MAX_LINES)

    def fold(self) -> None:
        """Show the first level alone."""
        self._open = set()

    def lines(self) -> Iterator[TreeLine]:
        """Yield the lines that are shown; the whole value has none of its own."""
        children = _children(self._value)
        if not children:
            yield TreeLine((), None, self._value)
            return
        waiting = [_numbered((), children)]
        while waiting:
            following = next(waiting[-1], None)
            if following is None:
                waiting.pop()
                continue
            path, (key, value) = following
            is_open = path in self._open
            yield TreeLine(path, key, value, is_open)
            if is_open:
                waiting.append(_numbered(path, _children(value)))

    def _opened(self, most: int) -> set[Path]:
        """Return what is open if levels open one by one, up to so many lines."""
        opened: set[Path] = set()
        level: deque[tuple[Path, JsonValue]] = deque([((), self._value)])
        lines = 0
        while level:
            path, value = level.popleft()
            children = _children(value)
            lines += len(children)
            if lines > most and path:
                break
            if path and children:
                opened.add(path)
            level += (
                ((*path, number), child)
                for number, (_key, child) in enumerate(children)
                if isinstance(child, dict | list)
            )
        return opened


def _children(value: JsonValue) -> list[Child]:
    """Return what is inside a value, as far as it is ever shown, and one more."""
    match value:
        case dict():
            return list(islice(value.items(), MAX_LINES + 1))
        case list():
            return [(None, item) for item in value[: MAX_LINES + 1]]
        case _:
            return []


def _numbered(path: Path, children: Sequence[Child]) -> Iterator[tuple[Path, Child]]:
    return (((*path, number), child) for number, child in enumerate(children))
