"""Pictures as sixels and by iTerm2's protocol: the terminal shows them, cut off as text is."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip

from ollm_tui.tui.graphics.inline import (
    MAX_BYTES,
    InlinePictures,
    InlineProtocol,
    PixelRows,
    inline_cells,
)
from ollm_tui.tui.graphics.kitty import MAX_KEPT, NUMBERS
from ollm_tui.tui.graphics.protocols import USUAL_CELL, CellSize, PictureProtocol
from ollm_tui.tui.graphics.sixel import sixels, with_palette
from ollm_tui.tui.graphics.terminal import MAX_WAITING, TerminalPictures
from ollm_tui.tui.painters.rows import Canvas, Palette
from ollm_tui.tui.transcript.picture_source import PictureSource
from ollm_tui.tui.transcript.selection import copied
from ollm_tui.tui.transcript.thumbnail import MAX_ROWS
from ollm_tui.tui.transcript.transcript import MAX_WIDTH
from tests.decode.drawn import BLUE, RED, halves
from tests.tui.graphics.terminal_screen import Pixels, decoded_iterm, decoded_sixels, shown
from tests.tui.painters.painting import rows

CELL = CellSize(3, 5)
Rgb = tuple[int, int, int]


def colours(pixels: bytes, width: int) -> list[list[Rgb]]:
    flat = [(pixels[at], pixels[at + 1], pixels[at + 2]) for at in range(0, len(pixels), 3)]
    return [flat[start : start + width] for start in range(0, len(flat), width)]


def assert_alike(drawn: Pixels, expected: list[list[Rgb]], off: int) -> None:
    """Every pixel is drawn, and no channel is further off."""
    assert [len(line) for line in drawn] == [len(line) for line in expected]
    for line, original in zip(drawn, expected, strict=True):
        for pixel, wanted in zip(line, original, strict=True):
            assert pixel is not None
            assert max(abs(one - other) for one, other in zip(pixel, wanted, strict=True)) <= off


@st.composite
def pictures(draw: st.DrawFn, columns: int = 6, most_rows: int = 3) -> PixelRows:
    """A picture of few colours in small cells."""
    rows_ = draw(st.integers(1, most_rows))
    width, height = columns * CELL.width, rows_ * CELL.height
    palette = draw(st.lists(st.binary(min_size=3, max_size=3), min_size=1, max_size=9))
    chosen = draw(
        st.lists(st.sampled_from(palette), min_size=width * height, max_size=width * height)
    )
    return PixelRows(b"".join(chosen), columns, rows_, CELL)


@given(pictures(), st.data())
def test_decoded_sixels_are_the_part_of_the_picture(
    picture: PixelRows, data: st.DataObject
) -> None:
    first, line = (data.draw(st.integers(0, most - 1)) for most in (picture.width, picture.height))
    columns = range(first, data.draw(st.integers(first + 1, picture.width)))
    lines = range(line, data.draw(st.integers(line + 1, picture.height)))
    image = with_palette(picture.rgb, picture.width, picture.height)
    drawn = decoded_sixels(sixels(image, columns, lines))
    expected = [
        [row[x] for x in columns]
        for row in colours(picture.rgb, picture.width)[lines.start : lines.stop]
    ]
    # A channel is sent as a whole percentage.
    assert_alike(drawn, expected, 2)


def test_more_colours_than_there_are_become_near_ones() -> None:
    steps = range(0, 256, 17)
    rgb = b"".join(bytes(one) for one in product(steps, steps[::2], steps))
    width, height = 16, 16 * 8
    drawn = decoded_sixels(sixels(with_palette(rgb, width, height), range(width), range(height)))
    assert_alike(drawn, colours(rgb, width), 48)
    assert len({pixel for line in drawn for pixel in line}) > 200


@pytest.mark.parametrize("protocol", ["sixel", "iterm"])
@given(picture=pictures(), first=st.integers(0, 5), wide=st.integers(1, 6))
def test_a_row_is_cut_off_as_text_is(
    protocol: InlineProtocol, picture: PixelRows, first: int, wide: int
) -> None:
    inline = InlinePictures()
    number = inline.keep(picture, protocol)
    end = min(first + wide, picture.columns)
    for row in range(picture.rows):
        strip = Strip([Segment("ab"), Segment(inline_cells(number, row, 6)), Segment("cd")])
        cut = strip.crop(2 + first, 2 + end)
        assert cut.cell_length == end - first
        cells, pixels = shown(f"x{inline.drawn(cut.text)}y")
        assert cells == "x" + " " * (end - first) + "y"
        expected = [
            line[first * CELL.width : end * CELL.width]
            for line in colours(picture.rgb, picture.width)[row * CELL.height :][: CELL.height]
        ]
        assert list(pixels) == [1]
        assert_alike(pixels[1], expected, 2 if protocol == "sixel" else 0)


def keep(inline: InlinePictures, colour: bytes = b"\xff\x00\x00", columns: int = 2) -> int:
    pixels = colour * (columns * CELL.width * CELL.height)
    return inline.keep(PixelRows(pixels, columns, 1, CELL), "sixel")


def test_each_part_of_a_line_is_drawn_in_its_place() -> None:
    inline = InlinePictures()
    red, blue = keep(inline), keep(inline, b"\x00\x00\xff")
    text = inline_cells(red, 0, 2) + inline_cells(blue, 0, 2) + "-" + inline_cells(red, 0, 1)
    cells, pixels = shown(inline.drawn(text))
    assert cells == "    - "
    assert {start: (len(lines[0]), lines[0][0]) for start, lines in pixels.items()} == {
        0: (6, RED),
        2: (6, BLUE),
        5: (3, RED),
    }


def test_cells_of_no_picture_are_blank() -> None:
    inline = InlinePictures()
    number = keep(inline)
    unknown = inline_cells(number + 1, 0, 2) + inline_cells(number, 1, 2) + "a"
    assert inline.drawn(unknown) == "    a"
    outside = inline_cells(number, 0, 5)
    assert inline.drawn(outside) == " " * 5
    assert inline.drawn(inline_cells(number, 0, 2), blank=True) == "  "
    inline.forget(number)
    assert inline.drawn(inline_cells(number, 0, 2)) == "  "


def test_the_cells_of_a_row_are_as_many_as_its_columns() -> None:
    assert len(NUMBERS) > max(MAX_WIDTH, MAX_ROWS, MAX_KEPT)
    assert cell_len(inline_cells(7, 2, MAX_WIDTH)) == MAX_WIDTH


def test_the_oldest_pictures_are_dropped_and_no_two_are_confused() -> None:
    inline = InlinePictures()
    lasting = keep(inline)
    for _ in range(3 * len(NUMBERS)):
        inline.forget(keep(inline, b"\x00\x00\xff"))
    cells, pixels = shown(inline.drawn(inline_cells(lasting, 0, 2)))
    assert (cells, pixels[0][0][0]) == ("  ", RED)
    for _ in range(MAX_KEPT):
        keep(inline)
    assert not inline.has(lasting)
    cell = CellSize(1000, 1 + MAX_BYTES // 3000)
    large = PixelRows(bytes(3 * cell.width * cell.height), 1, 1, cell)
    for _ in range(2):
        newest = inline.keep(large, "iterm")
    assert inline.has(newest)
    assert not inline.has(newest - 1)


# Which protocol, and what is asked


@pytest.mark.parametrize(("attributes", "drawn_by"), [({62, 4, 22}, "sixel"), ({62, 22}, "blocks")])
def test_the_terminal_is_asked_once_and_with_the_first_picture(
    attributes: set[int], drawn_by: PictureProtocol
) -> None:
    sent: list[str] = []
    called: list[str] = []
    terminal = TerminalPictures(sent.append)
    terminal.report_attributes({4})  # nobody has asked
    assert sent == []
    for name in "ab":
        assert terminal.protocol("auto", lambda name=name: called.append(name)) == "blocks"  # type: ignore[misc]
    assert sent == ["\x1b[16t\x1b[c"]
    assert terminal.cell == USUAL_CELL
    terminal.report_cell(CellSize(9, 18))
    terminal.report_attributes(attributes)
    terminal.report_attributes(attributes)
    assert called == ["a", "b"]
    assert terminal.protocol("auto", lambda: called.append("c")) == drawn_by
    assert terminal.cell == CellSize(9, 18)
    assert called == ["a", "b"]


def test_a_terminal_is_not_asked_what_the_settings_say() -> None:
    sent: list[str] = []
    terminal = TerminalPictures(sent.append, lambda: CellSize(9, 18))
    wanted: tuple[PictureProtocol, ...] = ("kitty", "iterm", "blocks", "off")
    assert tuple(terminal.protocol(one, lambda: None) for one in wanted) == wanted
    assert sent == []


def test_a_terminal_that_is_behind_gets_pictures_once_it_has_caught_up() -> None:
    again: list[bool] = []
    terminal = TerminalPictures(lambda _text: None, draw_again=lambda: again.append(True))
    number = keep(terminal.inline)
    text = inline_cells(number, 0, 2)
    assert shown(terminal.drawn(text, MAX_WAITING))[1]
    assert terminal.drawn("a", 0) == "a"
    assert again == []
    assert terminal.drawn(text, MAX_WAITING + 1) == "  "
    assert terminal.drawn("a", 1) == "a"
    assert again == []
    assert terminal.drawn("a", 0) == "a"
    assert shown(terminal.drawn(text, 0))[1]
    assert again == [True]


def test_a_picture_that_cannot_be_encoded_is_blank(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = TerminalPictures(lambda _text: None)
    number = keep(terminal.inline)
    monkeypatch.setattr("ollm_tui.tui.graphics.inline.sixels", lambda *_: 1 / 0)
    assert terminal.drawn(f"a{inline_cells(number, 0, 1)}b", 0) == "a b"


# In the transcript


def painted_by(pictures_: PictureProtocol, width: int = 60) -> Canvas:
    return Canvas(width, Palette(), pictures=pictures_)


@pytest.mark.parametrize("protocol", ["sixel", "iterm"])
def test_a_drawn_picture_takes_the_space_of_its_blocks_and_is_never_copied(
    protocol: PictureProtocol,
) -> None:
    terminal = TerminalPictures(lambda _text: None, lambda: CellSize(10, 20))
    picture = PictureSource(halves(size=(40, 17)), None, None, "", lambda _source: None, terminal)
    painter = picture.painter(painted_by(protocol))
    painter.work(0.0)
    before = painter.rows.row_count
    picture.decode()
    painter.work(0.0)
    lines = rows(painter)
    assert len(lines) == before == 10
    assert copied((row, (0, -1)) for row in lines[:9]) == ""
    drawn = [shown(terminal.drawn(row.text, 0))[1][0] for row in lines[:9]]
    height, width = (20, 400) if protocol == "sixel" else (16, 320)
    assert {(len(one), len(one[0])) for one in drawn} == {(height, width)}
    assert drawn[0][0][0] in {RED, (254, 0, 0)}
    assert drawn[7][0][0] in {BLUE, (0, 0, 254)}
    # The picture ends within its last row, on the background.
    assert drawn[8][-1][0] == (0, 0, 0)
    keys = terminal.drawn(lines[0].text, 0)
    if protocol == "iterm":
        sent_keys, _pixels = decoded_iterm(keys[keys.index("\x1b]") : keys.index("\x07") + 1])
        assert sent_keys.items() >= {"width": "40", "height": "1", "inline": "1"}.items()


def test_a_picture_changes_when_the_terminal_answers_and_when_its_cells_do() -> None:
    cells = [CellSize(10, 20)]
    asked: list[PictureSource] = []
    terminal = TerminalPictures(lambda _text: None, lambda: cells[-1])
    picture = PictureSource(halves(size=(40, 16)), None, None, "", asked.append, terminal)
    painter = picture.painter(painted_by("auto"))

    def line() -> str:
        painter.work(0.0)
        picture.decode()
        painter.work(0.0)
        return terminal.drawn(rows(painter)[0].text, 0)

    assert line().startswith("▀")
    asked.clear()
    terminal.report_attributes({4})
    assert asked == [picture]
    assert len(shown(line())[1][0]) == 20
    cells.append(CellSize(12, 26))
    assert len(shown(line())[1][0]) == 26
    # What is drawn is kept, and the one before is not.
    assert terminal.inline.has(2)
    assert not terminal.inline.has(1)
