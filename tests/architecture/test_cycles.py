"""No module imports itself by way of others, not even late or for types alone."""

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


@pytest.mark.parametrize(
    ("graph", "length"),
    [({"a": {"b"}, "b": {"c"}, "c": {"a"}}, 4), ({"a": {"a"}}, 2), ({"a": {"b"}, "b": set()}, 0)],
)
def test_a_cycle_is_found(graph: Mapping[str, Set[str]], length: int) -> None:
    assert len(cycle_of(graph)) == length
