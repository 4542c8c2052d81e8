"""Links: where they lead, and opening one."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.links.opening import Links
else:
    __getattr__ = lazy_names(__name__, {"opening": ("Links",)})

__all__ = ["Links"]
