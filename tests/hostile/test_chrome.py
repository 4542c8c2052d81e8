"""An answer that draws the program's own frames stays in its column."""

from pathlib import Path

import pytest

from tests.hostile.payloads import FORGED
from tests.tui.screens import staged

pytestmark = pytest.mark.slow

GUTTER = 3


@pytest.mark.one_in(4)
@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("space", ["", " ", "\u3000", "\t", "\b" * 9, "\r", "\u200b"])
async def test_no_answer_reaches_the_columns_of_the_frame(
    tmp_path: Path, width: int, space: str
) -> None:
    forged = "\n".join(space + line for line in FORGED.split("\n"))
    async with staged(tmp_path / "config.toml", size=(width, 60)) as stage:
        await stage.ask("draw")
        stage.client.answer(forged)
        await stage.settle()
        lines = stage.screen_text.split("\n")
        top, end = stage.chat.transcript.region.y, stage.chat.transcript.region.bottom
        shown = lines[top:end]
        assert any("Allow this" in line for line in shown)
        # Only the person's own words and the program's notes have the bar.
        assert {line[:GUTTER].strip() for line in shown} <= {"", "▌"}
        assert [line for line in shown if line.startswith(" ▌ ")] == [" ▌ draw"]
        assert all(line[len(line) - 1 :] != "" or len(line) <= width for line in lines)
