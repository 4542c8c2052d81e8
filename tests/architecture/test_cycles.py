"""No module or feature imports itself by way of others, not even late or for types alone."""

from collections.abc import Mapping, Set
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.architecture.modules import import_graph


def cycle_of(graph: Mapping[str, Set[str]]) -> list[str]:
    """Return the modules of one import cycle, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other() -> None:
    graph = import_graph()
    # The public face imports everything lazily, for type checkers and when a name is used.
    graph["ollm_tui"].clear()
    assert cycle_of(graph) == []


def test_no_features_of_the_screen_import_each_other() -> None:
    features: dict[str, set[str]] = {}
    for module, imported in import_graph().items():
        if feature := feature_of(module):
            others = {feature_of(name) for name in imported} - {feature, ""}
            features.setdefault(feature, set()).update(others)
    assert {"chat", "transcript", "widgets"} < features.keys()
    assert cycle_of(features) == []


def feature_of(module: str) -> str:
    """Name the folder or module right below `tui` that a module belongs to, or nothing."""
    package, _, inside = module.partition(".tui.")
    return inside.partition(".")[0] if package == "ollm_tui" else ""


@pytest.mark.parametrize(
    ("graph", "length"),
    [({"a": {"b"}, "b": {"c"}, "c": {"a"}}, 4), ({"a": {"a"}}, 2), ({"a": {"b"}, "b": set()}, 0)],
)
def test_a_cycle_is_found(graph: Mapping[str, Set[str]], length: int) -> None:
    assert len(cycle_of(graph)) == length
