"""What slash commands may ask of this front end, done by the chat screen."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from ollm_tui.chat.conversation import Conversation
from ollm_tui.commands.host import Attachments, ModelActions, OfferedTool, Severity, View
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.capabilities import OffersTools

if TYPE_CHECKING:
    from ollm_tui.tui.chat.controller import ChatController
    from ollm_tui.tui.chat.screen import ChatScreen


class ScreenCommandHost:
    """A chat as the commands see it."""

    def __init__(self, screen: "ChatScreen", controller: "ChatController") -> None:
        self._screen = screen
        self._desk = controller
        self.model_deeds: ModelActions = controller.model_views

    def say(self, text: str, kind: Severity = "info") -> None:
        """Show a note in the transcript."""
        self._desk.say(text, kind)

    def show(self, view: View, text: str = "") -> None:
        """Open a dialog, or another screen."""
        self._desk.views.show(view, text)

    async def new_chat(self) -> None:
        """Begin anew with the same model and settings."""
        await self._desk.views.new_chat()

    async def set_model(self, address: str) -> None:
        """Use another model from the next prompt on."""
        await self._desk.find_model(address)

    def model_addresses(self) -> Mapping[str, bool]:
        """Give the known models as people write them, recent ones first; True: in use."""
        session, runtime = self._desk.session, self._desk.runtime
        recent = [ref for one in runtime.recent_models() if (ref := ModelRef.parse(one))]
        known = dict.fromkeys([*recent, *session.known_models()])
        return {runtime.catalog.shown_address(ref): ref == session.ref for ref in known}

    def conversation(self) -> Conversation:
        """Give the open conversation."""
        return self._desk.session.client.conversation

    async def retry(self) -> None:
        """Ask for the last answer once more."""
        self._screen.ask_again()

    def copy(self, text: str) -> None:
        """Put a text on the clipboard."""
        self._screen.copy(text)

    def find(self, text: str) -> None:
        """Search in the open chat."""
        self._screen.find(text)

    def theme_names(self) -> Sequence[str]:
        """Give the themes there are."""
        return self._screen.services.themes.names()

    def set_theme(self, name: str) -> None:
        """Use a theme and remember it."""
        self._desk.views.use_theme(name)

    def tool_mode(self) -> Literal["native", "react"] | None:
        """Give how the model is given its tools."""
        runtime, model = self._desk.runtime, self.conversation().model
        if model is None or not isinstance(runtime, OffersTools):
            return None
        return runtime.tool_mode(model)

    def offered_tools(self) -> Sequence[OfferedTool]:
        """Give the tools there are."""
        return self._desk.session.offered_tools

    def attachments(self) -> Attachments:
        """Give what goes along with the next message."""
        return self._desk.attaching

    def quit(self) -> None:
        """Leave the program."""
        self._screen.quit()
