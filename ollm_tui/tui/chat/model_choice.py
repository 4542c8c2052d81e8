"""Which model a chat uses: the first one, with the note that says so, and changing it."""

import logging

from ollm_tui.chat.conversation import Conversation
from ollm_tui.dataclass import dataclass
from ollm_tui.frontend.notes import report_errors
from ollm_tui.frontend.session import ChatSession
from ollm_tui.frontend.welcome_note import welcome
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.chat.dialogs import StopAnswer
from ollm_tui.tui.chat.parts import KeyHints
from ollm_tui.tui.chat.prompting.prompt_queue import PromptQueue
from ollm_tui.tui.chat.status.status_presenter import StatusPresenter
from ollm_tui.tui.dialogs import Dialogs
from ollm_tui.tui.keys import Keymap
from ollm_tui.tui.models import unlisted_words
from ollm_tui.tui.services import Say
from ollm_tui.tui.widgets import FLASH_S, HintLine

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Sets the model of the open chat and says so; the `OpenChat` of models and downloads."""

    session: ChatSession
    queue: PromptQueue
    status: StatusPresenter
    say: Say
    keymap: Keymap
    key_hints: KeyHints
    hints: HintLine
    dialogs: Dialogs

    async def find_first(self) -> None:
        """Find a model to begin with and say which it is."""
        runtime = self.session.runtime
        try:
            first = await runtime.first_model()
        except AIError as error:
            self.say(error.message, "error", error.hint)
            return
        if first.ref is not None:
            self._set(first.ref)
        else:
            self.session.drop_model()
        text, hint = welcome(first, self.keymap.key_for, runtime.catalog.shown_address)
        self.say(text, "info", hint)

    async def find(self, address: str) -> None:
        """Use the model of that name from the next prompt on.

        Raises:
            AIError: no provider has it.
        """
        runtime = self.session.runtime
        resolved = await runtime.router.resolve(address)
        self.use_model(resolved.ref)
        key = self.keymap.key_for("chat.models")
        if (warning := unlisted_words(runtime.catalog, resolved.ref, key)) is not None:
            self.say(warning[0], "warning", warning[1])

    def use_model(self, ref: ModelRef) -> None:
        """Use another model from the next prompt on, and say so."""
        self._set(ref)
        self.remember()
        self.say(f"Now using {ref.model}.")
        self.status.show_session()

    def _set(self, ref: ModelRef) -> None:
        self.session.set_model(ref)
        self.queue.refused = False
        if self.queue.failed and not self.queue.is_busy:
            self.key_hints.show("error")
        # What it can do decides how it is given tools and pictures; the first prompt need not wait.
        describe = self.session.runtime.catalog.describe(ref)
        self.dialogs.run(describe, "describe", is_exclusive=True)

    def remember(self) -> None:
        """Put the model in front of the recent ones."""
        try:
            self.session.remember_model()
        except OSError as error:
            logger.warning("The model used last could not be remembered: %s", error)

    async def next_recent(self) -> None:
        """Change to the model used before this one."""
        address = self.session.next_recent()
        if address is None:
            self.hints.flash("No other model was used recently", FLASH_S)
        else:
            await report_errors(self.find(address), self.say)

    def drop_model(self) -> None:
        """Use no model until one is chosen."""
        self.session.drop_model()
        self.status.show_session()

    @property
    def ref(self) -> ModelRef | None:
        """The model that answers, or None."""
        return self.session.ref

    @property
    def conversation(self) -> Conversation:
        """The open conversation."""
        return self.session.client.conversation

    async def refresh_window(self) -> None:
        """Ask for the model's context window, which its engine may have chosen while loading."""
        await self.session.refresh_window()
        self.status.show_session()

    async def may_stop(self, action: str) -> bool:
        """Whether an action may stop the answer; asks the user while there is one."""
        if not self.queue.is_running:
            return True
        model = self.session.runtime.catalog.shown_address(self.ref) if self.ref else ""
        return await self.dialogs.ask(StopAnswer(model, action))

    def stop_answer(self) -> None:
        """Stop the answer that is being written, if any."""
        self.queue.stop()

    def say_none(self) -> None:
        """Say that there is no model to send a prompt to."""
        key = self.keymap.key_for("chat.models")
        hint = f"Press {key} to choose one. What you wrote is back in the input."
        self.say("No model is selected.", "warning", hint)
