"""Saved chats: their list, the search in their messages, the tree of one, and titles."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.chats.opening import ChatsPage
    from ollm_tui.tui.chats.screen import ShownChat
    from ollm_tui.tui.chats.search import ChatSearchController
    from ollm_tui.tui.chats.titles import TitleUpdater
    from ollm_tui.tui.chats.tree import DeleteMessages, ShowTree, TreeChoice
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "opening": ("ChatsPage",),
            "screen": ("ShownChat",),
            "search": ("ChatSearchController",),
            "titles": ("TitleUpdater",),
            "tree": ("DeleteMessages", "ShowTree", "TreeChoice"),
        },
    )

__all__ = [
    "ChatSearchController",
    "ChatsPage",
    "DeleteMessages",
    "ShowTree",
    "ShownChat",
    "TitleUpdater",
    "TreeChoice",
]
