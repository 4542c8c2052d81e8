"""`CommandHost`: what a command may ask of the front end that runs it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from ollm_tui.chat.conversation import Conversation
from ollm_tui.commands.files import Exports, Instructions, Memory, Profiles, Snippets
from ollm_tui.commands.tool_host import (
    Changes,
    LoopControl,
    PermissionList,
    SignInControl,
    WorkInProgress,
)
from ollm_tui.models.actions import ModelAction
from ollm_tui.models.tasks import ModelTask
from ollm_tui.protocol.tools import ToolEffect

if TYPE_CHECKING:
    from ollm_tui.chat.drawing import DrawingWish
    from ollm_tui.chat.making import Makes
    from ollm_tui.mcp.offers import Part
    from ollm_tui.mcp.server import McpServer
    from ollm_tui.models.thinking import ThinkingSupport
    from ollm_tui.protocol.blocks import Content
    from ollm_tui.protocol.forms import FormField, FormValues

Severity: TypeAlias = Literal["info", "warning", "error"]
View: TypeAlias = Literal[
    "help",
    "models",
    "manager",
    "find_models",
    "palette",
    "themes",
    "settings",
    "profiles",
    "chats",
    "search",
    "context",
    "compact",
    "stats",
    "prompt",
    "links",
    "branch",
    "tree",
    "fork",
    "undelete",
    "rename",
    "private",
    "edit",
    "editor",
    "queue",
    "focus",
    "go",
    "marks",
    "times",
]
"""`models` is where one is chosen, `manager` where all are listed with what can be done, and
`find_models` where one is found and downloaded; `edit` puts the newest question into the input, and
`editor` the draft into the user's own editor."""


class OptionRefused(ValueError):
    """A value that an option does not accept; the message says which ones it does."""


class OfferedTool(Protocol):
    """A tool that a model may call."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def effect(self) -> ToolEffect:
        """What it may change."""

    @property
    def description(self) -> str:
        """Its description for the model."""


class Attachments(Protocol):
    """What is sent with the next message, besides its text."""

    async def add(self, name: str) -> None:
        """Attach a picture, or insert the text of a file into the draft.

        Raises:
            AIError: it cannot be attached.
        """

    async def paste(self) -> None:
        """Attach the picture in the clipboard.

        Raises:
            AIError: there is none, or the clipboard cannot be read here.
        """

    def listed(self) -> Sequence[str]:
        """Return a line for each attached picture: `Image #1 · cat.png · …`."""

    async def insert(self, parts: "Sequence[Part]") -> None:
        """Put words and attachments of a server's prompt where the user reads them first.

        Raises:
            AIError: one cannot be attached.
        """

    def remove(self, number: int | None) -> int:
        """Remove the picture of that number, or all; returns how many were removed."""


class ModelActions(Protocol):
    """What can be done with one model; an empty name is the chat's own."""

    def show(self, name: str, section: str | None) -> None:
        """Show its details, at one section first."""

    def run(self, action: ModelAction, name: str, value: str | None = None) -> None:
        """Run an action that changes it; `value` is what that takes beside it, such as a time."""


class SpeechActions(Protocol):
    """What can be dictated and read aloud, in the background."""

    def dictate(self, file: str = "") -> None:
        """Insert into the draft what is said until it is stopped, or what a file says."""

    def read(self, text: str) -> None:
        """Read a text aloud."""

    async def read_answers(self, is_on: bool) -> None:
        """Read every answer aloud from now on, or no more.

        Raises:
            AIError: that is not possible here.
        """

    def stop(self) -> None:
        """Stop reading."""


class Drawings(Protocol):
    """Pictures that a model draws in this chat, and videos and music that it makes."""

    async def draw(self, content: "Content", wish: "DrawingWish", mask: str = "") -> None:
        """Have a model draw a prompt, whose pictures are edited; a wish may name no model.

        Pictures that are attached to a text are edited, too. `mask` is a file with a picture that
        says where they are changed.

        Raises:
            AIError: no model draws, an answer is still in progress, or the mask cannot be used.
        """

    async def save(self, name: str, makes: "Makes" = "image") -> None:
        """Write the newest picture, video or music to a file; an empty name gets a number.

        Raises:
            AIError: there is none, or it cannot be written.
        """

    async def open_newest(self) -> None:
        """Open the newest picture, sound, video or document in the system's program for it.

        Raises:
            AIError: there is none, or it cannot be written for the program.
        """


class TaskModels(Protocol):
    """The models for tasks beside chatting."""

    def models(self, task: ModelTask) -> Sequence[str]:
        """Return the model that a task uses, or all that can if none is chosen; asks no server."""


class Forms(Protocol):
    """Asks the user for values."""

    async def ask(self, title: str, fields: "Sequence[FormField]") -> "FormValues | None":
        """Ask for the values of fields; None if the user cancelled."""


class CommandContext(Protocol):
    """The chat that a command runs in; all that a plugin's command may use."""

    def say(self, text: str, kind: Severity = "info") -> None:
        """Show a note in the chat; it is never sent to a model."""

    def conversation(self) -> Conversation:
        """Return the open conversation: its model, system prompt, options and answers."""

    async def new_chat(self) -> None:
        """Start an empty conversation with the same model and settings."""

    async def set_model(self, address: str) -> None:
        """Use another model from the next prompt on.

        Raises:
            AIError: no provider has it.
        """

    async def retry(self) -> None:
        """Send the newest question once more."""

    def copy(self, text: str) -> None:
        """Copy a text to the clipboard and say whether that worked."""

    def quit(self) -> None:
        """Leave the program."""


class CommandHost(CommandContext, Protocol):
    """A chat as the program's own commands see it."""

    model_actions: ModelActions
    """What can be done with one model, in the background."""
    exports: Exports
    """The open chat for other programs."""
    drawings: Drawings
    """Pictures that a model draws in this chat."""
    voice: SpeechActions
    """Dictation, and reading aloud."""
    snippets: Snippets
    """Texts of the user's own."""
    memory: Memory
    """Notes that last over chats."""

    forms: Forms
    """Asks for values that a command was not given."""
    tasks: TaskModels
    """The models for tasks beside chatting."""
    changes: Changes
    """What tools changed in this chat."""
    work: WorkInProgress
    """What runs in this chat."""
    loop: LoopControl
    """What happens after the limit of turns with tools."""
    sign_ins: SignInControl
    """Sign-ins to MCP servers."""

    @property
    def permissions(self) -> PermissionList:
        """What tools may do without a question."""

    @property
    def profiles(self) -> Profiles:
        """The profiles of the settings."""

    @property
    def instructions(self) -> Instructions:
        """`AGENTS.md` and skills."""

    def show(self, view: View, text: str = "") -> None:
        """Open one of the front end's views; `text` is its initial text, if it has one."""

    def model_addresses(self) -> Mapping[str, bool]:
        """Return the known models as people write them, recent ones first; True for the one in use.

        Asks no server.
        """

    def find(self, text: str) -> None:
        """Search in the open chat; an empty text asks for one."""

    def theme_names(self) -> Sequence[str]:
        """Return the names of all themes."""

    def set_theme(self, name: str) -> None:
        """Use a theme and remember it."""

    def tool_mode(self) -> Literal["native", "react"] | None:
        """Return how the model gets its tools, or None if that is unknown."""

    async def thinking(self) -> "ThinkingSupport | None":
        """Return how the model in use thinks, or None if that is unknown."""

    def takes_window(self) -> bool:
        """Return whether the model's server loads it with the window that a chat asks for."""

    def offered_tools(self) -> Sequence[OfferedTool]:
        """Return all tools, switched on or not."""

    def servers(self) -> Mapping[str, "McpServer"]:
        """Return the MCP servers of the settings, running or not."""

    def tools_off(self) -> Sequence[OfferedTool]:
        """Return the tools that act and are off: the settings do not name them."""

    def attachments(self) -> Attachments:
        """Return what is sent with the next message."""
