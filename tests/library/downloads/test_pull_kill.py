"""A program that is killed while it pulls a model in parts: the next one goes on (G5)."""

import sys
from pathlib import Path

import pytest

from tests.library.downloads.pull_killing import Verdict, killed_pull

SIZE = 12_000_000
MIN_REUSED = 0.95
KILLS_OF_ONE = 5


def check(verdict: Verdict, kills: int) -> None:
    assert verdict.wrong == []
    assert set(verdict.ends) == {"done"}
    assert 0 < verdict.kills <= kills
    assert verdict.share >= MIN_REUSED


@pytest.mark.slow
def test_a_killed_pull_goes_on_and_ends_right(tmp_path: Path) -> None:
    check(killed_pull(tmp_path / "pull", seed=1, kills=2, size=SIZE), 2)


@pytest.mark.slow
def test_many_killed_pulls_go_on_and_end_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Verdict()
    for seed in range(6):
        whole.add(killed_pull(tmp_path / str(seed), seed, KILLS_OF_ONE, SIZE))
    with capsys.disabled():
        sys.stdout.write(f"\n{whole.kills} kills, {whole.share:.2%} of what had come reused\n")
    check(whole, 6 * KILLS_OF_ONE)
