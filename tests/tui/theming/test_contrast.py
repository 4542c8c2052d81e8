"""Contrast as it is painted: each letter of each screen against what is behind it, by WCAG 2.1."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
from rich.color import ColorType
from rich.style import Style
from textual.color import Color
from textual.geometry import Region
from textual.screen import ModalScreen

from ollm_tui.tui.theming.themes import ThemeCatalog
from tests.support.seeds import sampled
from tests.tui.screens import Stage, staged
from tests.tui.size_scenes import SCENES, every_runtime
from tests.tui.theming.test_themes import contrast

MIN_RATIOS: Final[Mapping[str, tuple[float, float]]] = {"contrast": (7.0, 4.5)}
"""For letters, and for other marks; in the other themes 4.5 for letters."""
PAINTED = [name for name in ThemeCatalog().names() if not ThemeCatalog().load(name).ansi]


def colour(style: Style, *, is_ground: bool) -> Color | None:
    wanted = (
        (style.color if is_ground else style.bgcolor)
        if style.reverse
        else (style.bgcolor if is_ground else style.color)
    )
    if wanted is None or wanted.type is ColorType.DEFAULT:
        return None
    return Color.from_rich_color(wanted)


def inside(stage: Stage) -> Region:
    """Return what can be used: of a dialog its box, since the screen behind it is dimmed."""
    screen = stage.app.screen
    return screen.children[0].region if isinstance(screen, ModalScreen) else screen.region


def painted(stage: Stage) -> Iterator[tuple[str, Color, Color]]:
    """Give each text of the screen with its colour and what is behind it."""
    left, top, width, height = inside(stage)
    for strip in stage.app.screen._compositor.render_strips()[top : top + height]:
        for segment in strip.crop(left, left + width):
            style = segment.style or Style()
            front, ground = colour(style, is_ground=False), colour(style, is_ground=True)
            is_picture = "▀" in segment.text
            if segment.text.strip() and not is_picture and front is not None and ground is not None:
                assert not style.dim
                yield segment.text.strip(), front, ground


def weak(stage: Stage, theme: str) -> dict[str, float]:
    """Return the texts that are hard to read, with their ratios."""
    letters, marks = MIN_RATIOS.get(theme, (4.5, 0.0))
    texts: dict[str, float] = defaultdict(lambda: 99.0)
    for text, front, ground in painted(stage):
        ratio = contrast(front, ground)
        if ratio < (letters if any(map(str.isalnum, text)) else marks):
            texts[f"{text[:20]} {front.hex} on {ground.hex}"] = round(ratio, 2)
    return dict(texts)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", sampled(SCENES, 6))
async def test_what_is_painted_can_be_read(name: str, tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", every_runtime()) as stage:
        await SCENES[name](stage)
        for theme in PAINTED:
            stage.app.register_theme(ThemeCatalog().load(theme))
            stage.app.theme = theme
            await stage.settle()
            assert weak(stage, theme) == {}, theme
