"""The chat screen: prompts, answers, branches and saved chats."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.chat.screen import ChatScreen
else:
    __getattr__ = lazy_names(__name__, {"screen": ("ChatScreen",)})

__all__ = ["ChatScreen"]
