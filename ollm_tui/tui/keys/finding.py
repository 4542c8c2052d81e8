"""The keys of the screen that finds models and of its choice; each can be remapped by its id."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from textual.binding import Binding


def _key(name: str, keys: str, action: str, description: str) -> Binding:
    return Binding(keys, action, description, show=False, id=name)


FIND_MODELS_KEYS: Final[tuple[Binding, ...]] = (
    _key("find_models.choose", "enter", "choose", "Choose a file to download"),
    _key("find_models.up", "up", "move(-1)", "Previous model"),
    _key("find_models.down", "down", "move(1)", "Next model"),
    _key("find_models.page_up", "pageup", "move(-10)", "Page up"),
    _key("find_models.page_down", "pagedown", "move(10)", "Page down"),
    _key("find_models.purpose", "f4", "next_purpose", "Filter by purpose"),
    _key("find_models.again", "f5", "ask_again", "Refresh"),
    _key("find_models.rate", "f6", "rate", "Rate it; higher-rated models come first"),
    _key("find_models.downloads", "tab", "to_downloads", "Go to downloads"),
    _key("find_models.help", "f1", "help", "Help"),
    _key("find_models.close", "escape,ctrl+c", "close", "Back"),
)

VARIANT_KEYS: Final[tuple[Binding, ...]] = (
    _key("variant.choose", "enter", "choose", "Download"),
    _key("variant.up", "up,k", "move(-1)", "Better quality"),
    _key("variant.down", "down,j", "move(1)", "Smaller file"),
    _key("variant.context", "c,right", "context(1)", "Check the fit with a larger context"),
    _key("variant.context_less", "C,left", "context(-1)", "Check the fit with a smaller context"),
    _key("variant.cache", "v", "cache", "Check the fit with another KV cache type"),
    _key("variant.place", "w", "place", "Choose the destination"),
    _key("variant.projector", "p", "projector", "Include the image encoder, or not"),
    _key("variant.close", "escape,ctrl+c,q", "close", "Cancel"),
)

FETCH_LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "find_models.choose": "choose",
        "find_models.purpose": "purpose",
        "find_models.again": "refresh",
        "find_models.rate": "rate",
        "find_models.downloads": "downloads",
        "find_models.help": "help",
        "find_models.close": "back",
        "variant.choose": "download",
        "variant.context": "context",
        "variant.cache": "cache",
        "variant.place": "where",
        "variant.projector": "pictures",
        "variant.close": "close",
        "downloads.pause": "pause",
        "downloads.cancel": "cancel",
        "downloads.retry": "retry",
        "downloads.dismiss": "dismiss",
        "downloads.chat": "chat",
        "downloads.leave": "back",
    }
)
"""The words for a line of keys, where space is short."""

FETCH_WHEN: Final[Mapping[str, str]] = MappingProxyType(
    {"variant.projector": "the model sees pictures", "variant.place": "a server can pull it"}
)
