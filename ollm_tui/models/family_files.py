"""`FamilyLibrary`: the family files, found by the names of models, and read when they are needed.

Of a built-in file only the patterns are read until a model matches. A file of the user replaces the
built-in family with the same `_id`, and is searched before all of those.
"""

import threading
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ollm_tui.config.origin import ConfigProblem, Origin
from ollm_tui.config.regular_file import read_bounded
from ollm_tui.config.yaml_file import (
    MAX_YAML_BYTES,
    PatternText,
    YamlFile,
    YamlProblem,
    read_yaml,
)
from ollm_tui.dataclass import dataclass, field
from ollm_tui.models.family_index import DEFAULT_VARIANT, indexed_keys
from ollm_tui.models.name_pattern import NamePattern, SlowPatternError, plain_name

if TYPE_CHECKING:
    from ollm_tui.models.family_schema import Family

BUILT_IN: Final = Path(__file__).parent.parent / "families"
MAX_USER_FILES: Final = 500
_SUFFIXES: Final = frozenset({".yaml", ".yml"})


@dataclass(frozen=True)
class FamilyFile:
    """One family, as its file has it."""

    id: str
    family: "Family"
    file: YamlFile
    is_built_in: bool
    is_beside: bool = False
    """Whether these are the settings beside a model file."""

    def patterns(self) -> Sequence[tuple[str, NamePattern]]:
        """Return each variant with its pattern, in the order of the file."""
        return self._patterns

    @cached_property
    def _patterns(self) -> tuple[tuple[str, NamePattern], ...]:
        # Compiled patterns are kept: long lists of names are searched.
        written = self.family.model_pattern.items()
        return tuple(
            (name, NamePattern(one, is_built_in=self.is_built_in)) for name, one in written
        )


@dataclass(frozen=True, slots=True)
class FamilyMatch:
    """The family of a model, and the name that it was found by."""

    file: FamilyFile
    name: str


@dataclass(frozen=True, slots=True)
class _Entry:
    """What is known of a file before a model matches it."""

    path: Path
    id: str
    priority: int
    is_system: bool
    is_built_in: bool
    patterns: tuple[NamePattern, ...]

    @property
    def order(self) -> tuple[bool, bool, int, str]:
        return self.is_system, self.is_built_in, -self.priority, self.path.name


@dataclass(slots=True)
class _Index:
    entries: Sequence[_Entry] = ()
    """In the order in which they are searched."""
    by_id: dict[str, _Entry] = field(default_factory=dict)
    problems: list[ConfigProblem] = field(default_factory=list)
    slow: set[Path] = field(default_factory=set)
    """Files with a pattern that took too long; they are not searched again."""
    seen: tuple[tuple[str, int, int], ...] | None = None
    """The user's files when it was made."""


class FamilyLibrary:
    """All families, built in and the user's; its methods block, and may run in any thread."""

    def __init__(self, user_folder: Path | None = None, *, built_in: Path = BUILT_IN) -> None:
        self._user_folder = user_folder
        self._built_in = built_in
        self._built_in_entries: tuple[_Entry, ...] | None = None
        self._files: dict[Path, FamilyFile] = {}
        self._index = _Index()
        self._lock = threading.RLock()

    @property
    def problems(self) -> tuple[ConfigProblem, ...]:
        """What is wrong with files of the user; they are not used."""
        with self._lock:
            return tuple(self._current().problems)

    def faults(self) -> tuple[ConfigProblem, ...]:
        """Return the problems, and those of what the user's files extend."""
        faults = [*self.problems]
        for one in self.all():
            try:
                if not one.is_built_in:
                    self.chain(one)
            except YamlProblem as error:
                faults.append(error.problem)
        return tuple(faults)

    @property
    def state(self) -> object:
        """Compares equal until a file of the user has changed."""
        with self._lock:
            return self._current().seen

    def match(self, names: Iterable[str]) -> FamilyMatch | None:
        """Return the family of the first name that has one."""
        return self.match_each([names])[0]

    def match_each(self, models: Iterable[Iterable[str]]) -> list[FamilyMatch | None]:
        """Return the family of each of several models; looks at the user's folder once."""
        with self._lock:
            index = self._current()
            return [self._match(names, index) for names in models]

    def _match(self, names: Iterable[str], index: _Index) -> FamilyMatch | None:
        for name in names:
            plain = plain_name(name)
            for entry in index.entries if plain else ():
                if self._is_for(entry, plain, index):
                    return FamilyMatch(self._load(entry), name)
        return None

    def chain(self, start: FamilyFile) -> tuple[FamilyFile, ...]:
        """Return a family and those that it extends, the nearest first.

        Raises:
            YamlProblem: one is unknown, or they extend each other.
        """
        chain = [start]
        with self._lock:
            index = self._current()
            while (parent := chain[-1].family.extends) is not None:
                at = chain[-1].file
                words = " → ".join([*(one.id for one in chain), parent])
                if any(one.id == parent for one in chain):
                    raise at.problem(f"`extends` leads in a circle: {words}.", ("extends",))
                if parent not in index.by_id:
                    hint = f"Available: {', '.join(sorted(index.by_id))}."
                    raise at.problem(
                        f"`extends` names an unknown family: {words}.", ("extends",), hint
                    )
                chain.append(self._load(index.by_id[parent]))
        return tuple(chain)

    def all(self) -> tuple[FamilyFile, ...]:
        """Return every family, in the order in which they are searched."""
        with self._lock:
            return tuple(map(self._load, self._current().entries))

    def _is_for(self, entry: _Entry, plain: str, index: _Index) -> bool:
        if entry.path in index.slow:
            return False
        try:
            return any(pattern.is_in(plain) for pattern in entry.patterns)
        except SlowPatternError as error:
            index.slow.add(entry.path)
            message = f"A pattern {error}: the file is not used."
            index.problems.append(ConfigProblem(message, Origin("file", str(entry.path))))
            return False

    def _load(self, entry: _Entry) -> FamilyFile:
        if entry.path not in self._files:
            self._files[entry.path] = _read(entry.path, is_built_in=entry.is_built_in)
        return self._files[entry.path]

    def _current(self) -> _Index:
        seen = _listed(self._user_folder)
        if seen != self._index.seen:
            self._index = self._make(seen)
        return self._index

    def _make(self, seen: tuple[tuple[str, int, int], ...]) -> _Index:
        if self._built_in_entries is None:
            paths = sorted(self._built_in.glob("*.yaml"))
            self._built_in_entries = tuple(map(_built_in_entry, paths))
        index = _Index(seen=seen)
        users: dict[str, _Entry] = {}
        self._files = {path: one for path, one in self._files.items() if one.is_built_in}
        for name, _, _ in seen:
            try:
                loaded = _read(Path(name), is_built_in=False)
            except YamlProblem as error:
                index.problems.append(error.problem)
                continue
            if loaded.id in users:
                message = f"`_id` is also that of {users[loaded.id].path.name}."
                index.problems.append(loaded.file.problem(message, ("_id",)).problem)
                continue
            self._files[Path(name)] = loaded
            users[loaded.id] = _entry_of(loaded)
        built_in = [one for one in self._built_in_entries if one.id not in users]
        index.entries = sorted([*users.values(), *built_in], key=lambda entry: entry.order)
        index.by_id = {entry.id: entry for entry in index.entries}
        return index


def _listed(folder: Path | None) -> tuple[tuple[str, int, int], ...]:
    """Return path, time and size of each file in the user's folder.

    One without a time, such as a link that leads nowhere, cannot be read: that is reported then.
    """
    try:
        paths = sorted(folder.iterdir()) if folder is not None else []
    except OSError:
        return ()
    wanted = [one for one in paths if one.suffix in _SUFFIXES and not one.name.startswith(".")]
    listed = []
    for path in wanted[:MAX_USER_FILES]:
        try:
            status = path.stat()
        except OSError:
            listed.append((str(path), 0, 0))
        else:
            listed.append((str(path), status.st_mtime_ns, status.st_size))
    return tuple(listed)


def _read(path: Path, *, is_built_in: bool) -> FamilyFile:
    # Costs 10 ms, and a model that no file is for needs none.
    from ollm_tui.models.family_schema import read_family

    try:
        file = read_yaml(path)
    except FileNotFoundError:
        raise YamlFile(path).problem("The file no longer exists.") from None
    family = read_family(file, is_built_in=is_built_in)
    if family.id is None:
        raise file.problem("The key `_id` is missing: it names the family.")
    return FamilyFile(family.id, family, file, is_built_in)


def _entry_of(one: FamilyFile) -> _Entry:
    written = one.family.model_pattern
    return _Entry(
        path=one.file.path,
        id=one.id,
        priority=one.family.priority,
        is_system=one.family.type == "system",
        is_built_in=one.is_built_in,
        patterns=_searched(written, is_built_in=one.is_built_in),
    )


def _built_in_entry(path: Path) -> _Entry:
    """Read the keys that are indexed, without the rest of the file."""
    text = read_bounded(path, MAX_YAML_BYTES).decode("utf-8")
    values = indexed_keys(text, path)
    written, priority = values.get("modelPattern"), values.get("priority")
    return _Entry(
        path=path,
        id=str(values.get("_id")),
        priority=priority if isinstance(priority, int) else 0,
        is_system=values.get("type") == "system",
        is_built_in=True,
        patterns=_searched(written if isinstance(written, dict) else {}, is_built_in=True),
    )


def _searched(
    written: "dict[str, PatternText | str]", *, is_built_in: bool
) -> tuple[NamePattern, ...]:
    """Return the pattern of the default variant; without one, those of all variants."""
    make = partial(NamePattern, is_built_in=is_built_in)
    if DEFAULT_VARIANT in written:
        return (make(written[DEFAULT_VARIANT]),)
    return tuple(map(make, written.values()))
