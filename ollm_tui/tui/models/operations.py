"""What is done with models: loading, unloading, copying, deleting.

It goes on when the screen that started it is left.
"""

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from ollm_tui.decode.clean import clean_name
from ollm_tui.models.actions import ACTIONS, ModelAction
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.providers.router import same_model
from ollm_tui.runtime.details import in_chat
from ollm_tui.tui.dialogs import Dialogs
from ollm_tui.tui.keys import Keymap
from ollm_tui.tui.services import OpenChat

if TYPE_CHECKING:
    from ollm_tui.runtime.compose import Runtime
    from ollm_tui.runtime.details import ModelDetails
    from ollm_tui.runtime.manager import ModelManager
    from ollm_tui.tui.models.details import ModelDetailsScreen

    _Operation = Callable[[], Awaitable["Outcome"]]

logger = logging.getLogger(__name__)

LISTED_WITHIN_S: Final = 2.0
"""How long a question about deleting waits for the model's other names."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an operation on a model ended."""

    ref: ModelRef
    words: str
    hint: str | None = None
    is_error: bool = False
    is_told: bool = False
    """Whether the chat says so already."""


class WorkWatcher(Protocol):
    """A screen that shows operations."""

    def work_changed(self, outcome: Outcome | None) -> None:
        """An operation has started, or ended with an outcome."""
        ...


class RunningOperations:
    """The operations in progress: a sentence for each model, the oldest first."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.words: dict[ModelRef, str] = {}

    @contextmanager
    def add(self, ref: ModelRef, words: str) -> Iterator[None]:
        """Let no other operation on a model start meanwhile."""
        self.words[ref] = words
        self._changed()
        try:
            yield
        finally:
            self.words.pop(ref, None)


class ModelOperations:
    """Loads, unloads, copies and deletes models, one operation at a time with each.

    The screen that watches shows how one ended; if none does, the chat shows it. The chat always
    shows that it has lost its model.
    """

    def __init__(
        self,
        runtime: "Runtime",
        chat: OpenChat,
        dialogs: Dialogs,
        keymap: Keymap,
        copies: Path | None,
    ) -> None:
        self._runtime = runtime
        self._chat = chat
        self._dialogs = dialogs
        self._keymap = keymap
        self._copies = copies
        self.running = RunningOperations(self._show_ongoing)
        self._watcher: WorkWatcher | None = None

    def watch(self, watcher: WorkWatcher | None) -> None:
        """Let one screen show the operations from now on, or none."""
        self._watcher = watcher

    @property
    def ongoing(self) -> Sequence[str]:
        """A sentence for each operation, the oldest first."""
        return tuple(self.running.words.values())

    def is_refused(self, ref: ModelRef, *, in_chat: bool = False) -> bool:
        """Whether an operation on a model is in progress; if so, show that another has to wait."""
        is_busy = ref in self.running.words
        if is_busy:
            refusal = f"Another action on {clean_name(ref.model)} is in progress."
            self._report(Outcome(ref, refusal), in_chat=in_chat)
        return is_busy

    @property
    def manager(self) -> "ModelManager":
        """What does the work."""
        return self._runtime.manager

    def place(self, ref: ModelRef) -> str | None:
        """Return where a model is, as foreign text, or None if that is unknown."""
        try:
            return self.manager.place(ref)
        except AIError:  # its provider has gone from the settings
            return None

    async def other_names(self, ref: ModelRef) -> Sequence[str]:
        """Return the model's other names, by the digests its server lists.

        Empty if the server does not list its models within `LISTED_WITHIN_S`.
        """
        catalog = self._runtime.catalog
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
        return self._chat.ref

    def is_own(self, ref: ModelRef) -> bool:
        """Whether a model is that of the open chat, by this name or another of it."""
        own = self._chat.ref
        return own is not None and own.provider == ref.provider and same_model(own.model, ref.model)

    async def may_stop(self, ref: ModelRef, action: str) -> bool:
        """Whether an action may end this model's answer; asks the person while there is one."""
        return not self.is_own(ref) or await self._chat.may_stop(action)

    def run(
        self, action: ModelAction, ref: ModelRef, value: str | None = None, *, in_chat: bool = False
    ) -> None:
        """Run an action that changes a model; `value` is what it takes beside the model.

        With `in_chat` the chat says how it goes, whatever screen watches.
        """
        known, name = ACTIONS[action], clean_name(ref.model)

        async def operation() -> Outcome:
            if known.stops_for:
                self._stop(ref)
            provider = self._runtime.catalog.shown_name(ref.provider)
            place = clean_name(self.place(ref) or provider)
            result = await self.manager.run(action, ref, value)
            if action == "load" and self.is_own(ref):
                await self._chat.refresh_window()
            words = known.done.format(name=name, place=place, copy=clean_name(result.model))
            return Outcome(ref, words, is_told=action == "delete" and self._lose(ref, words))

        self._start(ref, known.doing.format(name=name), operation, in_chat=in_chat)

    def _stop(self, ref: ModelRef) -> None:
        if self.is_own(ref):
            self._chat.stop_answer()

    def _lose(self, ref: ModelRef, words: str) -> bool:
        """Say in the chat that its model is gone; False if it is not the chat's."""
        if not self.is_own(ref):
            return False
        self._chat.drop_model()
        key = self._keymap.key_for("chat.models")
        text = f"{words} This chat used it; no model is selected now."
        self._chat.say(text, "warning", f"Press {key} to choose another.")
        return True

    def gone(self, ref: ModelRef, label: str) -> None:
        """Warn in the chat that its model is no longer listed where it was.

        It stays selected: one server of several may be away, and the next prompt says what is
        wrong.
        """
        if self.is_own(ref):
            key = self._keymap.key_for("chat.models")
            where = clean_name(label)
            text = f"{where} no longer lists {clean_name(ref.model)}, this chat's model."
            self._chat.say(text, "warning", f"Press {key} to choose another.")

    def _start(
        self, ref: ModelRef, words: str, operation: "_Operation", *, in_chat: bool = False
    ) -> None:
        if self.is_refused(ref, in_chat=in_chat):
            return
        if in_chat:
            self._chat.say(words)
        doing = ExitStack()
        doing.enter_context(self.running.add(ref, words))
        self._dialogs.run(self._run(ref, operation, doing, in_chat), "model work")

    async def _run(
        self,
        ref: ModelRef,
        operation: "_Operation",
        doing: ExitStack,
        in_chat: bool,
    ) -> None:
        with doing:
            try:
                outcome = await operation()
            except AIError as error:
                logger.info("Nothing was done with a model: %s", error)
                outcome = Outcome(ref, error.message, error.hint, is_error=True)
        self._runtime.catalog.forget(ref.provider)
        self._report(outcome, in_chat=in_chat)

    def _report(self, outcome: Outcome, *, in_chat: bool) -> None:
        """Show an outcome on the screen that watches; in the chat if none does, or on request."""
        if self._watcher is not None:
            self._watcher.work_changed(outcome)
        if (in_chat or self._watcher is None) and not outcome.is_told:
            self._chat.say(outcome.words, "error" if outcome.is_error else "info", outcome.hint)

    def _show_ongoing(self) -> None:
        if self._watcher is not None:
            self._watcher.work_changed(None)

    # The details of a model

    def details_page(
        self,
        details: "ModelDetails",
        refusals: Mapping[ModelAction, str | None],
        section: str | None = None,
    ) -> "ModelDetailsScreen":
        """Make the screen of a model, at one of its sections, as the open chat would use it."""
        # A screen of its own, which many chats never open.
        from ollm_tui.tui.models.details import ModelDetailsScreen

        if self._chat.ref == details.ref:
            details = in_chat(details, self._chat.conversation.options)
        page = ModelDetailsScreen(
            details, refusals=refusals, section=section, keymap=self._keymap, copies=self._copies
        )
        page.provider_name = self._runtime.catalog.shown_name(details.ref.provider)
        return page
