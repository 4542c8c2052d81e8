"""The real program in a terminal of any size, at start and while it is resized."""

import random
from pathlib import Path

import pytest

from tests.e2e.conftest import Start, assert_left_sane

pytestmark = pytest.mark.pty


@pytest.mark.parametrize("size", [(1, 1), (2, 6), (4, 3), (6, 24), (7, 5), (8, 5)])
def test_it_starts_in_a_tiny_terminal_and_works_in_a_larger_one(
    start: Start, home: Path, size: tuple[int, int]
) -> None:
    with start(home, size=size) as session:
        session.wait_for(b"\x1b[?2004h", 20)
        session.resize(80, 24)
        session.wait_for("Ask anything", 20)
        session.write("/quit\r")
        assert_left_sane(session, 0)


@pytest.mark.parametrize("seed", [3, 20261122])
def test_a_storm_of_sizes_leaves_it_usable(start: Start, home: Path, seed: int) -> None:
    chance = random.Random(seed)
    with start(home) as session:
        session.wait_for("Ask anything", 20)
        for _ in range(150):
            narrow = chance.randint(1, 12), chance.randint(1, 12)
            wide = chance.randint(1, 300), chance.randint(1, 100)
            session.resize(*(narrow if chance.random() < 0.7 else wide))
            session.write("x")
        session.resize(80, 24)
        session.wait_for(lambda: session.screen_text().count("x") == 150, 20)
        session.write("\x03/quit\r")
        assert_left_sane(session, 0)


def test_ctrl_c_clears_what_was_typed_before_it_and_nothing_else(start: Start, home: Path) -> None:
    with start(home) as session:
        session.wait_for("press Ctrl+L", 20)
        for _ in range(5):
            session.write("x" * 50 + "\x03abc")
            session.wait_for("│ abc ", 20)
            session.write("\x03")
        session.write("/quit\r")
        assert_left_sane(session, 0)


def test_a_click_outside_the_screen_loses_no_key(start: Start, home: Path) -> None:
    with start(home) as session:
        session.wait_for("Ask anything", 20)
        for x, y in [(81, 1), (1, 25), (9999, 9999), (10**12, 10**12), (-5, -5), (0, 0)]:
            session.write(f"\x1b[<0;{x};{y}M\x1b[<0;{x};{y}mk")
        session.wait_for("│ kkkkkk ", 20)
        session.write("\x03/quit\r")
        assert_left_sane(session, 0)
