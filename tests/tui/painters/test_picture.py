"""A picture's rows: known before it is decoded, and never more or fewer afterwards."""

from time import monotonic

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.style import Style

from ollm_tui.tui.painters.painter import Change
from ollm_tui.tui.painters.rows import Canvas, Palette, row_cells
from ollm_tui.tui.transcript import picture_source
from ollm_tui.tui.transcript.picture_source import PictureSource
from ollm_tui.tui.transcript.selection import copied
from tests.decode.drawn import KINDS, bomb, flat, halves
from tests.tui.painters.painting import canvas, looks, rows, texts


def source(data: bytes | str | None = None, **more: str) -> tuple[PictureSource, list[str]]:
    asked: list[str] = []
    picture = PictureSource(
        data,
        more.get("url"),
        more.get("mime_type"),
        more.get("label", ""),
        lambda _source: asked.append("decode"),
    )
    return picture, asked


def test_the_space_is_there_before_the_picture() -> None:
    picture, asked = source(halves(size=(40, 16)))
    assert picture.estimate(canvas(60)) == 9
    painter = picture.painter(canvas(60))
    assert painter.rows.row_count == 9
    assert not painter.work(monotonic() + 1)
    size = len(halves(size=(40, 16)))
    assert texts(painter) == [
        "╭" + "─" * 38 + "╮",
        *["│" + " " * 38 + "│"] * 6,
        "╰" + "─" * 38 + "╯",
        f"png · 40 x 16 · {size} B",
    ]
    assert asked == ["decode"]


def test_the_picture_takes_its_space_and_nothing_else_changes() -> None:
    picture, _asked = source(halves(size=(40, 18)))
    painter = picture.painter(canvas(60))
    painter.work(0.0)
    caption = texts(painter)[-1]
    painter.rows.take_change()
    picture.decode()
    assert not painter.work(0.0)
    assert painter.rows.take_change() == Change(0, 10)
    assert painter.rows.row_count == 10
    assert texts(painter) == ["▀" * 40] * 9 + [caption]
    painted = [row.segments[0].style for row in rows(painter)[:9]]
    assert painted[0] == Style.parse("#ff0000 on #ff0000")
    assert painted[4] == Style.parse("#ff0000 on #0000ff")
    assert painted[8] == Style.parse("#0000ff on #0000ff")
    painter.work(0.0)
    assert painter.rows.take_change() is None


def test_a_second_painter_needs_no_second_decoding() -> None:
    picture, asked = source(halves())
    picture.painter(canvas()).work(0.0)
    picture.decode()
    again = picture.painter(canvas())
    again.work(0.0)
    assert texts(again)[0].startswith("▀")
    assert asked == ["decode"]


def test_another_width_and_another_background_are_decoded_anew() -> None:
    picture, asked = source(halves(size=(100, 50)))
    painter = picture.painter(canvas(60))
    painter.work(0.0)
    picture.decode()
    painter.work(0.0)
    place = painter.rows.anchor(5)
    painter.restyle(canvas(20), 0)
    assert painter.rows.row_count == picture.estimate(canvas(20)) == 6
    assert painter.rows.row(0).text == ""
    painter.work(0.0)
    assert texts(painter)[0] == "╭" + "─" * 18 + "╮"
    assert painter.rows.locate(place) == 5 * 6 // 16
    picture.decode()
    painter.work(0.0)
    assert texts(painter)[0] == "▀" * 20
    green = Canvas(20, Palette(text=Style.parse("on #00a000")))
    painter.restyle(green, 0)
    painter.work(0.0)
    assert len(asked) == 3
    picture.decode()
    painter.work(0.0)
    painter.restyle(Canvas(40, Palette(), has_colours=False), 0)
    painter.work(0.0)
    assert texts(painter) == [picture.text]


def test_a_late_thumbnail_of_another_size_is_not_shown() -> None:
    picture, asked = source(halves(size=(100, 50)))
    wide, narrow = picture.painter(canvas(60)), picture.painter(canvas(20))
    wide.work(0.0)
    picture.decode()
    narrow.work(0.0)
    assert texts(narrow)[0].startswith("╭")
    assert asked == ["decode"] * 2


def test_what_shows_through_lies_on_the_theme() -> None:
    picture, _asked = source(flat(size=(4, 3)))
    painter = picture.painter(Canvas(20, Palette(text=Style.parse("on #00a000"))))
    painter.work(0.0)
    picture.decode()
    painter.work(0.0)
    last = rows(painter)[1].segments[0].style
    assert last is not None
    assert (last.color, last.bgcolor) == (
        Style.parse("#ff0000").color,
        Style.parse("#00a000").color,
    )


def test_the_words_below_say_what_it_is() -> None:
    assert source(flat("jpeg"), mime_type="image/png", label="a.png")[0].text.startswith(
        "a.png · jpeg · 64 x 48 · "
    )
    assert source(b"<svg/>", mime_type="image/svg+xml")[0].text == "image/svg+xml · cannot be shown"
    assert source(b"")[0].text == "picture · cannot be shown"
    assert source()[0].text == "a picture without data"
    assert source(bomb())[0].text == "png · 30000 x 30000 · too large to be shown"
    assert source(bomb(0, 0))[0].text == "picture · cannot be shown"


def test_a_link_is_shown_whole_and_cleaned() -> None:
    link = "https://example.org/" + "path/" * 20 + "\u202egnp.exe\x1b[2J"
    picture, asked = source(url=link)
    painter = picture.painter(canvas(40))
    painter.work(0.0)
    assert "".join(texts(painter)) == picture.text
    assert "⟦U+202E⟧gnp.exe⟦U+001B⟧[2J" in picture.text
    assert painter.rows.row_count == picture.estimate(canvas(40)) > 2
    assert copied((row, (0, -1)) for row in rows(painter)) == picture.text
    assert asked == []


@pytest.mark.parametrize("data", [flat()[:60], flat("jpeg")[:200], flat("gif")[:20]])
def test_a_broken_picture_keeps_its_space_and_says_so(data: bytes) -> None:
    picture, _asked = source(data + bytes(40))
    painter = picture.painter(canvas())
    painter.work(0.0)
    count, before = painter.rows.row_count, texts(painter)
    picture.decode()
    painter.work(0.0)
    assert painter.rows.row_count == count
    assert texts(painter)[:-1] == before[:-1]
    assert texts(painter)[-1].endswith(" · 64 x 48 · cannot be shown")


@pytest.mark.parametrize("has_pillow", [True, False])
def test_without_colours_or_pillow_there_is_one_row(
    has_pillow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture_source, "can_decode", lambda: has_pillow)
    picture, asked = source(flat())
    bare = Canvas(60, Palette(), has_colours=not has_pillow)
    painter = picture.painter(bare)
    painter.work(0.0)
    assert painter.rows.row_count == picture.estimate(bare) == 1
    assert texts(painter)[0].startswith("png · 64 x 48 · ")
    assert asked == []


def test_a_copy_holds_the_words_only() -> None:
    picture, _asked = source(flat())
    painter = picture.painter(canvas())
    for _ in range(2):
        painter.work(0.0)
        assert copied((row, (0, -1)) for row in rows(painter)) == picture.text
        picture.decode()


@settings(max_examples=60)
@given(
    st.sampled_from(KINDS),
    st.integers(1, 300),
    st.integers(1, 300),
    st.lists(st.integers(1, 110), min_size=1, max_size=4),
    st.booleans(),
)
def test_the_number_of_rows_depends_on_the_width_alone(
    kind: str, width: int, height: int, measures: list[int], is_cut: bool
) -> None:
    data = halves(kind, (width, height))
    picture, _asked = source(data[: max(len(data) // 2, 40)] if is_cut else data, label="文.png")
    painter = picture.painter(canvas(measures[0]))
    for measure in measures:
        painter.restyle(canvas(measure), 0)
        expected = picture.estimate(canvas(measure))
        for _ in range(2):
            assert (
                painter.rows.row_count == expected <= 21 or picture.space(canvas(measure)) is None
            )
            painter.work(0.0)
            assert painter.rows.row_count == len(looks(painter)) == expected
            assert max(row_cells(row.segments) for row in rows(painter)) <= max(measure, 2)
            picture.decode()


def test_what_is_asked_for_again_while_it_is_made_is_made_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[object] = []

    def make(*arguments: object) -> None:
        made.append(arguments[2])

    monkeypatch.setattr(picture_source, "make_thumbnail", make)
    picture, asked = source(halves(size=(40, 16)))
    for width in (60, 20):
        picture.painter(canvas(width)).work(0.0)
        picture.decode()
        picture.decode()
    assert len(made) == len(set(made)) == 2
    assert len(asked) == 2
