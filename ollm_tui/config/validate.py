"""Fit what was said to the schema, taking out what does not fit, one round after another."""

from collections.abc import Iterable

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ollm_tui.config.explain import explain
from ollm_tui.config.layers import Layers, Setting
from ollm_tui.config.origin import ConfigProblem
from ollm_tui.config.schema import AppConfig

_MOST_ROUNDS = 50


def fit(layers: Layers) -> tuple[AppConfig, list[ConfigProblem]]:
    """Give the settings and what had to be left out; a lower layer shows where one was."""
    problems: dict[str, ConfigProblem] = {}
    for _ in range(_MOST_ROUNDS):
        try:
            return AppConfig.model_validate(layers.nested()), [*problems.values()]
        except ValidationError as error:
            details = error.errors(include_url=False, include_input=False)
        for culprit, detail in _culprits(layers, details):
            layers.drop(culprit)
            problem = explain(detail, culprit.path, culprit.origin, culprit.value)
            # An unknown table is one mistake, however much stands in it.
            problems.setdefault(problem.message, problem)
    return AppConfig(), [*problems.values()]


def _culprits(
    layers: Layers, details: Iterable[ErrorDetails]
) -> Iterable[tuple[Setting, ErrorDetails]]:
    """Find the value behind each complaint, each once: unions complain once per member."""
    found: dict[tuple[str, ...], tuple[Setting, ErrorDetails]] = {}
    for detail in details:
        for culprit in _culprit(layers, tuple(str(part) for part in detail["loc"])):
            found.setdefault(culprit.path, (culprit, detail))
    return found.values()


def _culprit(layers: Layers, place: tuple[str, ...]) -> tuple[Setting, ...]:
    for end in range(len(place), 0, -1):
        said = layers.counting(place[:end])
        if said is not None:
            return (said,)
    # A table is wrong as a whole: everything a person said in it goes.
    return tuple(said for said in layers.below(place) if said.rank > 0)
