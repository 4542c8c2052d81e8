"""What screens may use of the runtime, as interfaces, so that a test can script them.

Only names for the type checker are imported: nothing of the runtime is loaded before the first
frame.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ollm_tui.tui.dialogs.approver import ScreenApprover
from ollm_tui.tui.links.opener import LinkOpener, SystemOpener
from ollm_tui.tui.theming.themes import ThemeCatalog

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


class Client(Protocol):
    """A conversation that can be asked."""

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
        """Ask."""
        ...

    def retry(
        self, options: "ChatOptions | None" = None, signal: "AbortSignal | None" = None
    ) -> "ChatStream":
        """Ask the newest question again."""
        ...

    def go_on(
        self, options: "ChatOptions | None" = None, signal: "AbortSignal | None" = None
    ) -> "ChatStream":
        """Go on where the turns ran out."""
        ...

    def rewind(self, kept: int) -> None:
        """Go on after the first `kept` messages.

        Raises:
            AIError: an answer is still coming, or there are fewer.
        """
        ...


class Catalog(Protocol):
    """The models of all providers."""

    def listings(
        self, *, within_s: float | None = None
    ) -> "AbstractAsyncContextManager[ObjectReceiveStream[Listing]]":
        """Ask all providers; listings come as they are answered."""
        ...

    async def listing(self, provider: str, *, within_s: float | None = None) -> "Listing":
        """Give one provider's models; one that takes longer is listed with a problem.

        Raises:
            AIError: there is no such provider.
        """
        ...

    def cached(self) -> "tuple[Listing, ...]":
        """Give what is known without asking."""
        ...

    def shown_name(self, provider: str) -> str:
        """Give a provider's name as people write it, such as `ollama`."""
        ...

    def shown_address(self, ref: "ModelRef") -> str:
        """Give a model's address as people write it, such as `ollama://qwen3:8b`."""
        ...

    def forget(self, provider: str | None = None) -> None:
        """Ask one provider anew next time, or everybody."""
        ...

    async def describe(self, ref: "ModelRef") -> None:
        """Learn what a model can do, where that takes a question of its own."""
        ...

    def find(self, ref: "ModelRef") -> "ModelInfo | None":
        """Give what the last listing said of a model."""
        ...


class Found(Protocol):
    """A model that a name led to."""

    @property
    def ref(self) -> "ModelRef":
        """Which one."""
        ...


class SupportsModelLookup(Protocol):
    """From what a person calls a model to the model."""

    async def resolve(self, model: str) -> Found:
        """Find it.

        Raises:
            AIError: no provider has it.
        """
        ...


class FirstModel(Protocol):
    """What to chat with when nothing was chosen, and what was looked for."""

    @property
    def ref(self) -> "ModelRef | None":
        """The model; None when there is none anywhere."""
        ...

    @property
    def reason(self) -> str:
        """Why this one: `used last`, `already loaded`, ...; or a sentence, why there is none."""
        ...

    @property
    def found(self) -> tuple[str, ...]:
        """Labels of the providers that have models."""
        ...

    @property
    def silent(self) -> tuple[str, ...]:
        """Labels of the providers that should answer and do not."""
        ...

    @property
    def is_told(self) -> bool:
        """Whether why there is none is among the problems of the settings, which are told."""
        ...

    @property
    def advice(self) -> str | None:
        """How to get a model, or a better one."""
        ...

    @property
    def passed_over(self) -> "ModelRef | None":
        """The model used last, where another provider was named, which counts more."""
        ...


class Runtime(Protocol):
    """The running parts below the screens."""

    @property
    def catalog(self) -> Catalog:
        """The models there are."""
        ...

    @property
    def router(self) -> SupportsModelLookup:
        """What finds a model by its name."""
        ...

    @property
    def problems(self) -> Sequence[str]:
        """Sentences about settings that could not be used."""
        ...

    def new_client(self) -> Client:
        """Begin a conversation."""
        ...

    async def first_model(self) -> FirstModel:
        """Look for a model to begin with."""
        ...

    def recent_models(self) -> Sequence[str]:
        """Give the addresses chatted with before, the latest first."""
        ...

    async def model_info(self, ref: "ModelRef") -> "ModelInfo | None":
        """Ask again what is known of a model."""
        ...

    def remember_model(self, address: str) -> None:
        """Put a model in front of the recent ones."""
        ...


@dataclass(frozen=True, slots=True)
class Services:
    """What the app was started with."""

    runtime: Callable[[], Awaitable[Runtime]]
    """Gives the runtime; waits while it is being opened."""
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
    """What was wrong with the settings that are read before the first frame."""
