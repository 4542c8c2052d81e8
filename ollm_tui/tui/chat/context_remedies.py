"""How full the context is, and doing something about it."""

from typing import TYPE_CHECKING

from ollm_tui.protocol.errors import AIError
from ollm_tui.tokens.budget import (
    ContextRemedy,
    DropAttachments,
    LeaveOutTurns,
    RaiseWindow,
    SendEverything,
)
from ollm_tui.tui.capabilities import MeasuresContext
from ollm_tui.tui.chat.context_dialog import NEW_CHAT, ContextFull, RemedyChoice

if TYPE_CHECKING:
    from ollm_tui.tui.chat.controller import ChatController
    from ollm_tui.tui.chat.screen import ChatScreen


class ContextRemedies:
    """Shows the figures and takes the way out that is chosen."""

    def __init__(self, screen: "ChatScreen", controller: "ChatController") -> None:
        self._screen = screen
        self._desk = controller

    def show(self) -> None:
        """Count, then show."""
        if isinstance(self._desk.runtime, MeasuresContext):
            self._screen.run_worker(self._measure(self._desk.runtime), group="context")
        else:
            self._desk.say("The context cannot be counted here.")

    async def _measure(self, runtime: MeasuresContext) -> None:
        try:
            figures = await runtime.measure(self._desk.session.client.conversation)
        except AIError as error:
            self._desk.say(error.message, "error", error.hint)
            return
        self._desk.status.show_context()
        if self._screen.app.screen is self._screen:
            self._screen.app.push_screen(ContextFull(figures), self._take)

    def _take(self, choice: RemedyChoice) -> None:
        runtime = self._desk.runtime
        if choice is None or not isinstance(runtime, MeasuresContext):
            return
        if choice == NEW_CHAT:
            self._screen.run_worker(self._desk.views.new_chat(), group="view", exclusive=True)
            return
        runtime.take_way_out(self._desk.session.client.conversation, choice)
        self._desk.say(_done(choice))
        self._desk.status.show_talk()
        if self._desk.turns.failed and choice != SendEverything():
            self._screen.ask_again()


def _done(way: ContextRemedy) -> str:
    match way:
        case LeaveOutTurns():
            them = "question is" if way.turns == 1 else f"{way.turns} questions are"
            return f"The oldest {them} no longer sent; the chat keeps everything."
        case RaiseWindow():
            return f"The model loads with a window of {way.num_ctx:,} tokens for the next prompt."
        case DropAttachments():
            return "Attachments are no longer sent; the chat keeps them."
        case SendEverything():
            return "The whole chat is sent again."
