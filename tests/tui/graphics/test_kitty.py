"""Pictures by kitty's protocol: what is sent, what is deleted, and which terminals get them."""

import re
from base64 import b64decode
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ollm_tui.tui.graphics.kitty import (
    MAX_KEPT,
    NUMBERS,
    PLACEHOLDER,
    KittyPictures,
    colour_of,
    placeholders,
    transmission,
)
from ollm_tui.tui.graphics.protocols import PictureProtocol, protocol_for
from ollm_tui.tui.graphics.terminal import TerminalPictures
from ollm_tui.tui.painters.rows import Canvas, Palette
from ollm_tui.tui.transcript.picture_source import PictureSource
from ollm_tui.tui.transcript.selection import copied
from ollm_tui.tui.transcript.thumbnail import MAX_ROWS
from ollm_tui.tui.transcript.transcript import MAX_WIDTH
from tests.decode.drawn import halves
from tests.tui.painters.painting import rows

COMMAND = re.compile(
    r"\x1b_G([a-zA-Z]=[a-zA-Z0-9]+(?:,[a-zA-Z]=[a-zA-Z0-9]+)*)(?:;([^\x1b]*))?\x1b\\"
)
"""The grammar: keys with plain values, and base64."""


def commands(sent: str) -> list[tuple[dict[str, str], str]]:
    """The commands of a sequence, which holds nothing else."""
    found = list(COMMAND.finditer(sent))
    assert "".join(one[0] for one in found) == sent
    return [(dict(key.split("=") for key in one[1].split(",")), one[2] or "") for one in found]


@given(st.binary(max_size=20_000), st.integers(1, 0xFFFFFF), st.integers(1, 100))
def test_a_picture_is_sent_in_pieces_and_nothing_else(data: bytes, number: int, wide: int) -> None:
    *pieces, (placement, _none) = commands(transmission(number, data, wide, 3))
    assert b64decode("".join(piece for _keys, piece in pieces)) == data
    assert all(len(piece) <= 4096 and keys["q"] == "2" for keys, piece in pieces)
    assert [keys["m"] for keys, _piece in pieces] == ["1"] * (len(pieces) - 1) + ["0"] * bool(
        pieces
    )
    expected = {"a": "p", "U": "1", "q": "2", "i": str(number), "c": str(wide), "r": "3"}
    assert placement == expected


def test_the_cells_of_a_picture_are_as_many_as_its_columns() -> None:
    assert len(set(NUMBERS)) == len(NUMBERS) > MAX_WIDTH > MAX_ROWS
    assert NUMBERS[:5] == "\u0305\u030d\u030e\u0310\u0312"
    text = placeholders(2, MAX_WIDTH)
    assert cell_len(text) == MAX_WIDTH
    assert text[:6] == f"{PLACEHOLDER}\u030e\u0305{PLACEHOLDER}\u030e\u030d"


def test_the_oldest_pictures_are_deleted_and_all_at_the_end() -> None:
    sent: list[str] = []
    pictures = KittyPictures(sent.append)
    ids = [pictures.send(b"x", 1, 1) for _ in range(MAX_KEPT + 1)]
    assert all(before < after for before, after in pairwise(ids))
    assert commands(sent[-1])[0][0] == {"a": "d", "d": "I", "i": str(ids[0]), "q": "2"}
    assert not pictures.has(ids[0])
    pictures.forget(ids[1])
    pictures.forget(ids[1])
    sent.clear()
    pictures.delete_all()
    assert [commands(one)[0][0]["i"] for one in sent] == [str(one) for one in ids[2:]]
    sent.clear()
    pictures.send_all()  # the program is back in the foreground
    assert len(sent) == MAX_KEPT - 1


@pytest.mark.parametrize(
    ("setting", "environ", "protocol"),
    [
        ("auto", {"TERM": "xterm-kitty", "COLORTERM": "truecolor"}, "kitty"),
        ("auto", {"TERM": "xterm-ghostty", "COLORTERM": "truecolor"}, "kitty"),
        ("auto", {"TERM": "xterm-kitty", "COLORTERM": "truecolor", "TMUX": "/x,1"}, "blocks"),
        ("auto", {"TERM": "xterm-kitty"}, "auto"),
        ("auto", {"TERM": "xterm-kitty", "COLORTERM": "truecolor", "NO_COLOR": "1"}, "blocks"),
        ("auto", {"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "auto"),
        ("auto", {"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "iterm"),
        ("auto", {"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "iterm"),
        ("auto", {"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, "iterm"),
        ("auto", {"TERM": "tmux-256color", "LC_TERMINAL": "iTerm2"}, "blocks"),
        ("auto", {"TERM": "screen", "STY": "1.pts"}, "blocks"),
        ("auto", {"TERM": "linux"}, "blocks"),
        ("iterm", {"TMUX": "/x,1"}, "iterm"),
        ("sixel", {}, "sixel"),
        ("kitty", {"TERM": "xterm-256color"}, "kitty"),
        ("blocks", {"TERM": "xterm-kitty", "COLORTERM": "truecolor"}, "blocks"),
        ("off", {}, "off"),
        ("paper", {}, "blocks"),  # the settings say that there is no such value
    ],
)
def test_the_protocol_follows_the_setting_and_the_terminal(
    setting: str, environ: dict[str, str], protocol: str
) -> None:
    assert protocol_for(setting, environ) == protocol


def canvas(pictures: PictureProtocol, width: int = 60) -> Canvas:
    return Canvas(width, Palette(), pictures=pictures)


def test_a_drawn_picture_takes_the_space_of_its_blocks_and_is_never_copied() -> None:
    sent: list[str] = []
    terminal = TerminalPictures(sent.append)
    picture = PictureSource(halves(size=(40, 18)), None, None, "", lambda _source: None, terminal)
    painter = picture.painter(canvas("kitty"))
    painter.work(0.0)
    before = painter.rows.row_count
    picture.decode()
    painter.work(0.0)
    shown = rows(painter)
    assert len(shown) == before == 10
    keys, _piece = commands(sent[0])[0]
    style = shown[0].segments[0].style
    assert style is not None
    assert style.color is not None
    assert style.color.triplet == colour_of(int(keys["i"]))
    assert [row.text for row in shown[:9]] == [placeholders(number, 40) for number in range(9)]
    assert copied((row, (0, -1)) for row in shown[:9]) == ""
    # At another width it is sent anew, and the one before is deleted.
    sent.clear()
    painter.restyle(canvas("kitty", 20), 0)
    painter.work(0.0)
    picture.decode()
    painter.work(0.0)
    assert commands(sent[0])[0][0]["d"] == "I"
    assert commands(sent[1])[-1][0]["c"] == "20"


def test_a_picture_that_the_terminal_has_lost_is_sent_again() -> None:
    sent: list[str] = []
    terminal, asked = TerminalPictures(sent.append), list[object]()
    picture = PictureSource(halves(), None, None, "", asked.append, terminal)
    painter = picture.painter(canvas("kitty"))
    painter.work(0.0)
    picture.decode()
    painter.work(0.0)
    assert len(asked) == 1
    terminal.forget(int(commands(sent[0])[0][0]["i"]))
    painter.work(0.0)
    assert len(asked) == 2


def test_no_picture_is_drawn_if_none_is_wanted() -> None:
    picture = PictureSource(halves(), None, None, "", lambda _source: None)
    painter = picture.painter(canvas("off"))
    painter.work(0.0)
    assert painter.rows.row_count == 1
