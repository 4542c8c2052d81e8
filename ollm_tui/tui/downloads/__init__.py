"""Finding models and downloading them."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.downloads.dock_actions import ShowsDownloads
    from ollm_tui.tui.downloads.progress import ChatDownloads, find_models_page
else:
    __getattr__ = lazy_names(
        __name__,
        {"dock_actions": ("ShowsDownloads",), "progress": ("ChatDownloads", "find_models_page")},
    )

__all__ = ["ChatDownloads", "ShowsDownloads", "find_models_page"]
