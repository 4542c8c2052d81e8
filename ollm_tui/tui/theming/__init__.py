"""Themes: files, and choosing one."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.theming.pick_dialog import ThemePicker
    from ollm_tui.tui.theming.themes import (
        DEFAULT_THEME,
        ThemeCatalog,
        ThemeProblem,
        bundled_folder,
        put_on,
        read_theme,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "pick_dialog": ("ThemePicker",),
            "themes": (
                *("DEFAULT_THEME", "ThemeCatalog", "ThemeProblem"),
                *("bundled_folder", "put_on", "read_theme"),
            ),
        },
    )

__all__ = [
    "DEFAULT_THEME",
    "ThemeCatalog",
    "ThemePicker",
    "ThemeProblem",
    "bundled_folder",
    "put_on",
    "read_theme",
]
