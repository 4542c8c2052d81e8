"""What screens may use of the runtime, as interfaces, so that a test can script them.

Only names for the type checker are imported: nothing of the runtime is loaded before the first
frame.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ollm_tui.tui.dialogs import ScreenApprover
from ollm_tui.tui.links import LinkOpener, SystemOpener
from ollm_tui.tui.theming import ThemeCatalog

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from anyio.abc import ObjectReceiveStream

    from ollm_tui.chat.client import ChatStream
    from ollm_tui.chat.conversation import Conversation
    from ollm_tui.chat.prompt import ChatOptions
    from ollm_tui.protocol.blocks import Content
    from ollm_tui.protocol.model import ModelInfo, ModelRef
    from ollm_tui.protocol.signals import AbortSignal
    from ollm_tui.providers.catalog import Listing
    from ollm_tui.runtime.first_model import FirstModel
    from ollm_tui.tui.transcript import NoteKind


class Client(Protocol):
    """A conversation and the means to continue it."""

    @property
    def conversation(self) -> "Conversation":
        """Its history, model and settings."""
        ...

    def chat(
        self,
        prompt: "Content",
        options: "ChatOptions | None" = None,
        signal: "AbortSignal | None" = None,
    ) -> "ChatStream":
        """Send a prompt."""
        ...

    def retry(
        self, options: "ChatOptions | None" = None, signal: "AbortSignal | None" = None
    ) -> "ChatStream":
        """Send the newest question again."""
        ...

    def go_on(
        self, options: "ChatOptions | None" = None, signal: "AbortSignal | None" = None
    ) -> "ChatStream":
        """Continue where the turns ran out."""
        ...

    def rewind(self, kept: int) -> None:
        """Remove all but the first `kept` messages.

        Raises:
            AIError: an answer is still coming, or there are fewer.
        """
        ...


class Catalog(Protocol):
    """The models of all providers."""

    def listings(
        self, *, within_s: float | None = None
    ) -> "AbstractAsyncContextManager[ObjectReceiveStream[Listing]]":
        """List the models of all providers; listings come as they are answered."""
        ...

    async def listing(self, provider: str, *, within_s: float | None = None) -> "Listing":
        """List one provider's models; one that takes longer is listed with a problem.

        Raises:
            AIError: there is no such provider.
        """
        ...

    def cached(self) -> "tuple[Listing, ...]":
        """Return what was listed so far."""
        ...

    def shown_name(self, provider: str) -> str:
        """Return a provider's name as people write it, such as `ollama`."""
        ...

    def shown_address(self, ref: "ModelRef") -> str:
        """Return a model's address as people write it, such as `ollama://qwen3:8b`."""
        ...

    def forget(self, provider: str | None = None) -> None:
        """Drop the cached listing of one provider, or of all."""
        ...

    async def describe(self, ref: "ModelRef") -> None:
        """Look up what a model can do, if that takes a request of its own."""
        ...

    def find(self, ref: "ModelRef") -> "ModelInfo | None":
        """Return a model as it was last listed, or None."""
        ...


class ResolvedModel(Protocol):
    """A model that a name resolves to."""

    @property
    def ref(self) -> "ModelRef":
        """Its provider and name."""
        ...


class SupportsModelLookup(Protocol):
    """Resolves what a person calls a model."""

    async def resolve(self, model: str) -> ResolvedModel:
        """Resolve a name or an address.

        Raises:
            AIError: no provider has it.
        """
        ...


class Runtime(Protocol):
    """The runtime as the screens use it."""

    @property
    def catalog(self) -> Catalog:
        """The models of all providers."""
        ...

    @property
    def router(self) -> SupportsModelLookup:
        """Resolves model names."""
        ...

    @property
    def problems(self) -> Sequence[str]:
        """Sentences about settings that could not be used."""
        ...

    def new_client(self) -> Client:
        """Start a conversation."""
        ...

    async def first_model(self) -> "FirstModel":
        """Find a model to begin with."""
        ...

    def recent_models(self) -> Sequence[str]:
        """Return the addresses of the models used before, the latest first."""
        ...

    async def model_info(self, ref: "ModelRef") -> "ModelInfo | None":
        """List and describe a model anew, or return None if it is not found."""
        ...

    def remember_model(self, address: str) -> None:
        """Put a model in front of the recent ones."""
        ...


class Say(Protocol):
    """Shows a note in the open chat."""

    def __call__(self, text: str, kind: "NoteKind" = "info", hint: str | None = None) -> None:
        """Show a sentence, and what to do next."""


class OpenChat(Protocol):
    """The open chat, for what lies below it: models, downloads and links do not know the chat."""

    @property
    def say(self) -> Say:
        """Shows a note."""
        ...

    @property
    def ref(self) -> "ModelRef | None":
        """The model that answers, or None."""
        ...

    @property
    def conversation(self) -> "Conversation":
        """The open conversation."""
        ...

    def use_model(self, ref: "ModelRef") -> None:
        """Use another model from the next prompt on, and say so."""

    def drop_model(self) -> None:
        """Use no model until one is chosen."""

    def stop_answer(self) -> None:
        """Stop the answer that is being written, if any."""

    async def may_stop(self, action: str) -> bool:
        """Whether an action may stop the answer; asks the person while there is one."""
        ...

    async def refresh_window(self) -> None:
        """Ask for the model's context window, which its engine may have chosen while loading."""


@dataclass(frozen=True, slots=True)
class Services:
    """What the app was started with."""

    runtime: Callable[[], Awaitable[Runtime]]
    """Returns the runtime; waits while it is being opened."""
    config_file: Path
    themes: ThemeCatalog = field(default_factory=ThemeCatalog)
    keymap: Mapping[str, str] = field(default_factory=dict)
    history_file: Path | None = None
    """Where sent prompts are kept for the Up key; None keeps them in memory only."""
    copies: Path | None = None
    """The folder for copies that no clipboard takes; None offers none."""
    show_thinking: bool = True
    """Whether reasoning is shown while it streams; it folds when the answer starts."""
    approver: ScreenApprover = field(default_factory=ScreenApprover)
    """Asks on the screen whether a tool may run; hand it to what runs the tools."""
    opener: LinkOpener = field(default_factory=SystemOpener)
    """Opens a link after a yes."""
    problems: tuple[str, ...] = ()
    """Problems of the settings that are read before the first frame."""
