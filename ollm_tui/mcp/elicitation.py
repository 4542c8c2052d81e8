"""The schema of a server's form as fields: flat, of plain values; anything else is refused."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.json_fields import as_object
from ollm_tui.protocol.forms import FieldKind, FieldOption, FieldValue, FormField
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.tools.json_schema import BadSchema, SchemaChecker

MAX_FIELDS: Final = 20
MAX_OPTIONS: Final = 100
MAX_TEXT_LENGTH: Final = 1_000
_MAX_NAME_LENGTH: Final = 200
_MAX_PROBLEM_LENGTH: Final = 200
_KINDS: Final[Mapping[str, FieldKind]] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
}


class BadForm(Exception):
    """The message is a sentence for the server."""


def read_form(schema: JsonObject) -> tuple[FormField, ...]:
    """Return the fields of a form. Blocks, since schemas are compiled.

    Raises:
        BadForm: it cannot be asked.
    """
    properties, required = as_object(schema.get("properties")), schema.get("required")
    names = required if isinstance(required, list) else []
    if not properties or len(properties) > MAX_FIELDS:
        raise BadForm(f"A form has 1 to {MAX_FIELDS} fields.")
    return tuple(
        _field(name, as_object(value), is_required=name in names)
        for name, value in properties.items()
    )


def _field(name: str, schema: JsonObject, *, is_required: bool) -> FormField:
    if not 0 < len(name) <= _MAX_NAME_LENGTH:
        raise BadForm(f"The name of a field has 1 to {_MAX_NAME_LENGTH} characters.")
    kind, options = _kind(name, schema)
    title, about = schema.get("title"), schema.get("description")
    one = FormField(
        name,
        kind,
        title[:_MAX_NAME_LENGTH] if isinstance(title, str) else "",
        about[:MAX_TEXT_LENGTH] if isinstance(about, str) else "",
        is_required,
        options=options,
        check=_checker(name, schema),
    )
    default = _default(one, schema.get("default"))
    return (
        one
        if default is None
        else FormField(
            one.name, kind, one.title, one.about, is_required, default, options, one.check
        )
    )


def _kind(name: str, schema: JsonObject) -> tuple[FieldKind, tuple[FieldOption, ...]]:
    kind = schema.get("type")
    if kind == "array":
        options = _options(as_object(schema.get("items")))
        if options:
            return "choices", options
    elif kind == "string" and (options := _options(schema)):
        return "choice", options
    elif isinstance(kind, str) and kind in _KINDS:
        return _KINDS[kind], ()
    raise BadForm(f"The field {clean_name(name)} is of a kind that cannot be asked.")


def _options(schema: JsonObject) -> tuple[FieldOption, ...]:
    named = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(named, list):
        pairs = [(as_object(one).get("const"), as_object(one).get("title")) for one in named]
    else:
        values, titles = schema.get("enum"), schema.get("enumNames")
        if not isinstance(values, list):
            return ()
        shown: Sequence[JsonValue] = titles if isinstance(titles, list) else []
        pairs = [(one, shown[at] if at < len(shown) else None) for at, one in enumerate(values)]
    options = [
        FieldOption(value, title[:_MAX_NAME_LENGTH] if isinstance(title, str) else "")
        for value, title in pairs
        if isinstance(value, str) and value
    ]
    if not options or len(options) != len(pairs) or len(options) > MAX_OPTIONS:
        raise BadForm(f"A choice has 1 to {MAX_OPTIONS} values, all of them text.")
    return tuple(options)


def _checker(name: str, schema: JsonObject) -> Callable[[FieldValue], str]:
    try:
        checker = SchemaChecker(schema, formats=True)
    except BadSchema as error:
        raise BadForm(f"The schema of {clean_name(name)} cannot be used, since {error}.") from error

    def check(value: FieldValue) -> str:
        plain: JsonValue = list(value) if isinstance(value, list) else value
        try:
            faults = checker.faults(plain)
        except BadSchema:
            return "It cannot be checked against what the server wants."
        return clean_line(f"{faults[0].message[:_MAX_PROBLEM_LENGTH]}.") if faults else ""

    return check


def _default(one: FormField, value: JsonValue) -> FieldValue | None:
    """Return the value that is suggested, if it is one of the field."""
    texts = value if isinstance(value, list) else []
    usable: FieldValue | None = None
    match one.kind:
        case "boolean" if isinstance(value, bool):
            usable = value
        case "number" | "integer" if isinstance(value, int | float) and not isinstance(value, bool):
            usable = value
        case "text" | "choice" if isinstance(value, str) and len(value) <= MAX_TEXT_LENGTH:
            usable = value
        case "choices" if texts and all(isinstance(text, str) for text in texts):
            usable = [text for text in texts if isinstance(text, str)]
    return None if usable is None or one.check(usable) else usable
