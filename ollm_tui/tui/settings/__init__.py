"""The settings screen: every setting of the schema, changed without opening the file."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.settings.opening import SettingsPage
else:
    __getattr__ = lazy_names(__name__, {"opening": ("SettingsPage",)})

__all__ = ["SettingsPage"]
