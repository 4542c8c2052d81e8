"""The keys of the list of downloads, while it has the focus."""

from typing import Final

from textual.binding import Binding


def _key(name: str, keys: str, action: str, description: str) -> Binding:
    return Binding(keys, action, description, show=False, id=f"downloads.{name}")


DOWNLOADS_KEYS: Final[tuple[Binding, ...]] = (
    _key("up", "up,k", "mark(-1)", "The download above"),
    _key("down", "down,j", "mark(1)", "The download below"),
    _key("pause", "p,space", "want('pause')", "Pause the download, or let it go on"),
    _key("cancel", "x,delete", "want('cancel')", "Cancel it and remove what has come"),
    _key("retry", "r", "want('retry')", "Try again, from where it stopped"),
    _key("dismiss", "d,backspace", "want('dismiss')", "Take one that has ended off the list"),
    _key("chat", "enter", "want('chat')", "Chat with the model that is here now"),
    _key("leave", "escape,tab", "leave", "Back to the list of models"),
)
