"""`CommandHost`: what a command may ask of the front end that runs it."""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from ollm_tui.chat.conversation import Conversation
from ollm_tui.protocol.tools import ToolEffect

Severity: TypeAlias = Literal["info", "warning", "error"]
View: TypeAlias = Literal[
    "help",
    "models",
    "manager",
    "find_models",
    "palette",
    "themes",
    "chats",
    "context",
    "links",
    "branch",
    "rename",
    "edit",
]
"""`models` is where one is chosen, `manager` where all are listed with what can be done, and
`find_models` where one is found and fetched; `edit` puts the newest question into the input."""


class OptionRefused(ValueError):
    """A value that an option does not take; the text says which ones it does."""


class OfferedTool(Protocol):
    """What is said of a tool that a model may call."""

    @property
    def name(self) -> str:
        """What the model calls it."""
        ...

    @property
    def effect(self) -> ToolEffect:
        """What it may do."""
        ...

    @property
    def description(self) -> str:
        """What it is for."""
        ...


class Attachments(Protocol):
    """What goes along with the next message, beside what is written."""

    async def add(self, name: str) -> None:
        """Attach a picture, or put the text of a file into what is being written.

        Raises:
            AIError: it cannot be attached.
        """

    def listed(self) -> Sequence[str]:
        """Give a line for each picture that is attached: `Image #1 · cat.png · …`."""
        ...

    def remove(self, number: int | None) -> int:
        """Take away the picture of that number, or all; gives how many there were."""
        ...


class ModelActions(Protocol):
    """What is asked about one model; an empty name is the chat's own."""

    def show(self, name: str, section: str | None) -> None:
        """Show all that is known of it, at one part first."""

    def load(self, name: str, keep_alive: str | None) -> None:
        """Bring it into memory, for a time as Ollama writes it."""

    def unload(self, name: str) -> None:
        """Drop it from memory."""


class CommandContext(Protocol):
    """The chat that a command runs in; commands of plugins use this alone."""

    def say(self, text: str, kind: Severity = "info") -> None:
        """Show a note beside the conversation; it never goes to a model."""

    def conversation(self) -> Conversation:
        """Give the open conversation: its model, system prompt, options and answers."""
        ...

    async def new_chat(self) -> None:
        """Begin an empty conversation with the same model and settings."""

    async def set_model(self, address: str) -> None:
        """Use another model from the next prompt on.

        Raises:
            AIError: no provider has it.
        """

    async def retry(self) -> None:
        """Ask for the last answer once more."""

    def copy(self, text: str) -> None:
        """Put a text on the clipboard and say whether that worked."""

    def quit(self) -> None:
        """Leave the program."""


class CommandHost(CommandContext, Protocol):
    """A chat as the program's own commands see it."""

    model_deeds: ModelActions
    """What can be done with one model, in the background."""

    def show(self, view: View, text: str = "") -> None:
        """Open one of the front end's own views; a text is what it begins with, if anything."""

    def model_addresses(self) -> Mapping[str, bool]:
        """Give the known models as people write them, recent ones first; True for the one in use.

        Asks no server.
        """

    def find(self, text: str) -> None:
        """Search in the open chat, or let the person say for what."""

    def theme_names(self) -> Sequence[str]:
        """Give the themes there are."""

    def set_theme(self, name: str) -> None:
        """Use a theme and remember it."""

    def tool_mode(self) -> Literal["native", "react"] | None:
        """Give how the model is given its tools; None when that is not known."""

    def offered_tools(self) -> Sequence[OfferedTool]:
        """Give the tools there are, switched on or not."""
        ...

    def attachments(self) -> Attachments:
        """Give what goes along with the next message."""
        ...
