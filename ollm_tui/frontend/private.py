"""Private chats: nothing of them is kept, and they get no notes of other chats."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from ollm_tui.dataclass import dataclass
from ollm_tui.frontend.memory import ChatMemory
from ollm_tui.frontend.notes import SayWithHint

if TYPE_CHECKING:
    # a chat in lines has no screen, and loads nothing of it
    from ollm_tui.frontend.session import ChatSession

IS_PRIVATE: Final = (
    "This chat is private: it is not saved, nor is it in the search or the prompt history."
)
ENDS: Final = "/private off starts a chat that is saved."


@dataclass(frozen=True, slots=True)
class PrivateChats:
    """Starts private chats, and saved ones again."""

    session: "ChatSession"
    say: SayWithHint
    may_stop: Callable[[str], Awaitable[bool]]
    start_new: Callable[[], None]

    async def begin(self) -> None:
        """Say that the first chat is private, or give it the notes that last."""
        self.greet()
        await ChatMemory(self.session).begin(self.say)

    def show_notes(self) -> None:
        """Say in a new chat that it has the notes that last."""
        ChatMemory(self.session).greet(self.say)

    def greet(self) -> None:
        """Say that the first chat is private."""
        if self.session.is_private:
            self.say(IS_PRIVATE, hint=ENDS)

    async def switch(self, word: str = "") -> None:
        """Start a private chat, or with `off` one that is saved; an empty chat becomes it."""
        is_private = word != "off"
        if is_private == self.session.is_private:
            self.say(
                IS_PRIVATE if is_private else "This chat is not private.",
                hint=ENDS if is_private else "/private starts one that is.",
            )
        elif await self.may_stop("start a new chat"):
            self.session.is_private = is_private
            self.start_new()
            if is_private:
                self.greet()
            else:
                self.say("This chat is saved.")
