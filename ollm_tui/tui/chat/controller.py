"""What stands behind the chat screen once the runtime is there: loaded after the first frame."""

import logging
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.complete import Suggestions, suggest
from ollm_tui.commands.parse import CommandCall, UnknownCommand, parse, prompt_text, run_command
from ollm_tui.commands.registry import Command, plugin_commands
from ollm_tui.commands.tools import missing_tools
from ollm_tui.config.foreign import off_the_loop
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.capabilities import HasPlugins
from ollm_tui.tui.chat.branches import Branches
from ollm_tui.tui.chat.command_host import ScreenCommandHost
from ollm_tui.tui.chat.dialogs import Dialogs
from ollm_tui.tui.chat.message_editing import MessageEditing
from ollm_tui.tui.chat.ports import NoteKind
from ollm_tui.tui.chat.presenter import Hints, TurnPresenter
from ollm_tui.tui.chat.prompt_queue import PromptQueue
from ollm_tui.tui.chat.save_monitor import SaveMonitor
from ollm_tui.tui.chat.session import ChatSession
from ollm_tui.tui.chat.status_presenter import StatusPresenter
from ollm_tui.tui.chat.vision_support import ImageConsent
from ollm_tui.tui.chat.welcome import welcome
from ollm_tui.tui.composer.attaching import Attaching
from ollm_tui.tui.composer.file_suggestions import FileSuggestions
from ollm_tui.tui.downloads.progress import Fetching
from ollm_tui.tui.models.messages import unlisted_words
from ollm_tui.tui.models.operations import ModelOperations
from ollm_tui.tui.models.views import ModelViews
from ollm_tui.tui.services import Client, Runtime
from ollm_tui.tui.transcript.navigation_keys import FLASH_S

if TYPE_CHECKING:
    from ollm_tui.tui.chat.screen import ChatScreen

logger = logging.getLogger(__name__)


class ChatController:
    """Joins the conversation, the answers and the commands to one screen."""

    def __init__(
        self, screen: "ChatScreen", runtime: Runtime, more_commands: Sequence[Command] = ()
    ) -> None:
        self._screen = screen
        self._is_ready = False
        self.runtime = runtime
        self.session = ChatSession(runtime)
        self.status = StatusPresenter(screen, self.session)
        self.presenter = TurnPresenter(
            screen.transcript,
            self.status,
            hints=_hints(screen),
            began=screen.services.approver.answered_at,
        )
        self.turns = PromptQueue(
            self.presenter,
            screen.show_queue,
            lambda: self.session.client,
            screen.composer.pictures.content,
        )
        self.attaching = Attaching(screen)
        self.files = FileSuggestions(self.suggest)
        self.consent = ImageConsent(screen, self)
        self.commands = (*COMMANDS, *more_commands)
        self.model_work = ModelOperations(screen, self)
        self.model_views = ModelViews(screen, self)
        self.host = ScreenCommandHost(screen, self)
        self.views = Dialogs(screen, self)
        self.rewriting = MessageEditing(screen, self)
        self.unsaved = SaveMonitor(runtime, self.say)
        self.branches = Branches(screen, self)
        self.fetching = Fetching(screen, self)
        screen.services.approver.attach(screen.app, self._asks)

    @classmethod
    async def beside(cls, screen: "ChatScreen") -> "ChatController | None":
        """Wait for the runtime and make the desk of a screen; None, and a note, without one."""
        try:
            runtime = await screen.services.runtime()
        except AIError as error:
            screen.transcript.add_note("opening", error.message, "error", error.hint)
            screen.status.show_turn("error")
            return None
        commands, problems = await _commands_of_plugins(runtime)
        controller = cls(screen, runtime, commands)
        for problem in problems:
            controller.say(problem, "warning")
        return controller

    def _asks(self, is_open: bool) -> None:
        if self._screen.app.is_running:
            self.presenter.ask(is_open=is_open)
        else:  # the app ended over the question: there is nothing left to show an answer on
            self.presenter.forget()
            self.turns.stop()

    async def open(self) -> None:
        """Find a model to begin with and say which it is."""
        for problem in (*self._screen.problems, *self.runtime.problems):
            self.say(problem, "warning")
        if self.session.client.conversation.messages:
            self._recall()
        if self.session.client.conversation.messages and self.session.ref is not None:
            await self.session.find_window()
        else:
            await self._find_first_model()
        self._is_ready = True
        self.status.show_talk()
        self.fetching.watch()
        self.branches.watch()

    async def _find_first_model(self) -> None:
        try:
            first = await self.runtime.first_model()
        except AIError as error:
            self.say(error.message, "error", error.hint)
        else:
            if first.ref is not None:
                self._set_model(first.ref)
            else:
                self.session.drop_model()
            text, hint = welcome(
                first, self._screen.keymap.key_for, self.runtime.catalog.shown_address
            )
            self.say(text, "info", hint)

    # What the screen asks for

    @property
    def is_busy(self) -> bool:
        """Whether a prompt has to wait."""
        return not self._is_ready or self.turns.is_busy or self.consent.is_asking

    def suggest(self, draft: str) -> Suggestions | None:
        """Suggest how to go on with a command."""
        return suggest(draft, self.commands, self.host)

    def read(self, text: str) -> CommandCall | UnknownCommand | str:
        """Tell a command from a prompt."""
        return parse(text, self.commands) or prompt_text(text)

    async def run_command(self, call: CommandCall | UnknownCommand) -> None:
        """Do what a command says."""
        await run_command(call, self.host)
        self.status.show_tools()
        self.status.show_context()

    async def answer(self, prompt: str | None) -> None:
        """Ask, with everything that is queued after it; None asks the newest question again."""
        if self.session.model is None:
            self._give_back(prompt)
            return
        if not await self.consent.given(prompt):
            self._return_to_input(prompt)
            return
        if prompt is not None and not self.rewriting.commit():
            self._screen.composer.prepend(prompt)
            return
        await self.turns.run(prompt)
        await self._after_answers()

    async def go_on(self) -> None:
        """Let the model go on where its turns ran out."""
        await self.turns.go_on()
        await self._after_answers()

    async def answer_queue(self) -> None:
        """Ask what was written before there was anyone to ask."""
        if self.session.model is not None:
            await self.turns.drain()
        elif self.turns.is_waiting:
            self._give_back(None)

    def _give_back(self, prompt: str | None) -> None:
        """Return to the input what nobody is there to answer."""
        self._return_to_input(prompt)
        key = self._screen.keymap.key_for("chat.models")
        hint = f"Press {key} to choose one. What you wrote is back in the input."
        self.say("No model is selected.", "warning", hint)

    def _return_to_input(self, prompt: str | None) -> None:
        parts = (prompt, self.turns.take_back())
        if back := "\n\n".join(part for part in parts if part):
            self._screen.composer.prepend(back)

    async def _after_answers(self) -> None:
        if not self.turns.failed:
            self._remember_model()
        self.unsaved.look()
        await self.branches.look()
        await self.session.look_at_window()
        self.status.show_talk()
        if not self.turns.failed:
            await self.session.count_use()

    def say(self, text: str, kind: NoteKind = "info", hint: str | None = None) -> None:
        """Show a note."""
        self.presenter.note(text, kind, hint)

    def new_chat(self) -> None:
        """Leave the history behind."""
        self._leave()
        self.session.begin_anew()
        self.status.show_talk()

    def go_to(self, client: Client) -> None:
        """Leave this chat for another, and show that one as it was left."""
        self._leave()
        self.session.go_to(client)
        self._recall()
        self.status.show_talk()

    def _recall(self) -> None:
        messages = self.session.client.conversation.messages
        self.presenter.recall(messages)
        self.turns.failed = bool(messages) and messages[-1].metadata.get("ended") == "failed"
        line = missing_tools(self.session.client.conversation.tools, self.session.offered_tools)
        if line is not None:
            self.say(line, "warning", "/tools lists the available tools.")

    def _leave(self) -> None:
        if back := self.turns.take_back():  # it was meant for the chat that is left
            self._screen.composer.prepend(back)
        self.turns.stop()
        self.rewriting.forget()
        self.turns.failed = False
        self._screen.services.approver.permissions.forget()
        self._screen.action_find_close()
        self._screen.transcript.clear()
        self.presenter.forget()
        self.status.show_turn("ready")

    async def find_model(self, address: str) -> None:
        """Let the model of that name answer from now on.

        Raises:
            AIError: no provider has it.
        """
        found = await self.runtime.router.resolve(address)
        self.use_model(found.ref)
        key = self._screen.keymap.key_for("chat.models")
        words = unlisted_words(self.runtime.catalog, found.ref, key)
        if words is not None:
            self.say(words[0], "warning", words[1])

    def use_model(self, ref: ModelRef) -> None:
        """Let another model answer from now on."""
        self._set_model(ref)
        self._remember_model()
        self.say(f"Now using {ref.model}.")
        self.status.show_talk()

    def _set_model(self, ref: ModelRef) -> None:
        self.session.set_model(ref)
        self.turns.refused = False
        if self.turns.failed and not self.turns.is_busy:
            self._screen.show_keys("error")
        # What it can do decides how it is given tools and pictures; the first prompt need not wait.
        describe = self.runtime.catalog.describe(ref)
        self._screen.run_worker(describe, group="describe", exclusive=True)

    def _remember_model(self) -> None:
        try:
            self.session.remember_model()
        except OSError as error:
            logger.warning("The model used last could not be remembered: %s", error)

    async def next_recent(self) -> None:
        """Go to the model used before this one."""
        address = self.session.next_recent()
        if address is None:
            self._screen.hints.flash("No other model was used recently", FLASH_S)
            return
        try:
            await self.find_model(address)
        except AIError as error:
            self.say(error.message, "error", error.hint)


async def _commands_of_plugins(
    runtime: Runtime,
) -> tuple[Sequence[Command], Sequence[str]]:
    """Import the commands of installed packages, in a thread: it may take a while."""
    if not isinstance(runtime, HasPlugins) or not runtime.plugin_commands:
        return (), ()
    return await off_the_loop(partial(plugin_commands, COMMANDS))


def _hints(screen: "ChatScreen") -> Hints:
    key_for = screen.keymap.key_for
    return Hints(
        retry=f"Press {key_for('chat.retry')} to try again.",
        go_on=f"Press {key_for('chat.go_on')} to continue.",
        context=f"Press {key_for('chat.context')} to make room.",
    )
