"""What random and long tests draw from: seeds that stay the same, and samples of many cases."""

import os
import random
import sys
from collections.abc import Iterable, Sequence

import pytest
from _pytest.mark import ParameterSet

VARIABLE = "TEST_SEED"


def chance_for(default: int) -> random.Random:
    """Give a source of chance; its seed is told, and `TEST_SEED=n` in the environment sets it."""
    seed = int(os.environ.get(VARIABLE, default))
    sys.stdout.write(f"{VARIABLE}={seed}\n")
    return random.Random(seed)


def sampled(values: Iterable[object], usual: int) -> list[ParameterSet]:
    """Make parameters of all values: the first ones for the usual run, the rest for slow tests."""
    return sampled_rows(([value] for value in values), usual)


def sampled_rows(rows: Iterable[Sequence[object]], usual: int) -> list[ParameterSet]:
    """Do so for a test of several parameters: each row has a value for each."""
    return [
        pytest.param(*row, marks=() if at < usual else pytest.mark.slow)
        for at, row in enumerate(rows)
    ]


def in_parts(count: int, usual: int = 1) -> pytest.MarkDecorator:
    """Run a test for each `part` of a long series: the first ones as usual, the rest as slow."""
    return pytest.mark.parametrize("part", sampled(range(count), usual))
