"""A short soak: that it does what its plan says, and that a hundred turns leave nothing behind."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.soak.__main__ import soak
from benchmarks.soak.census import Census
from benchmarks.soak.plan import plan
from benchmarks.soak.verdict import grown, theil_sen

TURNS, SEED = 100, 7


@pytest.mark.pty
@pytest.mark.slow
def test_a_hundred_turns_leave_nothing_behind(tmp_path: Path) -> None:
    looks, person = soak(tmp_path, TURNS, SEED)
    kinds = Counter(turn.kind for turn in plan(TURNS, SEED))
    stopped = person.done["stopped"] + person.done["stopped early"]
    assert stopped == kinds["endless"]
    assert [person.done[kind] for kind in ("plain", "tool")] == [kinds["plain"], kinds["tool"]]
    assert person.done["switches"] == 1
    first, last = looks[0], looks[-1]
    assert isinstance(last, Census)
    assert last.messages >= 2 * (TURNS - stopped)
    assert last.children == 0
    assert (last.files, last.threads) <= (first.files, first.threads)


def test_a_plan_is_the_same_for_the_same_seed_and_has_its_shares() -> None:
    turns = [*plan(5000, 1)]
    assert turns == [*plan(5000, 1)] != [*plan(5000, 2)]
    kinds = Counter(turn.kind for turn in turns)
    assert kinds["endless"] / 5000 == pytest.approx(0.20, abs=0.03)
    assert kinds["tool"] / 5000 == pytest.approx(0.10, abs=0.02)
    assert sum(kinds[k] for k in ("cut", "error", "garbage")) / 5000 == pytest.approx(
        0.05, abs=0.02
    )
    assert sum(turn.before == "other chat" for turn in turns) >= 50


def test_growth_is_distinguished_from_noise() -> None:
    noisy = [(turn, 80_000 + (7919 * turn) % 500 + 2 * turn) for turn in range(0, 5000, 100)]
    assert theil_sen(noisy) == pytest.approx(2.0, abs=0.1)
    assert theil_sen([(1, 5.0)]) == 0.0
    assert grown([13, 12, 13, 14, 14, 14])
    assert not grown([13, 12, 13, 13, 14, 13])
