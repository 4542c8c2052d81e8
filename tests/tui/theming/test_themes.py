"""Themes: the bundled ones can be read, and broken ones say what is wrong."""

from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import Theme

from ollm_tui.tui.theming.themes import (
    DEFAULT_THEME,
    ThemeCatalog,
    ThemeProblem,
    bundled_folder,
    read_theme,
)
from tests.tui.screens import staged
from tests.tui.scripted import ScriptedRuntime

WHOLE = 'primary = "#fff"\nforeground = "#fff"\nbackground = "#000"\n'
NAMES = ThemeCatalog().names()
PAIRS = [
    (text, ground)
    for text in (
        *("foreground", "primary", "error", "warning", "success"),
        *("text-muted", "foreground-muted", "text-disabled"),
    )
    for ground in ("background", "surface")
] + [
    ("foreground", "panel"),
    ("text-muted", "panel"),
    ("text-disabled", "panel"),
    ("block-cursor-foreground", "block-cursor-background"),
    ("text-muted", "block-cursor-background"),
]


def contrast(one: Color, other: Color) -> float:
    """WCAG 2.1, "contrast ratio"."""

    def luminance(colour: Color) -> float:
        parts = [part / 255 for part in colour.rgb]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_contrast_of_black_and_white_is_21() -> None:
    assert contrast(Color.parse("#000"), Color.parse("#fff")) == pytest.approx(21)


def test_there_are_a_light_one_a_default_and_the_terminals_own() -> None:
    themes = [ThemeCatalog().load(name) for name in NAMES]
    assert len(themes) >= 5
    assert DEFAULT_THEME in NAMES
    assert any(not theme.dark for theme in themes)
    assert [theme.name for theme in themes if theme.ansi] == ["terminal"]


@pytest.mark.parametrize("name", NAMES)
def test_text_can_be_read_on_its_ground(name: str) -> None:
    theme = ThemeCatalog().load(name)
    colours = theme.to_color_system().generate()
    if theme.ansi:
        assert not [value for value in _written(theme) if value.startswith("#")]
        return
    for text, ground in PAIRS:
        ratio = contrast(Color.parse(colours[text]), Color.parse(colours[ground]))
        assert ratio >= (7 if name == "contrast" else 4.5), (text, ground, ratio)


def _written(theme: Theme) -> list[str]:
    return [theme.primary, theme.background or "", *theme.variables.values()]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("primary = ", "not TOML"),
        ('primary = "#fff"', "foreground is missing"),
        ('primary = 1\nforeground = "#fff"\nbackground = "#000"', "primary is not a text"),
        ('primary = "pinkish"\nforeground = "#fff"\nbackground = "#000"', "not a colour: pinkish"),
        ('primary = "#fff"\nforeground = "#fff"\nbackground = "#000"\ndark = 1', "neither true"),
        ('primary = "#fff"\nforeground = "#fff"\nbackground = "#000"\nfont = ""', "named font"),
        ('primary = "#fff"\nforeground = "#fff"\nbackground = "#000"\nvariables = 1', "no"),
    ],
)
def test_a_broken_theme_says_its_name_and_the_reason(
    tmp_path: Path, words: str, reason: str
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(words, "utf-8")
    with pytest.raises(ThemeProblem, match=reason) as caught:
        read_theme(path)
    assert "mine.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ('primary = "#fff"\nforeground = "#ff', "line 2"),
        ('primary = "#fff"\nforeground = "x"\nbackground = "#000"', "line 2"),
        (f"{WHOLE}[variables]\nborder = 5", "line 5"),
        (f'{WHOLE}[variables]\n\ntext-muted = "pinkish"', "line 6"),
        (f'{WHOLE}[variables]\nblock-cursor-text-style = "loud"', "line 5"),
    ],
)
def test_a_broken_theme_says_the_line(tmp_path: Path, words: str, place: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(words, "utf-8")
    with pytest.raises(ThemeProblem, match=f"mine.toml, {place},"):
        read_theme(path)


async def test_themes_of_a_person_are_shown_at_once_and_broken_ones_stop_nothing(
    tmp_path: Path,
) -> None:
    """The picker goes through them all; a file that was changed is read again."""
    own = (bundled_folder() / "paper.toml").read_text("utf-8")
    (tmp_path / "aaa.toml").write_text(own.replace("#faf8f4", "#ffeedd"), "utf-8")
    (tmp_path / "bbb.toml").write_text(own.replace('text-muted = "', 'text-muted = "no'), "utf-8")
    catalog = ThemeCatalog((bundled_folder(), tmp_path))
    async with staged(tmp_path / "config.toml", ScriptedRuntime(), themes=catalog) as stage:
        before = stage.app.theme
        await stage.ask("/theme")
        await stage.pilot.press("home")
        await stage.settle()
        assert stage.app.theme == "aaa"
        assert stage.app.theme_variables["background"] == "#FFEEDD"
        await stage.pilot.press("down")
        await stage.settle()
        assert "bbb.toml, line" in stage.screen_text
        assert stage.app.theme == "aaa"
        await stage.pilot.press("down")
        await stage.settle()
        assert stage.app.theme == "contrast"
        assert "bbb.toml" not in stage.screen_text
        await stage.pilot.press("escape")
        assert stage.app.theme == before
        await stage.ask("/theme aaa")
        (tmp_path / "aaa.toml").write_text(own.replace("#faf8f4", "#ddeeff"), "utf-8")
        await stage.ask("/theme aaa")
        assert stage.app.theme_variables["background"] == "#DDEEFF"


def test_a_missing_theme_names_the_ones_there_are() -> None:
    with pytest.raises(ThemeProblem, match="Available: contrast, dusk"):
        ThemeCatalog().load("nosuch")


def test_a_persons_own_theme_goes_before_a_bundled_one(tmp_path: Path) -> None:
    own = (bundled_folder() / "paper.toml").read_text("utf-8")
    (tmp_path / "dusk.toml").write_text(own, "utf-8")
    assert not ThemeCatalog((bundled_folder(), tmp_path)).load("dusk").dark
