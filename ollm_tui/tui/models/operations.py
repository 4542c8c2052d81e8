"""What is done with models: loading, unloading, copying, deleting.

It goes on when the screen that started it is left.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_name
from ollm_tui.models.actions import ACTIONS, ModelAction
from ollm_tui.models.tasks import ModelTask, task_list
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
    is_in_chat: bool = False
    """Whether the chat says so already."""


class WorkWatcher(Protocol):
    """A screen that shows operations."""

    def work_changed(self, outcome: Outcome | None) -> None:
        """An operation has started, or ended with an outcome."""


@dataclass(slots=True)
class ModelOperations:
    """Loads, unloads, copies and deletes models, one operation at a time with each.

    The screen that watches shows how one ended; if none does, the chat shows it. The chat always
    shows that it has lost its model.
    """

    runtime: "Runtime"
    chat: OpenChat
    dialogs: Dialogs
    keymap: Keymap
    copies: Path | None
    running: dict[ModelRef, str] = field(default_factory=dict)
    """A sentence for each operation in progress, the oldest first."""
    _watcher: WorkWatcher | None = None

    def watch(self, watcher: WorkWatcher | None) -> None:
        """Let one screen show the operations from now on, or none."""
        self._watcher = watcher

    def is_refused(self, ref: ModelRef, *, in_chat: bool = False) -> bool:
        """Whether an operation on a model is in progress; if so, show that another has to wait."""
        is_busy = ref in self.running
        if is_busy:
            refusal = f"Another action on {clean_name(ref.model)} is in progress."
            self._report(Outcome(ref, refusal), in_chat=in_chat)
        return is_busy

    @property
    def manager(self) -> "ModelManager":
        """What does the work."""
        return self.runtime.manager

    def place(self, ref: ModelRef) -> str | None:
        """Return where a model is, as foreign text, or None if that is unknown."""
        try:
            return self.manager.place(ref)
        except AIError:  # its provider has gone from the settings
            return None

    async def other_names(self, ref: ModelRef) -> Sequence[str]:
        """Return the model's other names by its server's digests; none if that takes too long."""
        catalog = self.runtime.catalog
        catalog.forget(ref.provider)
        try:
            listing = await catalog.listing(ref.provider, within_s=LISTED_WITHIN_S)
        except AIError:  # its provider has gone from the settings
            return ()
        digests = {info.name: info.details.get("digest") for info in listing.models}
        digest = digests.pop(ref.model, None)
        return tuple(name for name, other in digests.items() if digest and other == digest)

    def is_own(self, ref: ModelRef) -> bool:
        """Whether a model is that of the open chat, by this name or another of it."""
        own = self.chat.ref
        return own is not None and own.provider == ref.provider and same_model(own.model, ref.model)

    async def may_stop(self, ref: ModelRef, action: ModelAction) -> bool:
        """Whether an action may end this model's answer; asks the user while there is one."""
        stops_for = ACTIONS[action].stops_for
        return not stops_for or not self.is_own(ref) or await self.chat.may_stop(stops_for)

    def run(
        self, action: ModelAction, ref: ModelRef, value: str | None = None, *, in_chat: bool = False
    ) -> None:
        """Run an action that changes a model; `value` is what it takes beside the model.

        With `in_chat` the chat says how it goes, whatever screen watches.
        """
        if self.is_refused(ref, in_chat=in_chat):
            return
        self.running[ref] = words = ACTIONS[action].doing.format(name=clean_name(ref.model))
        if in_chat:
            self.chat.say(words)
        if self._watcher is not None:
            self._watcher.work_changed(None)
        self.dialogs.run(self._run(action, ref, value, in_chat=in_chat), "model work")

    async def _run(
        self, action: ModelAction, ref: ModelRef, value: str | None, *, in_chat: bool
    ) -> None:
        try:
            outcome = await self._outcome(action, ref, value)
        except AIError as error:
            logger.info("Nothing was done with a model: %s", error)
            outcome = Outcome(ref, error.message, error.hint, is_error=True)
        finally:
            del self.running[ref]
        self.runtime.catalog.forget(ref.provider)
        self._report(outcome, in_chat=in_chat)

    def use_for(self, tasks: Sequence[ModelTask], ref: ModelRef, *, is_used: bool = True) -> None:
        """Make a model the default for tasks, or no longer, and say so."""
        self.dialogs.run(self._use_for(tasks, ref, is_used=is_used), "defaults")

    async def _use_for(self, tasks: Sequence[ModelTask], ref: ModelRef, *, is_used: bool) -> None:
        name, words = clean_name(ref.model), task_list(tasks)
        try:
            await self.runtime.task_defaults.choose(tasks, ref if is_used else None)
        except AIError as error:
            outcome = Outcome(ref, error.message, error.hint, is_error=True)
        else:
            done = f"Now using {name} for {words}." if is_used else f"{name} is no default now."
            outcome = Outcome(ref, done)
        self._report(outcome, in_chat=False)

    async def _outcome(self, action: ModelAction, ref: ModelRef, value: str | None) -> Outcome:
        known, name = ACTIONS[action], clean_name(ref.model)
        if known.stops_for and self.is_own(ref):
            self.chat.stop_answer()
        place = clean_name(self.place(ref) or self.runtime.catalog.shown_name(ref.provider))
        result = await self.manager.run(action, ref, value)
        if known.result.get("loaded") and self.is_own(ref):
            await self.chat.refresh_window()
        words = known.done.format(name=name, place=place, copy=clean_name(result.model))
        return Outcome(ref, words, is_in_chat=action == "delete" and self._lose(ref, words))

    def _lose(self, ref: ModelRef, words: str) -> bool:
        """Say in the chat that its model is gone; False if it is not the chat's."""
        if not self.is_own(ref):
            return False
        self.chat.drop_model()
        self._warn(f"{words} This chat used it; no model is selected now.")
        return True

    def gone(self, ref: ModelRef, label: str) -> None:
        """Warn in the chat that its model is no longer listed; it stays selected."""
        if self.is_own(ref):
            name = clean_name(ref.model)
            self._warn(f"{clean_name(label)} no longer lists {name}, this chat's model.")

    def _warn(self, text: str) -> None:
        key = self.keymap.key_for("chat.models")
        self.chat.say(text, "warning", f"Press {key} to choose another.")

    def _report(self, outcome: Outcome, *, in_chat: bool) -> None:
        """Show an outcome on the screen that watches; in the chat if none does, or on request."""
        if self._watcher is not None:
            self._watcher.work_changed(outcome)
        if (in_chat or self._watcher is None) and not outcome.is_in_chat:
            self.chat.say(outcome.words, "error" if outcome.is_error else "info", outcome.hint)

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

        if self.chat.ref == details.ref:
            conversation = self.chat.conversation
            used = conversation.profile
            profile = (clean_name(used), self.runtime.profiles.values_of(used)) if used else None
            details = in_chat(details, conversation.options, conversation.system_prompt, profile)
        details = replace(details, default_for=self.runtime.task_defaults.defaults_of(details.ref))
        page = ModelDetailsScreen(
            details, refusals=refusals, section=section, keymap=self.keymap, copies=self.copies
        )
        page.provider_name = self.runtime.catalog.shown_name(details.ref.provider)
        return page
