"""Links in painted rows: the address goes along with the text, however it is cut."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.style import Style

from ollm_tui.tui.painters.links import address_at, address_of, linked
from ollm_tui.tui.painters.markdown import links_in
from ollm_tui.tui.painters.rows import Row
from tests.tui.painters.painting import paint, paint_pieces, rows

TEXT = "A [link to the docs of it](https://a.example/b) and https://c.example/d then *end*."


def links(painted: Sequence[Row]) -> list[tuple[str, str]]:
    """What each linked piece says and where it leads."""
    return [
        (segment.text, address)
        for row in painted
        for segment in row.segments
        if (address := address_of(segment.style)) is not None
    ]


@pytest.mark.parametrize("width", [12, 13, 25, 200])
def test_every_piece_of_a_wrapped_link_leads_to_the_same_place(width: int) -> None:
    found = links(rows(paint(TEXT, width)))
    assert {address for _text, address in found} == {"https://a.example/b", "https://c.example/d"}
    label = "".join(text for text, address in found if address == "https://a.example/b")
    assert label.replace(" ", "") == "linktothedocsofit(https://a.example/b)"


def test_rows_that_lead_elsewhere_are_not_the_same() -> None:
    one, same, other = (rows(paint(f"![x](http://{host}.example)"))[0] for host in ("a", "a", "b"))
    assert one.text == other.text
    assert one.same_as(same)
    assert not one.same_as(other)


@given(st.lists(st.integers(1, 20), max_size=12))
def test_the_links_do_not_depend_on_how_an_answer_is_cut(sizes: list[int]) -> None:
    text = f"{TEXT}\n\n- {TEXT}\n\n| a |\n|---|\n| {TEXT} |\n\n# {TEXT}\n"
    pieces, start = [], 0
    for size in sizes:
        pieces.append(text[start : start + size])
        start += size
    pieces.append(text[start:])
    assert links(rows(paint_pieces(pieces, 40))) == links(rows(paint(text, 40)))


def test_no_style_carries_a_hyperlink_for_the_terminal() -> None:
    console = Console(force_terminal=True, color_system="truecolor", width=200)
    for row in rows(paint(f"{TEXT} ![cat](http://x.example)", 200)):
        for text, style, _control in row.segments:
            assert style is not None
            assert style.link is None
            assert "\x1b]" not in style.render(text, color_system=console._color_system)


def test_laying_a_style_over_a_link_keeps_its_address() -> None:
    style = linked(Style(bold=True), "https://a.example")
    assert address_of(style + Style(reverse=True)) == "https://a.example"
    assert address_of(Style(bold=True)) is None
    assert address_of(None) is None


@given(st.integers(12, 60))
def test_a_place_in_any_row_of_a_plain_address_gives_all_of_it(width: int) -> None:
    address = "https://a.example/" + "0123456789/" * 20
    painted = rows(paint(f"```\nsee {address} there\n```", width))

    def row_at(number: int) -> Row | None:
        return painted[number] if 0 <= number < len(painted) else None

    hits = [
        address_at(row_at, number, position)
        for number, row in enumerate(painted)
        for position in range(len(row.text))
    ]
    assert set(hits) == {None, address}
    assert hits.count(address) == len(address)


async def test_a_list_has_each_address_once_in_order() -> None:
    found = await links_in(
        f"{TEXT}\n\n![cat](http://x.example)\n\n```\ncurl https://code.example\n```\n{TEXT}\n"
        "| a |\n|---|\n| [cell](https://cell.example) |\n"
    )
    assert [(link.text, link.address) for link in found] == [
        ("link to the docs of it (https://a.example/b)", "https://a.example/b"),
        ("https://c.example/d", "https://c.example/d"),
        ("[image: cat]", "http://x.example"),
        ("https://code.example", "https://code.example"),
        ("cell (https://cell.example)", "https://cell.example"),
    ]
