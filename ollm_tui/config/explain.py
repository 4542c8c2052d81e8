"""A value that does not fit the schema, as a sentence that names key and expectation."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from ollm_tui.config.origin import ConfigProblem, KeyPath, Origin, dotted
from ollm_tui.config.schema import AppConfig

_EXPECTED: Mapping[str, str] = {
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
_BOUNDS: Mapping[str, tuple[str, str]] = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
    "literal_error": ("one of", "expected"),
}


_MOST_COMPARED = 200
_LONGEST_COMPARED = 64
"""Characters; comparing words takes time with the product of their lengths."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Give the known word that was probably meant."""
    short = (name for name in islice(known, _MOST_COMPARED) if len(name) <= _LONGEST_COMPARED)
    by_lower = {name.lower(): name for name in short}
    wanted = word[:_LONGEST_COMPARED].lower().replace("-", "_")
    close = get_close_matches(wanted, by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None


def explain(error: ErrorDetails, path: KeyPath, origin: Origin) -> ConfigProblem:
    """Say what is wrong at `path`; the value itself is never repeated."""
    if error["type"] == "extra_forbidden":
        return _unknown_key(path[: len(error["loc"])], origin)
    return ConfigProblem(f"`{dotted(path)}` {_complaint(error)}.", origin, path)


def _complaint(error: ErrorDetails) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "value_error":
        return str(context.get("error", "cannot be used"))
    if kind in _BOUNDS:
        words, bound = _BOUNDS[kind]
        return f"has to be {words} {context.get(bound)}"
    if kind in _EXPECTED:
        return f"has to be {_EXPECTED[kind]}"
    return f"cannot be used: {error['msg'][:1].lower()}{error['msg'][1:]}"


def _unknown_key(path: KeyPath, origin: Origin) -> ConfigProblem:
    known = known_keys(path[:-1])
    near = nearest(path[-1], known)
    hint = f"Did you mean `{near}`?" if near else f"Known here: {', '.join(sorted(known))}."
    message = f"There is no setting `{dotted(path)}`."
    return ConfigProblem(message, origin, path, hint=hint)


def known_keys(table: KeyPath) -> tuple[str, ...]:
    """Give the keys a table may have; the whole file's for the empty path."""
    # The second part of providers.NAME is not a key of any model.
    steps = (table[0], *table[2:]) if table[:1] == ("providers",) else table
    model: type[BaseModel] = AppConfig
    for part in steps:
        found = model.model_fields.get(part)
        inner = _model_in(found.annotation) if found else None
        if inner is None:
            return ()
        model = inner
    return tuple(model.model_fields)


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((m for a in get_args(annotation) if (m := _model_in(a)) is not None), None)
