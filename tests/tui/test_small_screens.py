"""On 60 columns and 16 rows every screen and dialog can be used: nothing is out of reach."""

from pathlib import Path

import pytest
from textual.errors import NoWidget
from textual.geometry import Region
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static, TextArea

from tests.support.seeds import sampled
from tests.tui.screens import Stage, staged
from tests.tui.size_scenes import SCENES, every_runtime

SIZE = (60, 16)
MIN_ROWS = 1
CONTROLS = (Input, TextArea, OptionList)


def can_be_reached(stage: Stage, widget: Widget) -> bool:
    """Whether a widget is on the screen, or can be scrolled there."""
    try:
        place = stage.app.screen.find_widget(widget)
        region, clip = place.region, place.clip
    except NoWidget:
        region, clip = widget.virtual_region, Region()
    if clip.contains_region(region) or clip.intersection(region).height >= MIN_ROWS:
        return True
    return any(getattr(parent, "max_scroll_y", 0) > 0 for parent in widget.ancestors)


def is_cut(stage: Stage, widget: Widget) -> bool:
    """Whether words of a dialog, such as its keys, do not fit below each other."""
    place = stage.app.screen.find_widget(widget)
    return not place.clip.contains_region(place.region)


@pytest.mark.parametrize("name", sampled(SCENES, 8))
async def test_nothing_is_out_of_reach(name: str, tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", every_runtime(), size=SIZE) as stage:
        await SCENES[name](stage)
        screen = stage.app.screen
        shown = [one for one in screen.query("*") if one.display and one.visible]
        controls = [one for one in shown if isinstance(one, CONTROLS) or one.can_focus]
        lost = [one for one in controls if not one.disabled and not can_be_reached(stage, one)]
        assert lost == []
        for words in (one for one in shown if isinstance(one, Static) and one.id == "about"):
            assert not is_cut(stage, words), stage.screen_text
        assert all(len(row) <= SIZE[0] for row in stage.screen_text.splitlines())
