"""Validate the settings against the schema, leaving out values that do not fit."""

import re
from collections.abc import Iterable, Mapping
from typing import get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ollm_tui.config.origin import ConfigProblem, KeyPath, Layers, Origin, Setting, dotted, nearest
from ollm_tui.config.schema import AppConfig

_MOST_ROUNDS = 50


def validate(layers: Layers) -> tuple[AppConfig, list[ConfigProblem]]:
    """Return the valid settings and a problem for each value that had to be dropped."""
    problems: dict[str, ConfigProblem] = {}
    for _ in range(_MOST_ROUNDS):
        try:
            return AppConfig.model_validate(layers.nested()), [*problems.values()]
        except ValidationError as error:
            details = error.errors(include_url=False, include_input=False)
        for culprit, detail in _culprits(layers, details):
            layers.drop(culprit)
            problem = explain(detail, culprit.path, culprit.origin, culprit.value)
            # An unknown table is one mistake, however much it contains.
            problems.setdefault(problem.message, problem)
    return AppConfig(), [*problems.values()]


def _culprits(
    layers: Layers, details: Iterable[ErrorDetails]
) -> Iterable[tuple[Setting, ErrorDetails]]:
    """Find the value behind each complaint, once each: unions complain once per member."""
    culprits: dict[tuple[str, ...], tuple[Setting, ErrorDetails]] = {}
    for detail in details:
        for culprit in _culprit(layers, tuple(str(part) for part in detail["loc"])):
            culprits.setdefault(culprit.path, (culprit, detail))
    return culprits.values()


def _culprit(layers: Layers, location: tuple[str, ...]) -> tuple[Setting, ...]:
    for end in range(len(location), 0, -1):
        setting = layers.counting(location[:end])
        if setting is not None:
            return (setting,)
    # A table is invalid as a whole: everything that the user set in it is dropped.
    return tuple(setting for setting in layers.below(location) if setting.rank > 0)


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


def explain(
    error: ErrorDetails, path: KeyPath, origin: Origin, value: object = None
) -> ConfigProblem:
    """Describe the mistake at `path`, without repeating the value."""
    if error["type"] == "extra_forbidden":
        return _unknown_key(path[: len(error["loc"])], origin)
    return ConfigProblem(
        f"`{dotted(path)}` {_complaint(error)}.",
        origin,
        path,
        find_hint=lambda: _intended_choice(error, value),
    )


def _intended_choice(error: ErrorDetails, value: object) -> str | None:
    """Return the choice that was probably meant."""
    position = error["loc"][-1]
    if isinstance(value, list) and isinstance(position, int):
        value = value[position]
    if error["type"] != "literal_error" or not isinstance(value, str):
        return None
    near = nearest(value, re.findall(r"'([^']*)'", str(error.get("ctx", {}).get("expected"))))
    return f"Did you mean `{near}`?" if near else None


def _complaint(error: ErrorDetails) -> str:
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


def _unknown_key(path: KeyPath, origin: Origin) -> ConfigProblem:
    message = f"Unknown setting `{dotted(path)}`."
    return ConfigProblem(message, origin, path, find_hint=lambda: _known_here(path))


def _known_here(path: KeyPath) -> str | None:
    known = known_keys(path[:-1])
    near = nearest(path[-1], known)
    listed = f"Available: {', '.join(sorted(known))}." if known else None
    return f"Did you mean `{near}`?" if near else listed


def known_keys(table: KeyPath) -> tuple[str, ...]:
    """Return the keys that a table may have; those of the whole file for the empty path."""
    model: type[BaseModel] = AppConfig
    steps = iter(table)
    for part in steps:
        field = model.model_fields.get(part)
        inner = _model_in(field.annotation) if field else None
        if field is None or inner is None:
            return ()
        if get_origin(field.annotation) is dict:  # what follows is a name that a person chose
            next(steps, None)
        model = inner
    return tuple(model.model_fields)


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((m for a in get_args(annotation) if (m := _model_in(a)) is not None), None)
