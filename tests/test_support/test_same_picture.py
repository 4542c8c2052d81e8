"""The comparison of pictures finds each kind of wrong frame, and nothing in a right one."""

import base64
import json
import zlib

import pytest

from tests.support.same_picture import Comparison
from tests.support.styled_terminal import StyledTerminal

WHOLE = "\x1b[1;1H\x1b[1;31mone\x1b[0m \n\x1b[2;1Htwo \n\x1b[3;1Hend "


def picture(ansi: str = WHOLE, size: tuple[int, int] = (4, 3)) -> str:
    told = {"size": size, "cursor": (0, 0), "ansi": ansi, "live": []}
    return f"\x1b]77770;{base64.b64encode(zlib.compress(json.dumps(told).encode())).decode()}\x1b\\"


def compared(*output: str) -> Comparison:
    return Comparison([(0, (4, 3))]).of("".join(output).encode())


def test_what_is_shown_by_scrolling_is_the_same_picture() -> None:
    before = "\x1b[1;1Hold\x1b[2;1H\x1b[31;1mone\x1b[m\x1b[3;1Hend"
    comparison = compared(before, "\x1b[1;2r\x1b[S\x1b[r\x1b[2;1Htwo\x1b[H", picture())
    assert (comparison.wrong, comparison.unknown, comparison.checked) == ([], [], 1)


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        ("\x1b[2;3Hx\x1b[H", "frame 1, row 1: from column 2 'twx', not 'two'"),
        ("\x1b[1;1H\x1b[1;32mo\x1b[m\x1b[H", "frame 1, row 0: column 0 looks like"),
        ("\x1b[2;3H", "frame 1: cursor 2, 1"),
        ("\x1b[1;2r", "frame 1: scrolls 0 to 1"),
    ],
)
def test_a_mistake_is_named(mistake: str, said: str) -> None:
    comparison = compared(WHOLE, "\x1b[H", mistake, picture())
    assert len(comparison.wrong) == 1
    assert comparison.wrong[0].startswith(said)


def test_a_torn_sequence_is_unknown() -> None:
    assert compared(WHOLE, "\x1b[", "\x1b[H").unknown == ["\x1b"]


def test_a_picture_of_another_size_is_left_out() -> None:
    comparison = Comparison([(0, (4, 3)), (len(WHOLE), (5, 3))])
    assert comparison.of((WHOLE + picture()).encode()).checked == 0


def test_what_is_scrolled_in_has_the_background_that_is_set() -> None:
    terminal = StyledTerminal(3, 2)
    terminal.feed(b"\x1b[48;2;1;2;3m\x1b[2T\x1b[0m\x1b[2;1H \x1b[K")
    assert [pen.background for _, pen in terminal.cells[0]] == ["1,2,3"] * 3
    assert [pen.background for _, pen in terminal.cells[1]] == [""] * 3


def test_half_of_a_wide_character_is_none() -> None:
    terminal = StyledTerminal(4, 1)
    terminal.feed("漢字\x1b[1;2Hx".encode())
    assert terminal.lines == [" x字"]
    terminal.feed(b"\x1b[1;3Hy")
    assert terminal.lines == [" xy"]
