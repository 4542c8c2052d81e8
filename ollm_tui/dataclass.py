"""`dataclass` of the standard library, whose methods are made when they are first used.

Making them takes half a millisecond a class, most of it in the compiler, and a program that runs
for a second uses a few of hundreds of classes. Only classes with slots wait; all else is the
standard library's, which also makes the methods. See docs/adr/0014-dataclasses.md.
"""

import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field as field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, get_origin

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass

_DECLARATION: Final = "__dataclass_declaration__"


class _Declaration:
    """What a class says of its fields."""

    __slots__ = ("annotations", "defaults", "options")

    def __init__(
        self,
        annotations: Mapping[str, Any],
        defaults: Mapping[str, Any],
        options: Mapping[str, bool],
    ) -> None:
        self.annotations, self.defaults, self.options = annotations, defaults, options


class _StandIn:
    """Stands in a class for a method, or another attribute, until it is used."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        home = next(one for one in owner.__mro__ if self._name in vars(one))
        if vars(home)[self._name] is self:  # else another thread has made it by now
            _make_methods(home)
        value = vars(home)[self._name]
        return value.__get__(instance, owner) if hasattr(value, "__get__") else value


# `__dataclass_fields__` comes first: what makes a derived class takes the fields from there.
_STAND_INS: Final[Mapping[str, _StandIn]] = {
    name: _StandIn(name)
    for name in (
        *("__dataclass_fields__", "__dataclass_params__", "__match_args__"),
        *("__init__", "__repr__", "__eq__", "__hash__"),
    )
}


def _with_slots(options: Mapping[str, bool], cls: type) -> type:
    """Return the class with slots, as the standard library does, and without the methods."""
    names = vars(cls)
    annotations = dict(names.get("__annotations__", {}))
    fields = [name for name, kind in annotations.items() if _is_field(kind)]
    inherited = {slot for base in cls.__mro__[1:-1] for slot in vars(base).get("__slots__", ())}
    left_out = {"__dict__", "__weakref__", *annotations} - {
        name for name, kind in annotations.items() if _is_class_variable(kind)
    }
    body: dict[str, Any] = {name: names[name] for name in names if name not in left_out}
    body["__slots__"] = tuple(name for name in fields if name not in inherited)
    defaults = {name: names[name] for name in annotations if name in names}
    body[_DECLARATION] = _Declaration(annotations, defaults, options)
    body |= {name: _STAND_INS[name] for name in _names_to_make(body, options)}
    if options.get("frozen"):
        body |= {"__setattr__": _refuse_change, "__delattr__": _refuse_removal}
        body = {"__getstate__": _state, "__setstate__": _restore, **body}
    elif options.get("eq", True):
        body.setdefault("__hash__", None)
    slotted = type(cls)(cls.__name__, cls.__bases__, body)
    slotted.__qualname__ = cls.__qualname__
    return slotted


def _names_to_make(body: Mapping[str, Any], options: Mapping[str, bool]) -> Iterator[str]:
    """Yield what the standard library would add to a class."""
    has_eq = options.get("eq", True)
    has_hash = bool(has_eq and options.get("frozen"))
    is_made = {"__eq__": has_eq, "__repr__": options.get("repr", True), "__hash__": has_hash}
    for name in _STAND_INS:
        # Python itself sets `__hash__` to None where a class defines `__eq__`.
        if is_made.get(name, True) and body.get(name) is None:
            yield name


def _is_field(kind: object) -> bool:
    is_for_init = isinstance(kind, dataclasses.InitVar) or kind in {
        dataclasses.InitVar,
        dataclasses.KW_ONLY,
    }
    return not is_for_init and not _is_class_variable(kind)


def _is_class_variable(kind: object) -> bool:
    if isinstance(kind, str):
        return kind.startswith("ClassVar")
    return kind is ClassVar or get_origin(kind) is ClassVar


def _make_methods(cls: type) -> None:
    """Have the standard library make a class with the same fields, and take its methods.

    Two threads may do so at once: what they make is the same.
    """
    declared: _Declaration = vars(cls)[_DECLARATION]
    bases: list[Any] = [one for one in cls.__mro__[1:] if "__dataclass_fields__" in vars(one)]
    inherited = {f.name: f for base in reversed(bases) for f in dataclasses.fields(base)}
    own = vars(cls)
    body: dict[str, Any] = {
        **{name: one for name, one in inherited.items() if name not in declared.annotations},
        **{name: own[name] for name in _STAND_INS if name in own and not _is_stand_in(own[name])},
        **declared.defaults,
        "__annotations__": {name: one.type for name, one in inherited.items()}
        | dict(declared.annotations),
        "__doc__": cls.__doc__ or cls.__name__,  # else the signature is worked out for one
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
    }
    if hasattr(cls, "__post_init__"):
        body["__post_init__"] = cls.__post_init__
    same_fields: Any = type(cls.__name__, (), body)
    made: type = dataclasses.dataclass(**declared.options)(same_fields)
    for name in _STAND_INS:
        if _is_stand_in(own.get(name)):
            setattr(cls, name, vars(made)[name])


def _is_stand_in(value: object) -> bool:
    return isinstance(value, _StandIn)


def _refuse_change(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_removal(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[object]:
    return [getattr(self, one.name) for one in dataclasses.fields(self)]


def _restore(self: Any, state: list[object]) -> None:
    for one, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


if not TYPE_CHECKING:
    _WAITS: Final = {"slots", "frozen", "kw_only", "eq", "repr"}

    def dataclass(cls: type | None = None, /, **options: bool) -> type | Callable[[type], type]:
        """Make a data class; takes what `dataclasses.dataclass` takes."""
        # From Python 3.14 on, annotations wait as well, and cannot be read here.
        waits = options.get("slots") and options.keys() <= _WAITS and sys.version_info < (3, 14)
        decorate = partial(_with_slots, options) if waits else dataclasses.dataclass(**options)
        return decorate if cls is None else decorate(cls)
