"""What the app is started with, and the open chat as other features see it.

Nothing of the runtime is imported here but for the type checker: the first frame does without it.
"""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ollm_tui.dataclass import dataclass, field
from ollm_tui.frontend.opener import SystemOpener
from ollm_tui.tui.dialogs import ScreenApprover
from ollm_tui.tui.theming import ThemeCatalog
from ollm_tui.tui.transcript import Reading

if TYPE_CHECKING:
    from ollm_tui.chat.conversation import Conversation
    from ollm_tui.frontend.session import ChatSession
    from ollm_tui.protocol.json_types import JsonMapping
    from ollm_tui.protocol.model import ModelRef
    from ollm_tui.runtime.compose import Runtime
    from ollm_tui.tui.transcript import NoteKind


class Say(Protocol):
    """Shows a note in the open chat."""

    def __call__(self, text: str, kind: "NoteKind" = "info", hint: str | None = None) -> None:
        """Show a sentence, and what to do next."""


class OpenChat(Protocol):
    """The open chat, for what lies below it: models, downloads and links do not know the chat."""

    @property
    def say(self) -> Say:
        """Shows a note."""

    @property
    def ref(self) -> "ModelRef | None":
        """The model that answers, or None."""

    @property
    def conversation(self) -> "Conversation":
        """The open conversation."""

    def use_model(self, ref: "ModelRef") -> None:
        """Use another model from the next prompt on, and say so."""

    def drop_model(self) -> None:
        """Use no model until one is chosen."""

    def stop_answer(self) -> None:
        """Stop the answer that is being written, if any."""

    async def may_stop(self, action: str) -> bool:
        """Whether an action may stop the answer; asks the user while there is one."""

    async def refresh_window(self) -> None:
        """Ask for the model's context window, which its engine may have chosen while loading."""


@dataclass(frozen=True, slots=True)
class Services:
    """What the app was started with."""

    runtime: "Callable[[], Awaitable[Runtime]]"
    """Returns the runtime; waits while it is being opened."""
    config_file: Path
    themes: ThemeCatalog = field(default_factory=ThemeCatalog)
    keymap: Mapping[str, str] = field(default_factory=dict)
    history_file: Path | None = None
    """Where sent prompts are kept for the Up key; None keeps them in memory only."""
    snippets_dir: Path | None = None
    """The folder of the user's own snippets; None is beside the settings file."""
    drafts_dir: Path | None = None
    """The folder for drafts that are not sent yet; None keeps none."""
    sessions_dir: Path | None = None
    """The folder where a program notes which chat is open; None notes nothing."""
    copies_dir: Path | None = None
    """The folder for copies that no clipboard takes; None offers none."""
    opened_files_dir: Path | None = None
    """The folder for files that other programs open; None is beside the settings file."""
    show_thinking: bool = True
    """Whether thinking is shown while it streams; it folds when the answer starts."""
    reading: Reading = field(default_factory=Reading)
    """How answers are shown."""
    approver: ScreenApprover = field(default_factory=ScreenApprover)
    """Asks on the screen whether a tool may run; hand it to what runs the tools."""
    opener: SystemOpener = field(default_factory=SystemOpener)
    """Opens a link after a yes."""
    schema: "JsonMapping | None" = None
    """A JSON Schema that the answers of the first chat must match."""
    schema_file: str | None = None
    """The path of its file."""
    is_private: bool = False
    """Whether the first chat is private."""
    problems: tuple[str, ...] = ()
    """Problems of the settings that are read before the first frame."""

    def session(self, runtime: "Runtime", keep_prompts: Callable[[bool], None]) -> "ChatSession":
        """Return the session that the app is started with."""
        # needs the vocabulary, as above
        from ollm_tui.frontend.session import ChatSession

        return ChatSession(
            runtime,
            is_private=self.is_private,
            schema=self.schema,
            schema_file=self.schema_file,
            keep_prompts=keep_prompts,
        )
