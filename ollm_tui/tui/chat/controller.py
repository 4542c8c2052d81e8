"""What stands behind the chat screen once the runtime is open: loaded after the first frame."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ollm_tui.commands import COMMANDS
from ollm_tui.commands.host import View
from ollm_tui.commands.parse import CommandCall, Suggestions, UnknownCommand, run_command, suggest
from ollm_tui.commands.registry import Command, plugin_commands
from ollm_tui.commands.tools import missing_tools
from ollm_tui.config.foreign import off_the_loop
from ollm_tui.protocol.errors import AIError
from ollm_tui.tui.chat.command_host import ScreenCommandHost
from ollm_tui.tui.chat.context import ContextRemedies
from ollm_tui.tui.chat.dialogs import ChatDialogs, ThemeSwitch
from ollm_tui.tui.chat.drawing import Drawings
from ollm_tui.tui.chat.history import ChatHistory, SaveMonitor
from ollm_tui.tui.chat.image_consent import ImageConsent
from ollm_tui.tui.chat.message_editing import MessageEditing
from ollm_tui.tui.chat.model_choice import ModelChoice
from ollm_tui.tui.chat.parts import ChatParts, queue_line
from ollm_tui.tui.chat.presenter import Hints, TurnPresenter
from ollm_tui.tui.chat.prompt_queue import PromptQueue
from ollm_tui.tui.chat.prompts import Prompts
from ollm_tui.tui.chat.search_dialog import ChatSearching
from ollm_tui.tui.chat.session import ChatSession
from ollm_tui.tui.chat.status_presenter import StatusPresenter
from ollm_tui.tui.composer import Attaching, FileQuery, FileSuggestions
from ollm_tui.tui.downloads import ChatDownloads
from ollm_tui.tui.links import Links
from ollm_tui.tui.models import ModelCommands, ModelOperations
from ollm_tui.tui.voice import VoiceControl
from ollm_tui.tui.widgets import FLASH_S

if TYPE_CHECKING:
    from ollm_tui.chat.client import ChatClient
    from ollm_tui.runtime.compose import Runtime


async def open_controller(parts: ChatParts) -> "ChatController | None":
    """Wait for the runtime and make the controller; None, and a note, if it cannot be opened."""
    try:
        runtime = await parts.services.runtime()
    except AIError as error:
        parts.transcript.add_note("opening", error.message, "error", error.hint)
        parts.bar.show_turn("error")
        return None
    commands, problems = await _commands_of_plugins(runtime)
    controller = ChatController(parts, runtime, commands)
    for problem in problems:
        controller.say(problem, "warning")
    return controller


async def _commands_of_plugins(runtime: "Runtime") -> tuple[Sequence[Command], Sequence[str]]:
    """Import the commands of installed packages, in a thread: it may take a while."""
    if not runtime.plugin_commands:
        return (), ()
    return await off_the_loop(partial(plugin_commands, COMMANDS))


class ChatController:
    """Builds what a chat needs on the parts of its screen, and changes from chat to chat."""

    def __init__(
        self, parts: ChatParts, runtime: "Runtime", more_commands: Sequence[Command] = ()
    ) -> None:
        self._parts = parts
        self._dialogs = parts.dialogs
        self.runtime = runtime
        self.commands = (*COMMANDS, *more_commands)
        self._blocks: Mapping[int, str] = {}
        self._build_answers()
        self._build_prompts()
        self._build_features()
        self._build_commands()
        parts.services.approver.attach(parts.transcript.app, self._show_asking)

    def _build_answers(self) -> None:
        parts, key_for = self._parts, self._parts.keymap.key_for
        approver = parts.services.approver
        self.session = ChatSession(self.runtime)
        schema, file = parts.services.schema, parts.services.schema_file
        if schema is not None:
            self.session.client.conversation.use_schema(schema, file)
        self.status = StatusPresenter(
            parts.header, parts.bar, parts.key_hints, self.session, approver
        )
        hints = Hints(
            retry=f"Press {key_for('chat.retry')} to try again.",
            go_on=f"Press {key_for('chat.go_on')} to continue.",
            context=f"Press {key_for('chat.context')} to make room.",
        )
        self.presenter = TurnPresenter(
            parts.transcript, self.status, hints=hints, began=approver.answered_at
        )
        self.say = self.presenter.note
        self.queue = PromptQueue(
            self.presenter,
            self._show_queue,
            lambda: self.session.client,
            parts.composer.pictures.content,
        )
        self.voice = self.queue.listener = VoiceControl(
            self.runtime, parts.composer, parts.hints, self._dialogs, parts.keymap, self.say
        )
        self.queue.hold()  # until the chat is open
        self.editing = MessageEditing(
            self.session,
            self.presenter,
            self.queue,
            parts.composer,
            parts.transcript,
            parts.hints,
            key_for,
            self.status.show_session,
            retry=lambda: self.prompts.retry(),
        )

    def _build_prompts(self) -> None:
        parts = self._parts
        self.models = ModelChoice(
            self.session,
            self.queue,
            self.status,
            self.say,
            parts.keymap,
            parts.key_hints,
            parts.hints,
            self._dialogs,
        )
        self.prompts = Prompts(
            self.session,
            self.queue,
            self.editing,
            ImageConsent(self.session, parts.composer.pictures, self._dialogs),
            parts.composer,
            parts.transcript,
            parts.hints,
            self._dialogs,
            self.commands,
            self._run_command,
            self.models.say_none,
            self._after_answer,
        )

    def _build_features(self) -> None:
        parts, dialogs, keymap = self._parts, self._dialogs, self._parts.keymap
        self.save_monitor = SaveMonitor(self.runtime.chats, self.say)
        self.history = ChatHistory(
            self.session,
            dialogs,
            self.say,
            self.models.may_stop,
            self.go_to,
            self.show_message,
            self.status.show_session,
            lambda: self.queue.is_busy,
        )
        self.search = ChatSearching(self.session, dialogs, self.say, self.history.open)
        self.context = ContextRemedies(
            self.session,
            self.status,
            dialogs,
            self.say,
            self.begin_new_chat,
            lambda: self.prompts.retry() if self.queue.failed else None,
        )
        self.links = Links(
            parts.transcript, parts.hints, dialogs, parts.copying, parts.services.opener, self.say
        )
        self.model_operations = ModelOperations(
            self.runtime, self.models, dialogs, keymap, parts.services.copies
        )
        self.downloads = ChatDownloads(
            self.runtime, self.models, dialogs, keymap, self.status.show_downloads
        )
        self.themes = ThemeSwitch(parts.transcript.app, parts.services, dialogs, self.say)
        self.attaching = Attaching(parts.composer, parts.hints, dialogs)

    def _build_commands(self) -> None:
        parts, dialogs, keymap = self._parts, self._dialogs, self._parts.keymap
        self.files = FileSuggestions(self.suggest)
        page = ChatDialogs(
            self.session,
            dialogs,
            keymap,
            self.commands,
            self.model_operations,
            self.downloads,
            self.models.use_model,
            self._dialogs.run_action,
            self.prompts.submit,
            self._is_offered,
        )
        model_commands = ModelCommands(
            self.runtime, self.models, dialogs, keymap, self.model_operations
        )
        self._views = self._build_views(page, model_commands)
        self.host = ScreenCommandHost(
            self.session,
            self.say,
            self.show,
            self.attaching,
            model_commands,
            self.models,
            self.themes,
            parts.copying,
            parts.search,
            self.prompts,
            Drawings(self.session, self.prompts, self.say),
            self.voice,
            self.new_chat,
            self.quit,
        )

    def _build_views(
        self, page: ChatDialogs, model_commands: ModelCommands
    ) -> dict[View, Callable[[str], None]]:
        return {
            "help": lambda _: page.show_help(),
            "models": lambda _: page.pick_model(),
            "manager": lambda _: page.manage_models(),
            "find_models": self.downloads.find,
            "themes": lambda _: self.themes.pick(),
            "palette": lambda _: page.show_palette(),
            "profiles": lambda _: page.pick_profile(),
            "chats": lambda _: self.history.show(),
            "search": self.search.show,
            "context": lambda _: self.context.show(),
            "prompt": model_commands.show_prompt,
            "links": lambda _: self.links.show(),
            "branch": self.history.show_branch,
            "rename": self.history.rename,
            "edit": lambda _: self._edit_newest(),
        }

    def _is_offered(self, command: Command) -> bool:
        return command.is_offered(self.host)

    # Opening and leaving

    async def open(self, problems: Sequence[str] = ()) -> None:
        """Find a model to begin with and say which it is; then send what waits."""
        for problem in (*problems, *self.runtime.problems):
            self.say(problem, "warning")
        if self.session.client.conversation.messages:
            self._recall()
        if self.session.client.conversation.messages and self.session.ref is not None:
            await self.session.find_window()
        else:
            await self.models.find_first()
        self.queue.release()
        self.status.show_session()
        self.downloads.watch()
        self.history.watch()
        self.search.start()
        self.prompts.send_waiting()

    def quit(self) -> None:
        """Leave the program, unless something would be lost that was never mentioned."""
        if self.save_monitor.may_quit():
            self._parts.transcript.app.exit()

    # Keys and commands

    @property
    def can_stop(self) -> bool:
        """Whether there is an answer, or reading one aloud, to stop, or a queue to take back."""
        return self.prompts.can_stop or self.voice.is_reading

    def stop(self) -> None:
        """Stop the answer and reading it aloud; what was queued goes back to the editor."""
        self.voice.stop()
        self.prompts.stop()

    def suggest(self, draft: str) -> Suggestions | None:
        """Suggest how to complete a command."""
        return suggest(draft, self.commands, self.host)

    def find_files(self, query: FileQuery) -> None:
        """Offer files for a name that is being written."""
        self._dialogs.run(self._find_files(query), "files", is_exclusive=True)

    async def _find_files(self, query: FileQuery) -> None:
        self._parts.composer.offer(query, await self.files.find(query))

    async def _run_command(self, call: CommandCall | UnknownCommand) -> None:
        await run_command(call, self.host)
        self.status.show_tools()
        self.status.show_context()

    def show(self, view: View, text: str = "") -> None:
        """Open a dialog or another screen; a no-op while one is open."""
        if self._dialogs.is_free:
            self._views[view](text)

    def open_link(self, address: str) -> None:
        """Show where a link leads."""
        self.links.ask(address)

    def cycle_permissions(self) -> None:
        """Change which tools run without asking."""
        permissions = self._parts.services.approver.permissions
        self._parts.hints.flash(permissions.cycle(), FLASH_S)
        self.status.show_tools()

    def next_recent(self) -> None:
        """Change to the model used before this one."""
        self._dialogs.run(self.models.next_recent(), "command")

    def _edit_newest(self) -> None:
        if self.editing.has_question:
            self.editing.edit_newest()
        else:
            self.say("No messages yet.")

    def _show_queue(self, waiting: Sequence[str]) -> None:
        is_held = self.queue.failed and not self.queue.is_busy
        line = queue_line(waiting, self._parts.keymap.key_for, is_held=is_held)
        self._parts.hints.stand(line or self.editing.line)

    def _show_asking(self, is_open: bool) -> None:
        if self._parts.transcript.app.is_running:
            self.presenter.ask(is_open=is_open)
        else:  # the app ended over the question: there is nothing left to show an answer on
            self.presenter.forget()
            self.queue.stop()

    async def _after_answer(self) -> None:
        if not self.queue.failed:
            self.models.remember()
        self.save_monitor.look()
        await self.history.look()
        await self.models.refresh_window()
        if not self.queue.failed:
            await self.session.count_use()

    # From one chat to another

    def begin_new_chat(self) -> None:
        """Start a new chat; asks first while an answer comes."""
        self._dialogs.run(self.new_chat(), "view", is_exclusive=True)

    async def new_chat(self) -> None:
        """Start a new chat, unless an answer shall not be stopped."""
        if await self.models.may_stop("start a new chat"):
            self.start_new()

    def start_new(self) -> None:
        """Start a new chat."""
        self._leave()
        self.session.start_new()
        self.status.show_session()

    def go_to(self, client: "ChatClient", message_id: str | None = None) -> None:
        """Leave this chat for another, and show that one as it was left, or at a message."""
        self._leave()
        self.session.go_to(client)
        self._recall(message_id)
        self.status.show_session()

    def show_message(self, message_id: str) -> bool:
        """Scroll to a message of the open chat; return False if it is not on this branch."""
        position = self.runtime.position_of(self.session.client, message_id)
        block = self._blocks.get(position) if position is not None else None
        view = self._parts.transcript
        if block is None or block not in view.block_list:
            return False
        view.scroller.hold_row(view.block_list.index(block), 0)
        return True

    def _recall(self, message_id: str | None = None) -> None:
        conversation = self.session.client.conversation
        messages = conversation.messages
        self._blocks = self.presenter.recall(messages)
        if message_id is not None:
            self.show_message(message_id)
        self.queue.failed = bool(messages) and messages[-1].metadata.get("ended") == "failed"
        if line := missing_tools(conversation.tools, self.session.runtime.offered_tools()):
            self.say(line, "warning", "/tools lists the available tools.")

    def _leave(self) -> None:
        self.voice.stop()
        self.prompts.stop()  # what was queued was meant for the chat that is left
        self.editing.forget()
        self.queue.failed = False
        self._parts.services.approver.permissions.forget()
        self._parts.search.close()
        self._parts.transcript.clear()
        self.presenter.forget()
        self.status.show_turn("ready")
