"""A table that the user writes, and how its keys are declared."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from ollm_tui.dataclass import dataclass, field

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_DECLARED: Final = "declared"
_INTERNAL: Final = "internal"


class MistakesError(ValueError):
    """Values are wrong: each mistake has its place, by the keys as they are written."""

    def __init__(self, mistakes: "Sequence[ErrorDetails]") -> None:
        first = mistakes[0]
        super().__init__(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
        self.mistakes = mistakes


class Secret:
    """A text that is shown nowhere by accident."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def get_secret_value(self) -> str:
        """Return the text."""
        return self._text

    def __eq__(self, other: object) -> bool:
        """Whether both are the same text."""
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __str__(self) -> str:
        """Return a fixed text."""
        return "**********" if self._text else ""

    def __repr__(self) -> str:
        return f"Secret({str(self)!r})"


@dataclass(frozen=True, slots=True)
class Declared:
    """What is said of one key, beside its type."""

    name: str
    key: str
    """As it is written."""
    kind: Any
    """The type, with the marks of `marks.py`."""
    default: Any
    """`MISSING` without one."""
    description: str | None = None
    examples: tuple[Any, ...] = ()
    is_shown: bool = True
    """Whether the value may be shown; it may hold a password otherwise."""
    make_default: Callable[[], Any] | None = None
    """Makes the default of a key that has none of its own."""

    def get_default(self) -> Any:
        """Return the default, a new one if it can be changed."""
        if self.make_default is not None:
            return self.make_default()
        return self.default.copy() if isinstance(self.default, list | dict) else self.default


def setting(
    default: Any = MISSING,
    *,
    description: str | None = None,
    examples: Iterable[Any] = (),
    key: str | None = None,
    is_shown: bool = True,
    make_default: Callable[[], Any] | None = None,
) -> Any:
    """Declare a key; `make_default` makes the value of one that is not written.

    A table class as the default means a new table with its own defaults.
    """
    declared = {
        "description": description,
        "examples": tuple(examples),
        "key": key,
        "is_shown": is_shown,
        "default": default,
        "make_default": make_default,
    }
    metadata = {_DECLARED: declared}
    if make_default is not None:
        return field(default_factory=make_default, repr=is_shown, metadata=metadata)
    if isinstance(default, list | dict):
        return field(default_factory=default.copy, repr=is_shown, metadata=metadata)
    if isinstance(default, type) and issubclass(default, Section):
        return field(default_factory=default, repr=is_shown, metadata=metadata)
    return field(default=default, repr=is_shown, metadata=metadata)


def internal(default: object) -> Any:
    """Declare an attribute that is not read: the program sets it."""
    return field(default=default, metadata={_INTERNAL: True})


class Section:
    """A table: fixed once read, closed to unknown keys. Each is a frozen data class."""

    __slots__ = ("given",)

    given: frozenset[str]
    """The names of the keys that were given, in place of their defaults."""
    in_camel_case: ClassVar[bool] = False
    """Whether keys are written `likeThis`."""
    _declared: ClassVar[Mapping[str, Declared]]

    def __new__(cls, **values: object) -> Self:
        """Note which keys are given."""
        section = object.__new__(cls)
        object.__setattr__(section, "given", frozenset(values.keys() & cls.declared().keys()))
        return section

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to copy it, with what was given."""
        return _rebuilt, (type(self), self._set())

    @classmethod
    def declared(cls) -> "Mapping[str, Declared]":
        """Return its keys by name, in the order of the class."""
        if "_declared" not in vars(cls):
            own: Any = cls
            every: Iterable[Field[Any]] = fields(own)
            keys = {one.name: _of_field(cls, one) for one in every if _INTERNAL not in one.metadata}
            cls._declared = keys
        return cls._declared

    def changed(self, **values: Any) -> Self:
        """Return a copy with these values; `dataclasses.replace` would mark every key as given."""
        return type(self)(**{**self._set(), **values})

    def _set(self) -> dict[str, Any]:
        """Return what was given, and what the program has set."""
        own: Any = type(self)
        names = {one.name for one in fields(own)}.difference(self.declared())
        return {name: getattr(self, name) for name in (*self.given, *names)}

    def to_dict(self, *, only_given: bool = False) -> dict[str, Any]:
        """Return the values by their keys, with tables as dictionaries."""
        return {
            one.key: _as_dict(getattr(self, name), only_given=only_given)
            for name, one in self.declared().items()
            if not only_given or name in self.given
        }

    def check_together(self) -> None:
        """Raise a `ValueError` if values do not fit together."""


def _of_field(cls: type[Section], one: "Field[Any]") -> Declared:
    metadata = one.metadata.get(_DECLARED, {})
    default = metadata.get("default", one.default)
    make_default = metadata.get("make_default")
    if not metadata and one.default_factory is not MISSING:
        make_default = one.default_factory
    if isinstance(default, type) and issubclass(default, Section):
        default, make_default = MISSING, default
    return Declared(
        name=one.name,
        key=metadata.get("key") or (_camel(one.name) if cls.in_camel_case else one.name),
        kind=one.type,
        default=default,
        description=metadata.get("description"),
        examples=metadata.get("examples", ()),
        is_shown=one.repr,
        make_default=make_default,
    )


def _rebuilt(section: type[Section], values: Mapping[str, Any]) -> Section:
    return section(**values)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _as_dict(value: Any, *, only_given: bool) -> Any:
    if isinstance(value, Section):
        return value.to_dict(only_given=only_given)
    if isinstance(value, dict):
        return {key: _as_dict(one, only_given=only_given) for key, one in value.items()}
    if isinstance(value, list):
        return [_as_dict(one, only_given=only_given) for one in value]
    return value
