"""Where a value came from, and what is wrong with it."""

from collections.abc import Callable, Iterable
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
