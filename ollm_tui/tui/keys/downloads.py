"""The keys of the list of downloads, while it has the focus."""

from typing import Final

from textual.binding import Binding


def _key(name: str, keys: str, action: str, description: str) -> Binding:
    return Binding(keys, action, description, show=False, id=f"downloads.{name}")


DOWNLOADS_KEYS: Final[tuple[Binding, ...]] = (
    _key("up", "up,k", "mark(-1)", "Previous download"),
    _key("down", "down,j", "mark(1)", "Next download"),
    _key("pause", "p,space", "want('pause')", "Pause or resume"),
    _key("cancel", "x,delete", "want('cancel')", "Cancel and delete the partial file"),
    _key("retry", "r", "want('retry')", "Retry from where it stopped"),
    _key("dismiss", "d,backspace", "want('dismiss')", "Remove a finished download from the list"),
    _key("chat", "enter", "want('chat')", "Chat with the downloaded model"),
    _key("leave", "escape,tab", "leave", "Return to the model list"),
)
