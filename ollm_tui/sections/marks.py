"""What a key's type says beside the type: bounds, conversions and checks, for `Annotated`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ollm_tui.dataclass import dataclass


class NotOneOfError(ValueError):
    """A value is none of the known ones; `expected` lists them as a phrase."""

    def __init__(self, known: Sequence[str]) -> None:
        *others, last = map(repr, known)
        self.expected = f"{', '.join(others)} or {last}"
        super().__init__(f"must be one of {self.expected}")


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """How large a number may be: at least, more than, at most, less than."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    is_finite: bool = False

    def has(self, number: float) -> bool:
        """Whether a number is within."""
        return (
            (self.ge is None or number >= self.ge)
            and (self.gt is None or number > self.gt)
            and (self.le is None or number <= self.le)
            and (self.lt is None or number < self.lt)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Length:
    """How long a text or list may be."""

    least: int = 0
    most: int | None = None

    def has(self, value: Sequence[object]) -> bool:
        """Whether a value is as long as it may be."""
        return len(value) >= self.least and (self.most is None or len(value) <= self.most)


@dataclass(frozen=True, slots=True, eq=False)
class Convert:
    """Turns what is written into what the type has; a `ValueError` says why it cannot."""

    function: Callable[[Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """Looks at a value that has the type; a `ValueError` says what is wrong."""

    function: Callable[[Any], None]


@dataclass(frozen=True, slots=True, eq=False)
class CheckWithContext:
    """As `Check`, for a function that also takes the values of the keys above, and the context.

    A key that is not given may be missing there.
    """

    function: Callable[[Any, Mapping[str, Any], Any], None]


@dataclass(frozen=True, slots=True, eq=False)
class JsonSchema:
    """How the value is described in the JSON Schema, where its type is not how it is written."""

    json_schema: Mapping[str, Any]
