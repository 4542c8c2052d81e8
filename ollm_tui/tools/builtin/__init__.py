"""The tools that come with the app; each only reads, and files only inside one folder."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tools.builtin.reading import builtin_tools as builtin_tools

__getattr__ = lazy_names(__name__, {"reading": ("builtin_tools",)})
