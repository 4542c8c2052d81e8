"""What the terminal shows is what a whole drawing of the screen would show, after every frame.

The program writes only what has changed. Its output is shown by a strict terminal and compared,
characters, styles and cursor, with the screen drawn anew whenever nothing waits to be drawn.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.e2e.streaming import LONG, TERMINALS, Act, Streaming, checked, do
from tests.support.forked import Forks
from tests.support.seeds import sampled
from tests.tui.painters.hostile_documents import DOCUMENTS

pytestmark = pytest.mark.pty

SIZES = [(80, 24), (120, 40)]
SMALL_DOCUMENTS: Mapping[str, str] = {"what models write": LONG * 2} | {
    name: made(1500 / max(len(made(1)), 1500)) for name, made in DOCUMENTS.items()
}


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "{}x{}".format(*size))
@pytest.mark.parametrize("name", sampled(SMALL_DOCUMENTS, 1))
def test_an_answer_is_shown_as_a_whole_drawing_shows_it(
    home: Path, forks: Forks, name: str, size: tuple[int, int]
) -> None:
    server = Streaming(SMALL_DOCUMENTS[name] + "\n\nThe end.")
    with checked(server, home, forks, size, "kitty") as session:
        session.wait_for("The end.")


UP, DOWN = b"\x1b[1;2A", b"\x1b[1;2B"
PAGE_UP, PAGE_DOWN, TOP, BOTTOM = b"\x1b[5~", b"\x1b[6~", b"\x1b[1;5H", b"\x1b[1;5F"
F1, ESCAPE, ALT_UP, ALT_DOWN = b"\x1bOP", b"\x1b", b"\x1b[1;3A", b"\x1b[1;3B"
CTRL_F, CTRL_L, CTRL_P, CTRL_T, CTRL_U = b"\x06", b"\x0c", b"\x10", b"\x14", b"\x15"


def dragged(*places: tuple[int, int]) -> list[bytes]:
    """The reports of a mouse that selects from the first place to the last."""
    (x, y), *_, (end_x, end_y) = places
    moved = [f"\x1b[<32;{x};{y}M".encode() for x, y in places[1:]]
    down, up = f"\x1b[<0;{x};{y}M", f"\x1b[<0;{end_x};{end_y}m"
    return [down.encode(), *moved, up.encode()]


ACTS: Mapping[str, Sequence[Act]] = {
    "scrolling": [UP, UP, DOWN, PAGE_UP, UP, PAGE_UP, PAGE_DOWN, TOP, DOWN, DOWN, BOTTOM],
    "sizes": [(100, 30), (60, 12), UP, (80, 24), (40, 24), BOTTOM, (80, 24)],
    "wheel": [b"\x1b[<64;20;10M", b"\x1b[<64;20;10M" * 5, b"\x1b[<65;20;10M" * 3, BOTTOM],
    "folding": [CTRL_T, CTRL_T, PAGE_UP, CTRL_T, CTRL_T, BOTTOM, ALT_UP, b" ", ALT_DOWN, ESCAPE],
    "selection": [*dragged((5, 8), (9, 9), (30, 11), (12, 14)), UP, b"\x1b[<0;9;5M\x1b[<0;9;5m"],
    "dialogs": [F1, DOWN, ESCAPE, CTRL_P, b"co", DOWN, ESCAPE, CTRL_L, ESCAPE],
    "composer": [b"a\nb\nc\nd", CTRL_U, b"/mo", b"\x7f", CTRL_U, b"\x03", b"x" * 100, b"\x03"],
    "search": [CTRL_F, b"air", b"\x1b[A", b"\x1b[A", ESCAPE, BOTTOM],
}
"""What is pressed, or to what size the terminal is changed, while an answer goes on."""


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "{}x{}".format(*size))
@pytest.mark.parametrize("name", sampled(ACTS, 2))
def test_the_picture_stays_right_whatever_is_done_meanwhile(
    home: Path, forks: Forks, name: str, size: tuple[int, int]
) -> None:
    server = Streaming(LONG, is_endless=True, thinks=name == "folding")
    with checked(server, home, forks, size, "kitty") as session:
        session.wait_for("blue")
        do(session, server, ACTS[name], 3)


@pytest.mark.slow
@pytest.mark.parametrize("terminal", TERMINALS)
def test_the_picture_is_right_in_every_terminal(home: Path, forks: Forks, terminal: str) -> None:
    server = Streaming(LONG, is_endless=True)
    with checked(server, home, forks, (80, 24), terminal) as session:
        session.wait_for("blue")
        do(session, server, [UP, PAGE_UP, F1, ESCAPE, BOTTOM, (90, 20), b"typed", b"\x03"], 5)
