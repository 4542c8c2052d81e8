"""What is being done with models: it goes on when the screen that began it is left."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.providers.router import same_model
from ollm_tui.tui.capabilities import ManagesModels

if TYPE_CHECKING:
    from ollm_tui.runtime.actions import ModelAction
    from ollm_tui.runtime.details import ModelDetails
    from ollm_tui.runtime.manager import ModelManager
    from ollm_tui.tui.chat.controller import ChatController
    from ollm_tui.tui.chat.screen import ChatScreen
    from ollm_tui.tui.models.details import ModelDetailsScreen

    _Work = Callable[[ModelManager], Awaitable["Outcome"]]

logger = logging.getLogger(__name__)

LISTED_WITHIN_S: Final = 2.0
"""How long a question about deleting waits for the names that are left."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How something that was done with a model ended."""

    ref: ModelRef
    words: str
    hint: str | None = None
    is_error: bool = False
    is_told: bool = False
    """Whether the chat was told already."""


class WorkWatcher(Protocol):
    """A screen that shows what is being done."""

    def work_changed(self, outcome: Outcome | None) -> None:
        """Take note that something has begun, or how it ended."""
        ...


class ModelOperations:
    """Loads, drops, copies and deletes models, one thing at a time with each.

    How it ended is shown by the screen that watches, and by the chat where none does. That the
    model of the open chat is gone the chat is told in any case.
    """

    def __init__(self, screen: "ChatScreen", controller: "ChatController") -> None:
        self._screen = screen
        self._desk = controller
        self._ongoing: dict[ModelRef, str] = {}
        self._watcher: WorkWatcher | None = None

    def watch(self, watcher: WorkWatcher | None) -> None:
        """Tell one screen from now on, or none."""
        self._watcher = watcher

    @property
    def ongoing(self) -> Sequence[str]:
        """What is being done, in words, the oldest first."""
        return tuple(self._ongoing.values())

    def is_busy_with(self, ref: ModelRef) -> bool:
        """Whether something is being done with a model."""
        return ref in self._ongoing

    @property
    def manager(self) -> "ModelManager | None":
        """What does it; None where nothing can be done."""
        runtime = self._desk.runtime
        return runtime.manager if isinstance(runtime, ManagesModels) else None

    def place(self, ref: ModelRef) -> str | None:
        """Name where a model is, as foreign text; None where nobody knows."""
        try:
            return self.manager.place(ref) if self.manager is not None else None
        except AIError:  # its provider has gone from the settings
            return None

    async def other_names(self, ref: ModelRef) -> Sequence[str]:
        """Ask for the other names that a model has now, as far as its server tells digests.

        None are given where it does not list its models in time.
        """
        catalog = self._desk.runtime.catalog
        catalog.forget(ref.provider)
        try:
            listing = await catalog.listing(ref.provider, within_s=LISTED_WITHIN_S)
        except AIError:  # its provider has gone from the settings
            return ()
        digests = {info.name: info.details.get("digest") for info in listing.models}
        digest = digests.pop(ref.model, None)
        return tuple(name for name, other in digests.items() if digest and other == digest)

    @property
    def own_model(self) -> ModelRef | None:
        """The model of the open chat."""
        return self._desk.session.ref

    async def may_stop(self, ref: ModelRef, deed: str) -> bool:
        """Whether something may be done that ends this model's answer; asks while one comes."""
        return not self.is_own(ref) or await self._desk.views.may_stop(deed)

    # The deeds

    def load(self, ref: ModelRef, keep_alive: str | None) -> None:
        """Bring a model into memory, for as long as `keep_alive` says."""
        name = clean_name(ref.model)

        async def deed(manager: "ModelManager") -> Outcome:
            await manager.load(ref, keep_alive=keep_alive)
            return Outcome(ref, f"Loaded {name}.")

        self._begin(ref, f"Loading {name}…", deed)

    def unload(self, ref: ModelRef) -> None:
        """Drop a model from memory; an answer of it is stopped."""
        name = clean_name(ref.model)
        self._stop(ref)

        async def deed(manager: "ModelManager") -> Outcome:
            await manager.unload(ref)
            return Outcome(ref, f"Unloaded {name}.")

        self._begin(ref, f"Unloading {name} …", deed)

    def copy(self, ref: ModelRef, copy: str) -> None:
        """Give a model a second name."""

        async def deed(manager: "ModelManager") -> Outcome:
            made = await manager.copy(ref, copy)
            return Outcome(ref, f"Copied {clean_name(ref.model)} to {clean_name(made.model)}.")

        self._begin(ref, f"Copying {clean_name(ref.model)}…", deed)

    def delete(self, ref: ModelRef) -> None:
        """Remove a model for good; an answer of it is stopped."""
        name = clean_name(ref.model)
        self._stop(ref)

        async def deed(manager: "ModelManager") -> Outcome:
            provider = self._desk.runtime.catalog.shown_name(ref.provider)
            place = clean_name(self.place(ref) or provider)
            await manager.delete(ref)
            words = f"Deleted {name} from {place}."
            return Outcome(ref, words, is_told=self._lose(ref, words))

        self._begin(ref, f"Deleting {name}…", deed)

    def gone(self, ref: ModelRef, label: str) -> None:
        """Warn a chat whose model is no longer listed where it was.

        It stays chosen: one server of several may be away, and asking tells what is wrong.
        """
        if self.is_own(ref):
            key = self._screen.keymap.key_for("chat.models")
            told = (
                f"{clean_name(label)} no longer lists {clean_name(ref.model)}, this chat's model."
            )
            self._desk.say(told, "warning", f"Press {key} to choose another.")

    def details_page(
        self, details: "ModelDetails", refusals: "Mapping[ModelAction, str | None]"
    ) -> "ModelDetailsScreen":
        """Make the screen that shows a model as it counts in the open chat."""
        return self._desk.model_views.page(details, refusals)

    def is_own(self, ref: ModelRef) -> bool:
        """Whether a model is that of the open chat, by this name or another of it."""
        own = self.own_model
        is_there = own is not None and own.provider == ref.provider
        return is_there and own is not None and same_model(own.model, ref.model)

    def _stop(self, ref: ModelRef) -> None:
        if self.is_own(ref):
            self._desk.turns.stop()

    def _lose(self, ref: ModelRef, words: str) -> bool:
        """Tell the chat that a model is gone, if it is the one that answers; then none does."""
        if not self.is_own(ref):
            return False
        self._desk.session.drop_model()
        key = self._screen.keymap.key_for("chat.models")
        told = f"{words} This chat used it; no model is selected now."
        self._desk.say(told, "warning", f"Press {key} to choose another.")
        self._desk.status.show_talk()
        return True

    def _begin(self, ref: ModelRef, words: str, deed: "_Work") -> None:
        manager = self.manager
        if manager is not None and ref not in self._ongoing:
            self._ongoing[ref] = words
            self._tell(None)
            self._screen.run_worker(self._do(ref, deed, manager), group="model work")

    async def _do(
        self,
        ref: ModelRef,
        deed: "_Work",
        manager: "ModelManager",
    ) -> None:
        try:
            outcome = await deed(manager)
        except AIError as error:
            logger.info("Nothing was done with a model: %s", error)
            outcome = Outcome(ref, error.message, error.hint, is_error=True)
        finally:
            self._ongoing.pop(ref, None)
        self._desk.runtime.catalog.forget(ref.provider)
        self._tell(outcome)

    def _tell(self, outcome: Outcome | None) -> None:
        if self._watcher is not None:
            self._watcher.work_changed(outcome)
        elif outcome is not None and not outcome.is_told:
            self._desk.say(outcome.words, "error" if outcome.is_error else "info", outcome.hint)
