"""`dataclass` of the standard library, whose methods are made when they are first used.

Making them takes half a millisecond a class, most of it in the compiler, and a program that runs
for a second uses a few of hundreds of classes. Only classes with slots wait; all else is the
standard library's, which also makes the methods. See docs/adr/0014-dataclasses.md.
"""

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING
from dataclasses import field as field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass

_DECLARATION: Final = "__dataclass_declaration__"


class _NotGiven:
    """Stands for an argument in whose place something is made for each instance."""

    def __repr__(self) -> str:
        return "<factory>"


_NOT_GIVEN: Final = _NotGiven()


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

    __slots__ = ("_home", "_name")

    def __set_name__(self, home: type, name: str) -> None:
        self._home, self._name = home, name

    def __get__(self, instance: object, owner: type) -> Any:
        home, name = self._home, self._name
        if vars(home)[name] is self:  # else another thread has made it by now
            _make(home, name)
        value = vars(home)[name]
        return value.__get__(instance, owner) if hasattr(value, "__get__") else value


# `__dataclass_fields__` comes first: what makes a derived class takes the fields from there.
_MADE_WHEN_USED: Final = (
    *("__dataclass_fields__", "__dataclass_params__", "__match_args__"),
    *("__init__", "__repr__", "__eq__", "__hash__"),
)


def _with_slots(options: Mapping[str, bool], cls: type) -> type:
    """Return the class with slots, as the standard library does, and without the methods."""
    names = vars(cls)
    annotations = dict(names.get("__annotations__", {}))
    if any(map(_is_for_the_constructor, annotations.values())):
        return dataclasses.dataclass(**options)(cls)
    fields = [name for name, kind in annotations.items() if not _is_class_variable(kind)]
    inherited = {slot for base in cls.__mro__[1:-1] for slot in vars(base).get("__slots__", ())}
    left_out = {"__dict__", "__weakref__", *annotations} - {
        name for name, kind in annotations.items() if _is_class_variable(kind)
    }
    body: dict[str, Any] = {name: names[name] for name in names if name not in left_out}
    body["__slots__"] = tuple(name for name in fields if name not in inherited)
    defaults = {name: names[name] for name in annotations if name in names}
    body[_DECLARATION] = _Declaration(annotations, defaults, options)
    body |= {name: _StandIn() for name in _names_to_make(body, options)}
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
    for name in _MADE_WHEN_USED:
        # Python itself sets `__hash__` to None where a class defines `__eq__`.
        if is_made.get(name, True) and body.get(name) is None:
            yield name


def _is_for_the_constructor(kind: object) -> bool:
    if isinstance(kind, dataclasses.InitVar):
        return True
    return kind is dataclasses.InitVar or kind is dataclasses.KW_ONLY


def _is_class_variable(kind: object) -> bool:
    if isinstance(kind, str):
        return kind.startswith("ClassVar")
    return kind is ClassVar or getattr(kind, "__origin__", None) is ClassVar


def _make(cls: type, name: str) -> None:
    """Make an attribute of a class, and set it.

    All but the constructor come from the standard library, which makes a class with the same
    fields. Two threads may do so at once: what they make is the same.
    """
    if name == "__init__":
        setattr(cls, name, _constructor(cls))
    elif name in _OF_FIELDS:
        fields = _fields_made(cls)
        wrong = _follows_default(dataclasses.fields(fields))
        _take(cls, _same_fields(cls, **_declared(cls).options) if wrong else fields, _OF_FIELDS)
    elif name in _ONLY:
        _take(cls, _same_fields(cls, **{**_NOTHING, _ONLY[name]: True}), (name,))
    else:
        _take(cls, _same_fields(cls, **_declared(cls).options), (name,))


_OF_FIELDS: Final = ("__dataclass_fields__", "__match_args__")
_NOTHING: Final[Mapping[str, bool]] = {"init": False, "repr": False, "eq": False}
_ONLY: Final[Mapping[str, str]] = {"__repr__": "repr", "__eq__": "eq", "__hash__": "unsafe_hash"}
"""Methods, and the options that have the standard library make them and nothing else."""


def _declared(cls: type) -> _Declaration:
    declared: _Declaration = vars(cls)[_DECLARATION]
    return declared


def _fields_made(cls: type) -> Any:
    """Return a class with the fields of another, and without methods, which take longest."""
    return _same_fields(cls, **_NOTHING, kw_only=_declared(cls).options.get("kw_only", False))


def _same_fields(cls: type, **options: bool) -> Any:
    declared = _declared(cls)
    bases: list[Any] = [one for one in cls.__mro__[1:] if "__dataclass_fields__" in vars(one)]
    inherited = {f.name: f for base in reversed(bases) for f in dataclasses.fields(base)}
    own = vars(cls)
    body: dict[str, Any] = {
        **{name: one for name, one in inherited.items() if name not in declared.annotations},
        **{
            name: own[name]
            for name in _MADE_WHEN_USED
            if name in own and not _is_stand_in(own[name])
        },
        **declared.defaults,
        "__annotations__": {name: one.type for name, one in inherited.items()}
        | dict(declared.annotations),
        "__doc__": cls.__doc__ or cls.__name__,  # else the signature is worked out for one
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
    }
    if hasattr(cls, "__post_init__"):
        body["__post_init__"] = cls.__post_init__
    same: Any = type(cls.__name__, (), body)
    return dataclasses.dataclass(**options)(same)


def _take(cls: type, made: type, names: Iterable[str]) -> None:
    for name in names:
        if _is_stand_in(vars(cls).get(name)):
            setattr(cls, name, vars(made)[name])


def _constructor(cls: Any) -> Callable[..., None]:
    """Return what the standard library would make, from one text instead of six."""
    fields = _plain_fields(cls) or dataclasses.fields(cls)
    by_place = [one for one in fields if one.init and not one.kw_only]
    by_name = [one for one in fields if one.init and one.kw_only]
    me = "self" if all(one.name != "self" for one in fields) else "_self"
    parameters = [me, *map(_parameter, by_place), *(["*"] if by_name else [])]
    parameters += map(_parameter, by_name)
    assign = "_set({}, {!r}, {})" if _declared(cls).options.get("frozen") else "{}.{} = {}"
    lines = [
        assign.format(me, one.name, value) for one in fields if (value := _value(one)) is not None
    ]
    lines += [f"{me}.__post_init__()"] if hasattr(cls, "__post_init__") else []
    used: dict[str, Any] = {"_set": object.__setattr__, "_not_given": _NOT_GIVEN}
    for one in fields:
        if one.default is not MISSING:
            used[f"_default_{one.name}"] = one.default
        elif one.default_factory is not MISSING:
            used[f"_make_{one.name}"] = one.default_factory
    text = "\n  ".join([f" def __init__({', '.join(parameters)}):", *(lines or ["pass"])])
    names: dict[str, Any] = {}
    module = sys.modules.get(cls.__module__)
    around = {} if module is None else vars(module)
    exec(f"def make({', '.join(used)}):\n{text}\n return __init__", around, names)
    made: Any = names["make"](**used)
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {one.name: one.type for one in (*by_place, *by_name)} | {"return": None}
    return made  # type: ignore[no-any-return]


def _plain_fields(cls: type) -> "Sequence[dataclasses.Field[Any]]":
    """Return the fields of a class that inherits none, without making a class to ask for them.

    Nothing for a class that the standard library refuses, so that it says why.
    """
    declared = _declared(cls)
    if any("__dataclass_fields__" in vars(base) for base in cls.__mro__[1:]):
        return ()
    fields: list[dataclasses.Field[Any]] = []
    for name, kind in declared.annotations.items():
        if _is_class_variable(kind):
            continue
        default = declared.defaults.get(name, MISSING)
        one = default if isinstance(default, dataclasses.Field) else field(default=default)
        if one.default.__class__.__hash__ is None:
            return ()
        one.name, one.type = name, kind
        if one.kw_only is MISSING:
            one.kw_only = declared.options.get("kw_only", False)
        fields.append(one)
    return () if _follows_default(fields) else fields


def _parameter(one: "dataclasses.Field[Any]") -> str:
    if one.default is not MISSING:
        return f"{one.name}=_default_{one.name}"
    return one.name if one.default_factory is MISSING else f"{one.name}=_not_given"


def _value(one: "dataclasses.Field[Any]") -> str | None:
    """Return what a field is set to; None if it is not set."""
    if one.default_factory is not MISSING:
        made = f"_make_{one.name}()"
        return f"{made} if {one.name} is _not_given else {one.name}" if one.init else made
    if one.init:
        return one.name
    return None if one.default is MISSING else f"_default_{one.name}"


def _follows_default(fields: Iterable["dataclasses.Field[Any]"]) -> bool:
    """Tell whether a field without a default follows one with a default, which is an error."""
    by_place = [one for one in fields if one.init and not one.kw_only]
    has_default = [
        one.default is not MISSING or one.default_factory is not MISSING for one in by_place
    ]
    return has_default != sorted(has_default)


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
