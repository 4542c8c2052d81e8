"""What slash commands use of this front end."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ollm_tui.chat.conversation import Conversation
from ollm_tui.commands.host import (
    Attachments,
    Drawings,
    Exports,
    ModelActions,
    OfferedTool,
    Profiles,
    SpeechActions,
    View,
)
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.chat.dialogs import ThemeSwitch
from ollm_tui.tui.chat.model_choice import ModelChoice
from ollm_tui.tui.chat.prompts import Prompts
from ollm_tui.tui.chat.session import ChatSession
from ollm_tui.tui.services import Say
from ollm_tui.tui.terminal import Copying
from ollm_tui.tui.transcript import SearchControl

if TYPE_CHECKING:
    from ollm_tui.models.thinking import ThinkingSupport


@dataclass(frozen=True, slots=True)
class OpenChatExports:
    """The open chat in the formats of an export."""

    session: ChatSession

    async def text(self, form: str) -> str:
        """Return the chat as text."""
        # Imported with the first export, as below.
        from ollm_tui.exchange.formats import format_named

        return await self.session.runtime.exports.text(self.session.client, format_named(form))

    async def write(self, form: str, path: Path | None, *, replaces: bool) -> Path:
        """Write the chat to a file."""
        # As above.
        from ollm_tui.exchange.formats import format_named

        return await self.session.runtime.exports.write(
            self.session.client, format_named(form), path, replaces=replaces
        )


@dataclass(slots=True)
class ScreenCommandHost:
    """The chat as the commands see it; see `CommandHost` for what its members do."""

    session: ChatSession
    say: Say
    open_view: Callable[[View, str], None]
    attaching: Attachments
    model_actions: ModelActions
    models: ModelChoice
    themes: ThemeSwitch
    copying: Copying
    search: SearchControl
    prompts: Prompts
    drawings: Drawings
    voice: SpeechActions
    new_chat: Callable[[], Coroutine[Any, Any, None]]
    quit: Callable[[], None]
    exports: Exports = field(init=False)

    def __post_init__(self) -> None:
        self.exports = OpenChatExports(self.session)

    def show(self, view: View, text: str = "") -> None:
        """Open a dialog, or another screen."""
        self.open_view(view, text)

    async def retry(self) -> None:
        """Send the newest question once more."""
        self.prompts.retry()

    async def set_model(self, address: str) -> None:
        """Use another model from the next prompt on."""
        await self.models.find(address)

    def copy(self, text: str) -> None:
        """Put a text on the clipboard."""
        self.copying.text(text)

    def find(self, text: str) -> None:
        """Search in the open chat."""
        self.search.find(text)

    def theme_names(self) -> Sequence[str]:
        """Return the names of all themes."""
        return self.themes.services.themes.names()

    def set_theme(self, name: str) -> None:
        """Use a theme and remember it."""
        self.themes.use(name)

    def conversation(self) -> Conversation:
        """Return the open conversation."""
        return self.session.client.conversation

    @property
    def profiles(self) -> Profiles:
        """The profiles of the settings."""
        return self.session.runtime.profiles

    def attachments(self) -> Attachments:
        """Return what is sent with the next message."""
        return self.attaching

    def offered_tools(self) -> Sequence[OfferedTool]:
        """Return all tools, switched on or not."""
        return self.session.runtime.offered_tools()

    def model_addresses(self) -> Mapping[str, bool]:
        """Return the known models as people write them, recent ones first; True: in use."""
        session, runtime = self.session, self.session.runtime
        recent = [ref for one in runtime.recent_models() if (ref := ModelRef.parse(one))]
        listings = runtime.catalog.cached()
        listed = (ModelRef(one.provider, info.name) for one in listings for info in one.models)
        in_use = [session.ref] if session.ref else []  # maybe not listed yet
        known = dict.fromkeys([*recent, *in_use, *listed])
        return {runtime.catalog.shown_address(ref): ref == session.ref for ref in known}

    def tool_mode(self) -> Literal["native", "react"] | None:
        """Return how the model is given its tools, or None if that is unknown."""
        model = self.session.model
        return self.session.runtime.tool_mode(model) if model is not None else None

    async def thinking(self) -> "ThinkingSupport | None":
        """Return how the model thinks, or None if that is unknown."""
        model = self.session.model
        if model is None:
            return None
        try:
            return await self.session.runtime.thinking_of(model)
        except AIError:  # the next prompt says why
            return None

    def takes_window(self) -> bool:
        """Return whether the model's server loads it with the window that a chat asks for."""
        model = self.session.model
        return model is None or self.session.runtime.manager.takes_window(model)
