"""Tables read by pydantic: what is wrong with them, and their JSON Schema."""

from collections.abc import Callable
from dataclasses import MISSING
from functools import cache
from types import UnionType
from typing import Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin

import pydantic
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic_core import PydanticKnownError

from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.sections.marks import (
    Bounds,
    Check,
    CheckWithContext,
    Convert,
    JsonSchema,
    Length,
    NotOneOfError,
)
from ollm_tui.sections.section import Declared, MistakesError, Secret, Section

Table = TypeVar("Table", bound=Section)


class SectionModel(BaseModel):
    """What pydantic reads a table as."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        defer_build=True,
        arbitrary_types_allowed=True,
    )
    section: ClassVar[type[Section]]

    def table(self) -> Section:
        """Return the table, with the keys that were given."""
        return self.section(
            **{name: _from_pydantic(getattr(self, name)) for name in self.model_fields_set}
        )


def read_checked(
    section: type[Table], values: object, *, is_strict: bool | None = None, context: object = None
) -> Table:
    """Return a table of these values; `context` is for its checks.

    Raises:
        MistakesError: values are wrong.
    """
    try:
        model = model_of(section).model_validate(values, strict=is_strict, context=context)
    except ValidationError as error:
        mistakes = error.errors(include_url=False, include_input=False)
        raise MistakesError(mistakes) from None
    table = model.table()
    assert isinstance(table, section)
    return table


@cache
def _model(section: Any) -> type[SectionModel]:
    fields: dict[str, Any] = {
        name: (_kind(one.kind), _field(one)) for name, one in section.declared().items()
    }
    checks: dict[str, Any] = {}
    if section.check_together is not Section.check_together:
        checks["fits_together"] = model_validator(mode="after")(_fits_together)
    model: type[SectionModel] = create_model(
        section.__name__,
        __base__=SectionModel,
        __doc__=section.__doc__,
        __module__=section.__module__,
        __validators__=checks,
        **fields,
    )
    model.section = section
    return model


def model_of(section: type[Section]) -> type[SectionModel]:
    """Return the model that pydantic has for a table."""
    model: Callable[[Any], type[SectionModel]] = _model
    return model(section)


def _fits_together(model: SectionModel) -> SectionModel:
    model.table().check_together()
    return model


def _field(one: Declared) -> Any:
    given: dict[str, Any] = {"description": one.description, "repr": one.is_shown}
    if one.key != one.name:
        given["alias"] = one.key
    if one.examples:
        given["examples"] = list(one.examples)
    make = one.make_default
    if make is not None and not (isinstance(make, type) and issubclass(make, Section)):
        return Field(default_factory=lambda: _to_pydantic(make()), **given)
    if make is None and one.default is MISSING:
        return Field(**given)
    return Field(default=_to_pydantic(one.get_default()), **given)


def _kind(kind: Any) -> Any:
    """Return a type as pydantic takes it."""
    if kind == JsonValue:
        return pydantic.JsonValue
    if kind is Secret:
        return Annotated[SecretStr, BeforeValidator(_revealed)]
    if isinstance(kind, type):
        return model_of(kind) if issubclass(kind, Section) else kind
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        # Bounds come first: pydantic puts them into the type itself, not around a conversion.
        marks = sorted(kind.__metadata__, key=lambda mark: not isinstance(mark, Bounds | Length))
        return Annotated[(_kind(inner[0]), *map(_constraint, marks))]
    if origin in (Union, UnionType, list, dict):
        general: Any = Union if origin is UnionType else origin
        return general[tuple(map(_kind, inner))]
    return kind


def _constraint(mark: object) -> Any:
    match mark:
        case Bounds():
            names = ("ge", "gt", "le", "lt")
            bounds = {name: getattr(mark, name) for name in names}
            given: dict[str, Any] = {k: v for k, v in bounds.items() if v is not None}
            return Field(**given, allow_inf_nan=False) if mark.is_finite else Field(**given)
        case Length():
            return Field(min_length=mark.least or None, max_length=mark.most)
        case Convert():
            return BeforeValidator(mark.function)
        case Check() | CheckWithContext():
            return AfterValidator(_checking(mark))
        case JsonSchema():
            return WithJsonSchema(dict(mark.json_schema))
        case _:
            return mark


def _checking(check: Check | CheckWithContext) -> Callable[[Any, ValidationInfo], Any]:
    def checked(value: Any, info: ValidationInfo) -> Any:
        try:
            if isinstance(check, Check):
                check.function(_from_pydantic(value))
            else:
                check.function(_from_pydantic(value), info.data, info.context)
        except NotOneOfError as error:
            raise PydanticKnownError("literal_error", {"expected": error.expected}) from None
        return value

    return checked


def _from_pydantic(value: Any) -> Any:
    """Return a value of pydantic as a table has it."""
    match value:
        case SectionModel():
            return value.table()
        case SecretStr():
            return Secret(value.get_secret_value())
        case list():
            return [_from_pydantic(one) for one in value]
        case dict():
            return {key: _from_pydantic(one) for key, one in value.items()}
        case _:
            return value


def _revealed(value: Any) -> Any:
    return value.get_secret_value() if isinstance(value, Secret) else value


def _to_pydantic(value: Any) -> Any:
    """Return a default as pydantic has it."""
    match value:
        case Section():
            given = {name: _to_pydantic(getattr(value, name)) for name in value.given}
            return model_of(type(value)).model_construct(**given)
        case Secret():
            return SecretStr(value.get_secret_value())
        case list():
            return [_to_pydantic(one) for one in value]
        case dict():
            return {key: _to_pydantic(one) for key, one in value.items()}
        case _:
            return value
