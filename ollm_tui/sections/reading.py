"""Reads tables: without pydantic if all values are plainly right.

Whatever is wrong or would have to be converted is left to pydantic: what is read here, it reads
the same way. Property tests compare the two.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.sections.marks import Bounds, Check, CheckWithContext, Convert, Length
from ollm_tui.sections.section import Secret, Section

Table = TypeVar("Table", bound=Section)
_MAX_EXACT_INTEGER: Final = 2**53
"""Whole numbers up to here are floating-point numbers, too."""
_MAX_DEPTH: Final = 64
"""Levels of JSON; pydantic knows how deep is too deep."""


class NotPlainError(Exception):
    """A value that pydantic has to look at."""


def read_plain(section: type[Table], values: object, context: object = None) -> Table:
    """Return a table of these values; `context` is for its checks.

    Raises:
        NotPlainError: pydantic has to read it.
    """
    if type(values) is not dict:
        raise NotPlainError
    declared = section.declared()
    left = dict(values)
    made: dict[str, Any] = {}
    reader = _Reader(made, context)
    for name, one in declared.items():
        if one.key in left:
            made[name] = reader.read(one.kind, left.pop(one.key))
    if left:
        raise NotPlainError
    try:
        table = section(**made)
        table.check_together()
    except (TypeError, ValueError):  # a key is missing, or they do not fit together
        raise NotPlainError from None
    return table


def read_section(
    section: type[Table], values: object, *, is_strict: bool | None = None, context: object = None
) -> Table:
    """Return a table of these values; `is_strict` leaves nothing to be converted.

    Raises:
        MistakesError: values are wrong.
    """
    try:
        return read_plain(section, values, context)
    except NotPlainError:
        # Loaded only for what is not plainly right.
        from ollm_tui.sections.checked import read_checked

        return read_checked(section, values, is_strict=is_strict, context=context)


class _Reader:
    """Reads the values of one table, one after another."""

    def __init__(self, above: Mapping[str, Any], context: object) -> None:
        self._above = above
        self._context = context

    def read(self, kind: Any, value: Any) -> Any:
        """Return a value as its type has it."""
        if kind == JsonValue:
            return _json(value, _MAX_DEPTH)
        origin: Any = get_origin(kind)
        inner = get_args(kind)
        if origin is None:
            return self._single(kind, value)
        if origin is Annotated:
            return self._marked(inner[0], kind.__metadata__, value)
        if origin in (Union, UnionType):
            return self._one_of(inner, value)
        if origin is Literal:
            return _required(value, is_right=type(value) is str and value in inner)
        return self._container(origin, inner, value)

    def _container(self, origin: Any, inner: tuple[Any, ...], value: Any) -> Any:
        if type(value) is not origin:
            raise NotPlainError
        if origin is list:
            return [self.read(inner[0], one) for one in value]
        return {_text(key): self.read(inner[1], one) for key, one in value.items()}

    def _marked(self, kind: Any, marks: tuple[Any, ...], value: Any) -> Any:
        try:
            for mark in reversed(marks):
                if isinstance(mark, Convert):
                    value = mark.function(value)
            value = self.read(kind, value)
            for mark in marks:
                if isinstance(mark, Bounds | Length):
                    _required(value, is_right=mark.has(value))
                elif isinstance(mark, Check):
                    mark.function(value)
                elif isinstance(mark, CheckWithContext):
                    mark.function(value, self._above, self._context)
        except (TypeError, ValueError):
            raise NotPlainError from None
        return value

    def _one_of(self, kinds: tuple[Any, ...], value: Any) -> Any:
        # A choice of words comes before a type that takes any text.
        for kind in sorted(kinds, key=_is_choice, reverse=True):
            try:
                return self.read(kind, value)
            except NotPlainError:
                continue
        raise NotPlainError

    def _single(self, kind: Any, value: Any) -> Any:
        if kind in _READERS:
            return _READERS[kind](value)
        if issubclass(kind, Section):
            return read_plain(kind, value, self._context)
        return _required(value, is_right=type(value) is kind)


def _is_choice(kind: Any) -> bool:
    origin: Any = get_origin(kind)
    return origin is Literal


def _required(value: Any, *, is_right: bool) -> Any:
    if not is_right:
        raise NotPlainError
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise NotPlainError
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise NotPlainError from None
    return value


def _number(value: Any) -> float:
    if type(value) is int and abs(value) <= _MAX_EXACT_INTEGER:
        return float(value)
    return _required(value, is_right=type(value) is float and abs(value) < float("inf"))  # type: ignore[no-any-return]


def _path(value: Any) -> Path:
    return value if isinstance(value, Path) else Path(_text(value))


def _secret(value: Any) -> Secret:
    return value if isinstance(value, Secret) else Secret(_text(value))


_READERS: Final[Mapping[Any, Callable[[Any], Any]]] = {
    str: _text,
    float: _number,
    Path: _path,
    Secret: _secret,
}
"""The types whose values are not taken as they are, or not all of them."""


def _json(value: Any, levels: int) -> Any:
    _required(value, is_right=levels > 0)
    if type(value) is list:
        return [_json(one, levels - 1) for one in value]
    if type(value) is dict:
        return {_text(key): _json(one, levels - 1) for key, one in value.items()}
    if type(value) is str:
        return _text(value)
    if type(value) is float:
        return _number(value)
    return _required(value, is_right=value is None or type(value) in (bool, int))
