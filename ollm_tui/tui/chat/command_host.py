"""What slash commands use of this front end."""

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from ollm_tui.commands.files import Snippets
from ollm_tui.commands.host import Attachments, Drawings, Forms, ModelActions, SpeechActions, View
from ollm_tui.commands.tool_host import PermissionList
from ollm_tui.dataclass import dataclass, field
from ollm_tui.frontend.open_chat import OpenChatHost
from ollm_tui.tui.chat.dialogs import ThemeSwitch
from ollm_tui.tui.chat.model_choice import ModelChoice
from ollm_tui.tui.chat.prompts import Prompts
from ollm_tui.tui.chat.servers import ScreenSignIns
from ollm_tui.tui.services import Say
from ollm_tui.tui.terminal import ClipboardCopier
from ollm_tui.tui.transcript import SearchControl

if TYPE_CHECKING:
    from ollm_tui.protocol.forms import FormField, FormValues
    from ollm_tui.tui.dialogs import Dialogs


@dataclass(frozen=True, slots=True)
class _FormsOnUse:
    """Asks for values in dialogs, which are loaded for the first form."""

    dialogs: "Dialogs"

    async def ask(self, title: str, fields: "Sequence[FormField]") -> "FormValues | None":
        # Loaded for the first form.
        from ollm_tui.tui.dialogs import ScreenForms

        return await ScreenForms(self.dialogs.ask).ask(title, fields)


@dataclass(slots=True)
class ScreenCommandHost(OpenChatHost):
    """The chat as the commands see it; see `CommandHost` for what its members do."""

    say: Say
    open_view: Callable[[View, str], None]
    attaching: Attachments
    model_actions: ModelActions
    models: ModelChoice
    themes: ThemeSwitch
    copying: ClipboardCopier
    search: SearchControl
    prompts: Prompts
    drawings: Drawings
    voice: SpeechActions
    snippets: Snippets
    new_chat: Callable[[], Coroutine[Any, Any, None]]
    quit: Callable[[], None]
    forms: Forms = field(init=False)

    def __post_init__(self) -> None:
        OpenChatHost.__post_init__(self)
        self.forms = _FormsOnUse(self.themes.dialogs)
        self.loop = self.prompts
        dialogs, services = self.themes.dialogs, self.themes.services
        self.sign_ins = ScreenSignIns(dialogs, services, self.say)

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

    @property
    def permissions(self) -> PermissionList:
        """What tools may do without a question."""
        return self.themes.services.approver.permissions

    def attachments(self) -> Attachments:
        """Return what is sent with the next message."""
        return self.attaching
