"""Nothing that was shown as saved is lost to kill -9."""

from pathlib import Path

import pytest

from tests.store.killing import Shown, age, kill_once, missing
from tests.support.seeds import sampled

LAG_S = 0.25
SLACK_S = 0.25  # the other tests' load; `make bench-kill` measures without it


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled(range(5), 3))
def test_a_kill_loses_nothing_that_was_saved_and_a_moment_of_the_stream(
    tmp_path: Path, seed: int
) -> None:
    path = tmp_path / "chats.db"
    for again in range(2):  # the second time over what the first kill left
        verdict = kill_once(path, seed + 5 * again)
        assert verdict.lost == []
        assert verdict.integrity == "ok"
        assert verdict.lag_s <= LAG_S + SLACK_S
        assert verdict.reopen_s <= 1
        assert verdict.state in {"", "interrupted", "complete"}


def test_the_judge_sees_a_lost_a_cut_and_a_late_message() -> None:
    shown = Shown(
        saved={"here": "3", "cut": "3", "lost": "-", "gone": "-"},
        chat_of={"here": "a", "cut": "a", "lost": "a", "gone": "b"},
        deleted={"b"},
    )
    assert missing({"here": 3, "cut": 2}, shown) == ["cut", "lost"]
    assert age([(1.0, 1), (2.0, 2), (3.0, 3)], kept=1, killed_at=4.0) == 2.0
    assert age([(1.0, 1)], kept=1, killed_at=4.0) == 0.0
