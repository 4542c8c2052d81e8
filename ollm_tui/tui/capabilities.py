"""What a runtime may offer besides chatting: saved chats, tools, context, models, downloads.

Each is a small interface of its own; `isinstance` tells whether a runtime has it.
"""

from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    # the commands and the vocabulary are loaded after the first frame
    from collections.abc import Sequence

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
    from ollm_tui.runtime.measure import ContextFigures, ContextRoom
    from ollm_tui.runtime.other_models import OtherFolders
    from ollm_tui.store.branches import Branch, ChatNews
    from ollm_tui.store.rows import ConversationSummary
    from ollm_tui.tokens.limits import ContextRemedy
    from ollm_tui.tui.services import Client


class SavedChats(Protocol):
    """The saved chats."""

    async def list(self, limit: int = 50, offset: int = 0) -> "Sequence[ConversationSummary]":
        """Return the chats, the one written last first.

        Raises:
            AIError: they cannot be read.
        """
        ...

    async def delete(self, conversation_id: str, revision: int | None = None) -> None:
        """Delete a chat for good, if it is still at the `revision` that was listed.

        Raises:
            AIError: it is still there.
        """
        ...


@runtime_checkable
class TellsUnsaved(Protocol):
    """Saved chats that report what is in memory only."""

    @property
    def problem(self) -> "AIError | None":
        """Why the newest write failed, or None if it did not."""
        ...

    @property
    def unsaved(self) -> int:
        """Number of messages in memory only."""
        ...


@runtime_checkable
class KeepsChats(Protocol):
    """Saves chats as they happen."""

    @property
    def chats(self) -> SavedChats:
        """The saved chats."""
        ...

    def chat_id(self, client: "Client") -> str | None:
        """Return the id of an open chat, or None if it is not saved."""
        ...

    async def open_chat(self, chat_id: str) -> "Client":
        """Open a saved chat.

        Raises:
            AIError: it cannot be read.
        """
        ...


class ChatBranches(Protocol):
    """The branches of a saved chat that is open."""

    async def listed(self, client: "Client") -> "Sequence[Branch]":
        """Return all branches, the one continued last first.

        Raises:
            AIError: they cannot be read.
        """
        ...

    async def news(self, client: "Client") -> "ChatNews | None":
        """Return what other programs did to the chat since the last call, or None.

        Raises:
            AIError: it cannot be read.
        """
        ...

    async def open(self, client: "Client", branch: "Branch") -> "Client":
        """Open another branch of the same chat.

        Raises:
            AIError: it cannot be read.
        """
        ...

    async def rename(self, client: "Client", title: str) -> None:
        """Rename the chat; one that is not saved has the title while it is open.

        Raises:
            AIError: it keeps the old one.
        """
        ...


@runtime_checkable
class KeepsBranches(Protocol):
    """Keeps every branch of a saved chat."""

    @property
    def branches(self) -> ChatBranches:
        """The branches of the open chat."""
        ...


@runtime_checkable
class OffersTools(Protocol):
    """Offers tools that a model may call."""

    def offered_tools(self) -> "Sequence[OfferedTool]":
        """Return all of them; the conversation says which are on."""
        ...

    def tool_mode(self, model: str) -> "Literal['native', 'react'] | None":
        """Return how a model gets its tools: natively, or described in text."""
        ...


@runtime_checkable
class HasPlugins(Protocol):
    """Knows the installed packages with slash commands."""

    plugin_commands: "Sequence[Plugin]"


@runtime_checkable
class KnowsVision(Protocol):
    """Knows which models accept pictures."""

    async def reads_only_text(self, model: str) -> bool:
        """Whether a model is known not to accept them; its server is asked once.

        Raises:
            AIError: it cannot be found.
        """
        ...


@runtime_checkable
class MeasuresContext(Protocol):
    """Counts the tokens of a conversation."""

    async def measure(self, conversation: "Conversation") -> "ContextFigures":
        """Count, and find remedies if it is too much.

        Raises:
            AIError: there is no model, or it cannot be asked.
        """
        ...

    def take_way_out(self, conversation: "Conversation", way: "ContextRemedy") -> None:
        """Apply a remedy; what is left out stays in the history and on the screen."""
        ...


@runtime_checkable
class KnowsRoom(Protocol):
    """Estimates at once how full the context window is."""

    def room(self, conversation: "Conversation") -> "ContextRoom | None":
        """Return the figures without a request, or None if there is no model."""
        ...


@runtime_checkable
class KeepsDownloads(Protocol):
    """Downloads models in a queue, whatever the screen shows."""

    @property
    def downloads(self) -> "DownloadQueue":
        """The queue."""
        ...


@runtime_checkable
class FetchesLazily(Protocol):
    """Imports what finds and downloads models on first use: accessing its parts does."""

    async def has_downloads(self) -> bool:
        """Whether there are downloads, of this run or an earlier one."""
        ...

    async def load_fetching(self) -> None:
        """Import it in a thread."""
        ...


@runtime_checkable
class KnowsHub(Protocol):
    """Finds model files on the internet."""

    @property
    def hub(self) -> "Hub":
        """The hub; accessing it makes no request."""
        ...


@runtime_checkable
class KnowsModels(Protocol):
    """Knows models that are not installed."""

    @property
    def model_registry(self) -> "ModelRegistry":
        """The built-in list, what was cached of the hub, and what is installed."""
        ...


@runtime_checkable
class KnowsMachine(Protocol):
    """Knows the memory and the GPUs of this machine."""

    async def machine(self) -> "Machine":
        """Inspect the machine; what is unknown is None, and nothing is raised."""
        ...


@runtime_checkable
class KnowsOtherFolders(Protocol):
    """Finds the models of other programs on this machine."""

    async def other_folders(self) -> "OtherFolders":
        """Search their folders; what cannot be read in time is left out."""
        ...


@runtime_checkable
class ManagesModels(Protocol):
    """Inspects, loads, copies and deletes installed models."""

    @property
    def manager(self) -> "ModelManager":
        """The manager for all providers."""
        ...


@runtime_checkable
class OffersPlaces(Protocol):
    """Knows where models can be downloaded to."""

    async def places(self) -> "Sequence[DownloadTarget]":
        """Return the library of this machine, then the servers that answer and can pull."""
        ...
