"""Where a value came from, and what is wrong with it."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

KeyPath: TypeAlias = tuple[str, ...]
Severity: TypeAlias = Literal["error", "warning"]


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


DEFAULT = Origin("default")


def dotted(path: KeyPath) -> str:
    """Give a key as it stands in TOML, quoted where it has to be."""
    return ".".join(part if _is_bare(part) else f'"{part}"' for part in path)


def _is_bare(part: str) -> bool:
    return bool(part) and part.isascii() and part.replace("-", "a").replace("_", "a").isalnum()


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One thing wrong with the settings: a sentence that names place and key, never a value."""

    message: str
    origin: Origin
    path: KeyPath = ()
    hint: str | None = None
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
        return f"{place}{self.message}" + (f" {self.hint}" if self.hint else "")
