"""What a runtime may bring beside the chat itself: saved chats, tools, context, models to fetch.

Each is a small interface of its own; `isinstance` tells whether a runtime has it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    # the commands and the vocabulary are loaded after the first frame
    from ollm_tui.chat.conversation import Conversation
    from ollm_tui.commands.host import OfferedTool
    from ollm_tui.config.plugins import Plugin
    from ollm_tui.library.downloads.queue import DownloadQueue
    from ollm_tui.library.hub.repo import Hub
    from ollm_tui.library.machine import Machine
    from ollm_tui.library.registry.catalogue import ModelRegistry
    from ollm_tui.protocol.errors import AIError
    from ollm_tui.runtime.download_targets import DownloadTarget
    from ollm_tui.runtime.manager import ModelManager
    from ollm_tui.runtime.other_models import OtherFolders
    from ollm_tui.store.branches import Branch, ChatNews
    from ollm_tui.tokens.budget import ContextRemedy
    from ollm_tui.tokens.limits import WindowSource
    from ollm_tui.tui.services import Client


class ChatSummary(Protocol):
    """One line about a saved chat."""

    @property
    def id(self) -> str:
        """How the store calls it."""
        ...

    @property
    def title(self) -> str:
        """Its name; empty before the first question."""
        ...

    @property
    def updated_ms(self) -> int:
        """When it was written last, in milliseconds since 1970."""
        ...

    @property
    def message_count(self) -> int:
        """How many messages the branch has that was continued last."""
        ...

    @property
    def total_messages(self) -> int:
        """How many messages all its branches have."""
        ...

    @property
    def model(self) -> str | None:
        """The address of the model it goes on with."""
        ...

    @property
    def revision(self) -> int:
        """Changes with whatever is done to the chat."""
        ...


class SavedChats(Protocol):
    """The chats of this person."""

    async def list(self, limit: int = 50, offset: int = 0) -> Sequence[ChatSummary]:
        """Give the chats, the one written last first.

        Raises:
            AIError: they cannot be read.
        """
        ...

    async def delete(self, conversation_id: str, revision: int | None = None) -> None:
        """Remove a chat for good, if it is still at the `revision` that was listed.

        Raises:
            AIError: it is still there.
        """
        ...


@runtime_checkable
class TellsUnsaved(Protocol):
    """Saved chats that know what is in memory only."""

    @property
    def problem(self) -> "AIError | None":
        """Why the newest write failed; None when it went well."""
        ...

    @property
    def unsaved(self) -> int:
        """How many messages are in memory only."""
        ...


@runtime_checkable
class KeepsChats(Protocol):
    """Saves chats as they happen."""

    @property
    def chats(self) -> SavedChats:
        """The saved ones."""
        ...

    def chat_id(self, client: "Client") -> str | None:
        """Give the id of an open chat; None when it is not saved."""
        ...

    async def open_chat(self, chat_id: str) -> "Client":
        """Go on with a saved chat.

        Raises:
            AIError: it cannot be read.
        """
        ...


class ChatBranches(Protocol):
    """The branches of a saved chat that is open."""

    async def listed(self, client: "Client") -> "Sequence[Branch]":
        """Give all branches, the one that was continued last first.

        Raises:
            AIError: they cannot be read.
        """
        ...

    async def news(self, client: "Client") -> "ChatNews | None":
        """Tell what other programs did to the chat since this was asked last.

        Raises:
            AIError: it cannot be read.
        """
        ...

    async def open(self, client: "Client", branch: "Branch") -> "Client":
        """Go on with another branch of the same chat.

        Raises:
            AIError: it cannot be read.
        """
        ...

    async def rename(self, client: "Client", title: str) -> None:
        """Give the chat a title of the person's own; one that is not saved has it while open.

        Raises:
            AIError: it keeps the old one.
        """
        ...


@runtime_checkable
class KeepsBranches(Protocol):
    """Keeps every branch of a saved chat."""

    @property
    def branches(self) -> ChatBranches:
        """Lists and opens them."""
        ...


@runtime_checkable
class OffersTools(Protocol):
    """Has tools that a model may call."""

    def offered_tools(self) -> "Sequence[OfferedTool]":
        """Give all of them; which are on is the conversation's business."""
        ...

    def tool_mode(self, model: str) -> "Literal['native', 'react'] | None":
        """Give how a model is given its tools: natively, or described in text."""
        ...


@runtime_checkable
class HasPlugins(Protocol):
    """Knows of installed packages that bring slash commands."""

    plugin_commands: "Sequence[Plugin]"


@runtime_checkable
class TellsSight(Protocol):
    """Knows which models see pictures."""

    async def reads_only_text(self, model: str) -> bool:
        """Whether a model is known not to see them; its server is asked once.

        Raises:
            AIError: it cannot be found.
        """
        ...


class ContextFigures(Protocol):
    """How full the model's window is."""

    @property
    def used(self) -> int:
        """Tokens of the next request as it stands."""
        ...

    @property
    def limit(self) -> int:
        """Tokens of the window."""
        ...

    @property
    def estimated(self) -> bool:
        """Whether `used` is counted here and not by the engine."""
        ...

    @property
    def source(self) -> "WindowSource":
        """Who says how large the window is."""
        ...

    @property
    def parts(self) -> Sequence[tuple[str, int]]:
        """What takes the room, in words, with its tokens."""
        ...

    @property
    def ways(self) -> "Sequence[ContextRemedy]":
        """What can be done, the best first; empty while all fits."""
        ...


@runtime_checkable
class MeasuresContext(Protocol):
    """Counts what a conversation takes of the model's window."""

    async def measure(self, conversation: "Conversation") -> "ContextFigures":
        """Count, and say what can be done where it is too much.

        Raises:
            AIError: there is no model, or it cannot be asked.
        """
        ...

    def take_way_out(self, conversation: "Conversation", way: "ContextRemedy") -> None:
        """Do what was chosen; what is left out stays in the history and on the screen."""
        ...


class ContextRoom(Protocol):
    """What the status line says of the context."""

    @property
    def used(self) -> int:
        """Tokens that the next prompt takes."""
        ...

    @property
    def limit(self) -> int:
        """Tokens that the model holds."""
        ...

    @property
    def is_assumed(self) -> bool:
        """Whether nobody has named the limit."""
        ...


@runtime_checkable
class KnowsRoom(Protocol):
    """Tells at once what a conversation takes of the model's window."""

    def room(self, conversation: "Conversation") -> ContextRoom | None:
        """Give the figures without asking anybody; None where there is no model."""
        ...


@runtime_checkable
class KeepsDownloads(Protocol):
    """Fetches models in a queue that goes on whatever the screen shows."""

    @property
    def downloads(self) -> "DownloadQueue":
        """The queue."""
        ...


@runtime_checkable
class FetchesLazily(Protocol):
    """Loads what finds and fetches models only when it is wanted: to ask for its parts does."""

    async def has_downloads(self) -> bool:
        """Whether there are downloads: begun in this run, or left by an earlier one."""
        ...

    async def load_fetching(self) -> None:
        """Load it without holding up the screen."""
        ...


@runtime_checkable
class KnowsHub(Protocol):
    """Can ask a place on the internet for model files."""

    @property
    def hub(self) -> "Hub":
        """That place; making it asks nobody."""
        ...


@runtime_checkable
class KnowsModels(Protocol):
    """Knows models that are not here."""

    @property
    def model_registry(self) -> "ModelRegistry":
        """The built-in list, what was remembered of the hub, and what is installed."""
        ...


@runtime_checkable
class KnowsMachine(Protocol):
    """Knows what this machine has to run models with."""

    async def machine(self) -> "Machine":
        """Look; what cannot be found out is None in it, and nothing is raised."""
        ...


@runtime_checkable
class KnowsOtherFolders(Protocol):
    """Knows where other programs of this machine keep models."""

    async def other_folders(self) -> "OtherFolders":
        """Look; what cannot be seen in time is left out."""
        ...


@runtime_checkable
class ManagesModels(Protocol):
    """Inspects, loads, copies and deletes the models that are here."""

    @property
    def manager(self) -> "ModelManager":
        """What does it, for every provider."""
        ...


@runtime_checkable
class OffersPlaces(Protocol):
    """Knows where models can be fetched to."""

    async def places(self) -> "Sequence[DownloadTarget]":
        """Give the library of this machine, then the servers that answer and can pull."""
        ...
