"""Tables wider than the screen: nothing of a cell is lost, folded or scrolled."""

import pytest
from rich.cells import cell_len
from textual.geometry import Offset

from ollm_tui.tui.painters.rows import Row
from tests.tui.transcript.test_transcript import lines, room, settled

COLUMNS = 9
TABLE = (
    "| " + " | ".join(f"column {n}" for n in range(COLUMNS)) + " |\n" + "|---" * COLUMNS + "|\n"
    "| " + " | ".join(f"cell number {n} 日本" for n in range(COLUMNS)) + " |\n"
)


def wide_rows(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row.wide]


async def test_a_folded_table_fits_and_has_every_cell() -> None:
    async with room() as (pilot, transcript, _app):
        transcript.add_answer("a")
        transcript.append("a", TABLE)
        transcript.finish("a")
        await settled(pilot, transcript)
        text = " ".join(" ".join(lines(transcript)).split())
        assert all(f"cell number {n} 日本" in text for n in range(COLUMNS))
        assert not transcript.tables.step(1)


async def test_a_scrolled_table_moves_to_its_last_column_and_back() -> None:
    async with room() as (pilot, transcript, _app):
        transcript.add_answer("a")
        transcript.append("a", "before\n\n" + TABLE)
        transcript.finish("a")
        assert not transcript.tables.toggle()
        await settled(pilot, transcript)
        shown = [transcript.render_line(y) for y in range(transcript.size.height)]
        assert any("column 0" in strip.text and "\u203a" in strip.text for strip in shown)
        assert not any("cell number 8" in strip.text for strip in shown)
        for _ in range(20):
            assert transcript.tables.step(1)
        shown = [transcript.render_line(y) for y in range(transcript.size.height)]
        last = next(strip for strip in shown if "cell number 8 日本" in strip.text)
        assert "\u2039" in last.text
        assert "\u203a" not in last.text
        assert all(strip.cell_length == transcript.size.width for strip in shown)
        assert any("before" in strip.text for strip in shown)  # text does not move
        for _ in range(20):
            transcript.tables.step(-1)
        assert transcript.block_list.shift == 0


@pytest.mark.parametrize("width", [30, 60, 80, 120])
async def test_there_is_a_sign_where_a_table_goes_on_beside_the_scrollbar(width: int) -> None:
    async with room(width) as (pilot, transcript, _app):
        transcript.add_answer("a")
        text = "\n\n".join(f"paragraph {number}" for number in range(30))
        transcript.append("a", f"{text}\n\n{TABLE}{TABLE.splitlines()[-1]}\n\n")
        transcript.finish("a")
        transcript.tables.toggle()
        await settled(pilot, transcript)
        for _ in range(40):
            shown = [transcript.render_line(y) for y in range(transcript.size.height)]
            cells = [strip for strip in shown if "number" in strip.text and "日本" in strip.text]
            last = any("cell number 8 日本" in strip.text for strip in cells)
            assert all(("\u203a" in strip.text) is not last for strip in cells)
            transcript.tables.step(1)
        assert last


async def test_the_mouse_meets_what_is_seen_of_a_scrolled_table() -> None:
    async with room() as (pilot, transcript, _app):
        transcript.add_answer("a")
        transcript.append("a", TABLE)
        transcript.finish("a")
        transcript.tables.toggle()
        await settled(pilot, transcript)
        transcript.tables.step(1)
        y = next(
            y for y in range(transcript.size.height) if "cell" in transcript.render_line(y).text
        )
        seen = transcript.render_line(y).text
        row = transcript.block_list.row_at(transcript.scroll_offset.y + y)
        assert row is not None
        x = cell_len(seen[: seen.index("number")])
        position = transcript.selection.position_at(x, y)
        assert isinstance(position, Offset)
        assert row[0].text[position.x - 3 :].startswith("number")


async def test_a_place_in_a_wide_row_is_brought_into_view() -> None:
    async with room() as (pilot, transcript, _app):
        transcript.add_answer("a")
        transcript.append("a", TABLE)
        transcript.finish("a")
        transcript.tables.toggle()
        await settled(pilot, transcript)
        row = transcript.block_list.row_at(2)
        assert row is not None
        transcript.tables.show(row[0], row[0].text.index("number 7"))
        assert "number 7" in transcript.render_line(2 - transcript.scroll_offset.y).text
        transcript.tables.show(row[0], 0)
        assert transcript.block_list.shift == 0
