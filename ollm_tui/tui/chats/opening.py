"""Opening the chats screen from the chat, and what was chosen there."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ollm_tui.dataclass import dataclass, field
from ollm_tui.frontend.notes import report_errors
from ollm_tui.tui.dialogs import Dialogs
from ollm_tui.tui.keys import Keymap
from ollm_tui.tui.services import Say

if TYPE_CHECKING:
    from ollm_tui.runtime.saved.chats import SavedChats
    from ollm_tui.tui.chats.importing import ChatImport
    from ollm_tui.tui.chats.screen import ChatsResult, ShownChat


@dataclass(slots=True)
class ChatsPage:
    """Opens the chats screen over the chat."""

    chats: "SavedChats | None"
    dialogs: Dialogs
    keymap: Keymap
    say: Say
    shown: "Callable[[], ShownChat]"
    """Returns the open chat."""
    open_chat: Callable[[str], Awaitable[None]]
    rename: Callable[[str, str], Awaitable[None]]
    """Renames a chat by its id, also the open one."""
    search: Callable[[str], None]
    """Searches in the messages of all chats."""
    _import: "ChatImport | None" = field(default=None, repr=False)

    def show(self) -> None:
        """Show the screen: at once, since what is typed next is meant for it."""
        chats = self.chats
        if chats is None:
            self.say("Chats are not saved here.")
            return
        # Loaded when it is opened.
        from ollm_tui.tui.chats.importing import ChatImport
        from ollm_tui.tui.chats.screen import ChatsScreen

        if self._import is None:
            self._import = ChatImport(chats, self.dialogs, self.say)
        screen = ChatsScreen(chats, self.shown(), self.rename, self._import, self.keymap)
        self.dialogs.open(screen, self._chosen)

    def _chosen(self, result: "ChatsResult | None") -> None:
        if result is None:
            return
        if result.words is not None:
            self.search(result.words)
        elif result.chat_id is not None:
            work = report_errors(self.open_chat(result.chat_id), self.say)
            self.dialogs.run(work, "open", is_exclusive=True)
