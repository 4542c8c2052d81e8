"""What is wrong with a value that the user wrote, in a few words that complete "`key` ..."."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_EXPECTED: Final[Mapping[str, str]] = {
    "string_type": "text in quotes",
    "string_unicode": "valid text",
    "string_too_short": "some text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "list_type": "a list in [ ]",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "path_type": "a path in quotes",
}
_BOUNDS: Final[Mapping[str, tuple[str, str]]] = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
    "literal_error": ("one of", "expected"),
}


def complaint(error: "ErrorDetails") -> str:
    """Return what a value must be; the value itself is not repeated."""
    kind, context = error["type"], error.get("ctx", {})
    if kind == "value_error":
        return str(context.get("error", "cannot be used"))
    if kind in _BOUNDS:
        words, bound = _BOUNDS[kind]
        limit = context.get(bound)
        return f"must be {words} {f'{limit:g}' if isinstance(limit, float) else limit}"
    if kind in _EXPECTED:
        return f"must be {_EXPECTED[kind]}"
    return f"cannot be used: {error['msg'][:1].lower()}{error['msg'][1:]}"
