"""The line below the input: the level, the time and the keys, at any width."""

from pathlib import Path

import pytest

from ollm_tui.frontend.figures import clock_time
from ollm_tui.tui.voice.line import METER_CELLS, meter
from tests.tui.screens import staged
from tests.tui.svg import SvgSnapshot


def test_the_meter_has_the_newest_level_at_its_right() -> None:
    assert meter([]) == " " * METER_CELLS
    assert meter([0.0, 0.5, 1.0]).endswith(" ▄█")
    assert len(meter([1.0] * 99)) == METER_CELLS
    assert meter([-1.0, 9.0]).endswith(" █")


def test_the_clock_counts_minutes() -> None:
    assert [clock_time(one) for one in (0, 9.9, 65, 600)] == ["0:00", "0:09", "1:05", "10:00"]


@pytest.mark.parametrize("state", ["recording", "silent", "transcribing", "reading"])
async def test_states(state: str, tmp_path: Path, svg_snapshot: SvgSnapshot) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        line = stage.controller.voice._line
        if state in {"recording", "silent"}:
            line.begin_recording("localai://whisper-1")
            for number in range(10):
                line.show_level(number / 10 if state == "recording" else 0.0, 4.2)
        elif state == "transcribing":
            line.show_busy("Transcribing 0:04")
        else:
            line.show_reading()
        await stage.settle()
        svg_snapshot(stage.app)


@pytest.mark.parametrize("width", [20, 40, 60, 80])
async def test_the_keys_stay_where_it_is_narrow(width: int, tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", size=(width, 24)) as stage:
        line = stage.controller.voice._line
        line.begin_recording("localai://whisper-1")
        await stage.settle()
        row = stage.screen_text.splitlines()[-2]
        assert len(row) <= width
        assert row.startswith(" ● ")
        assert width == 20 or "Enter insert  Esc cancel" in row
