"""What stands behind the chat screen once the runtime is open: loaded after the first frame."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ollm_tui.commands.host import View
from ollm_tui.commands.parse import CommandCall, Suggestions, UnknownCommand, run_command, suggest
from ollm_tui.commands.registry import Command
from ollm_tui.frontend.private import PrivateChats
from ollm_tui.frontend.tool_text import missing_tools
from ollm_tui.tui.chat.chat_tree import ChatTree
from ollm_tui.tui.chat.command_host import ScreenCommandHost
from ollm_tui.tui.chat.compacting.context import ContextRemedies
from ollm_tui.tui.chat.compacting.flow import CompactionController
from ollm_tui.tui.chat.dialogs import ChatDialogs, ThemeSwitch
from ollm_tui.tui.chat.drawing import Drawings
from ollm_tui.tui.chat.history import ChatHistory, SaveMonitor
from ollm_tui.tui.chat.last_session import last_session
from ollm_tui.tui.chat.media_consent import MediaConsent
from ollm_tui.tui.chat.message_editing import MessageEditor
from ollm_tui.tui.chat.model_choice import ModelChoice
from ollm_tui.tui.chat.parts import ChatParts, queue_line
from ollm_tui.tui.chat.ports import ChatAct
from ollm_tui.tui.chat.presenter import Hints, TurnPresenter
from ollm_tui.tui.chat.prompting.prompt_queue import AnswerListeners, PromptQueue
from ollm_tui.tui.chat.prompting.writing import WritingTools
from ollm_tui.tui.chat.prompts import Prompts
from ollm_tui.tui.chat.reading import ReadingTools
from ollm_tui.tui.chat.servers import ChatServers
from ollm_tui.tui.chat.shown_messages import ShownMessages
from ollm_tui.tui.chat.status.live_line import KEEP_STATS, LiveLine
from ollm_tui.tui.chat.status.status_presenter import StatusPresenter
from ollm_tui.tui.chat.tool_control import tool_times
from ollm_tui.tui.chats import ChatSearchController, TitleUpdater
from ollm_tui.tui.composer import Attachments, FileQuery, FileSuggestions
from ollm_tui.tui.downloads import ChatDownloads
from ollm_tui.tui.links import Links
from ollm_tui.tui.models import ModelCommands, ModelOperations
from ollm_tui.tui.settings import SettingsPage
from ollm_tui.tui.voice import voice_on_screen
from ollm_tui.tui.widgets import FLASH_S

if TYPE_CHECKING:
    from ollm_tui.chat.client import ChatClient
    from ollm_tui.runtime.compose import Runtime


class ChatController:
    """Builds what a chat needs on the parts of its screen, and changes from chat to chat."""

    def __init__(
        self, parts: ChatParts, runtime: "Runtime", more_commands: Sequence[Command] = ()
    ) -> None:
        self._parts = parts
        self._dialogs = parts.dialogs
        self.runtime = runtime
        self.servers = ChatServers(runtime)
        self.commands = self.servers.commands(more_commands)
        self._build_answers()
        self._build_prompts()
        self._build_features()
        self._build_commands()
        parts.services.approver.attach(parts.transcript.app, self._show_asking)

    def _build_answers(self) -> None:
        parts, key_for = self._parts, self._parts.keymap.key_for
        approver = parts.services.approver
        keep_prompts = parts.composer.keep_prompts
        self.session = parts.services.session(self.runtime, keep_prompts)
        self.status = StatusPresenter(
            parts.header, parts.bar, parts.key_hints, self.session, approver
        )
        self.presenter = TurnPresenter(
            parts.transcript, self.status, hints=Hints.of(key_for), began=approver.answered_at
        )
        self.say = self.presenter.note
        client, pictures = (lambda: self.session.client), parts.composer.pictures
        self.queue = PromptQueue(self.presenter, self._show_queue, client, pictures.content)
        self.voice = voice_on_screen(
            self.runtime, parts.composer, parts.hints, self._dialogs, parts.keymap, self.say
        )
        show = self.status.show_session
        self.titles = TitleUpdater(self.runtime.titles, client, self._dialogs, show)
        reading = parts.transcript.reading_mode
        self.live = LiveLine(self.session, self.status, self._dialogs, reading)
        times = tool_times(self.presenter, self.status, self._dialogs)
        self.queue.listener = AnswerListeners((self.voice, self.live, self.titles, times))
        self.presenter.more_stats = self.live.stats
        self.queue.hold()  # until the chat is open
        self.editing = MessageEditor(
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
            MediaConsent(self.session, parts.composer.pictures, self._dialogs),
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
        self.messages = ShownMessages(self.session, self.presenter, parts.transcript)
        self.save_monitor = SaveMonitor(self.runtime.chats, self.say)
        self.history = ChatHistory(
            self.session,
            dialogs,
            self.say,
            self.models.may_stop,
            self.go_to,
            self.messages.show,
            self.status.show_session,
            lambda: self.tree.refresh_soon(),
            lambda: self.queue.is_busy,
            keymap,
            lambda words: self.search.show(words),
            last_session(self.session, parts, self.say),
        )
        self.reading = ReadingTools(self.session, self.messages, parts, self.say)
        self.change_mark = self.reading.change_mark
        around = self.history, self.messages, self.editing, parts.hints, keymap.key_for
        self.tree = ChatTree(*around, self.start_new, self.reading.refresh)
        self.change_branch = self.tree.act
        self.search = ChatSearchController(
            self.runtime, dialogs, self.say, self.history.open, lambda: self.queue.is_busy
        )
        self.compacting = CompactionController(
            self.session, self.queue, dialogs, self.say, self._show_anew, self.prompts.retry
        )
        self.context = ContextRemedies(
            self.session, self.status, dialogs, self.say, self.begin_new_chat, self.compacting
        )
        self.links = Links(
            parts.transcript, parts.hints, dialogs, parts.copying, parts.services.opener, self.say
        )
        self.model_operations = ModelOperations(
            self.runtime, self.models, dialogs, keymap, parts.services.copies_dir
        )
        self.downloads = ChatDownloads(
            self.runtime, self.models, dialogs, keymap, self.status.show_downloads
        )
        self.private = PrivateChats(self.session, self.say, self.models.may_stop, self.start_new)
        self.themes = ThemeSwitch(parts.transcript.app, parts.services, dialogs, self.say)
        self.attaching = Attachments(parts.composer, parts.hints, dialogs, self.servers.offers)
        self.writing = WritingTools(parts, self.session, self.queue, self.status, self.say)

    def _build_commands(self) -> None:
        parts, dialogs, keymap = self._parts, self._dialogs, self._parts.keymap
        self.files = FileSuggestions(self.suggest, offers=self.servers.offers)
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
            lambda: self.host,
        )
        model_commands = ModelCommands(
            self.runtime, self.models, dialogs, keymap, self.model_operations
        )
        self._views = self._build_views(page, model_commands)
        self._acts: Mapping[ChatAct, Callable[[], object]] = {
            "new_chat": self.begin_new_chat,
            "next_recent": lambda: dialogs.run(self.models.next_recent(), "command"),
            "dictate": self.voice.dictate,
            "insert": self.voice.insert,
            "cancel": self.voice.cancel,
            "find": parts.search.find,
            **self.writing.acts(self.attaching),
            **self.reading.acts(),
        }
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
            Drawings(self.session, self.prompts, self.say, parts.services),
            self.voice,
            self.writing.snippets,
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
            "settings": lambda _: SettingsPage(self.runtime.settings, self._parts).show(),
            "palette": lambda _: page.show_palette(),
            "profiles": lambda _: page.pick_profile(),
            "chats": self.history.show,
            "search": self.search.show,
            "context": lambda _: self.context.show(),
            "compact": self.compacting.start,
            "stats": lambda _: self.say(self.live.toggle_stats(), hint=KEEP_STATS),
            "prompt": model_commands.show_prompt,
            "links": lambda _: self.links.show(),
            "branch": self.history.show_branch,
            "tree": lambda _: self.tree.show(),
            "fork": lambda _: self.tree.fork(),
            "undelete": lambda _: self.tree.undelete(),
            "rename": self.history.rename,
            "private": lambda word: self._dialogs.run(self.private.switch(word), "view"),
            "edit": lambda _: self.editing.edit_newest_or(self.say),
            **self.writing.views(),
            **self.reading.views(),
        }

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
        await self.private.begin()
        self._dialogs.run(self.host.instructions.offer(self.say), "instructions")
        self.writing.drafts.start()
        self.search.start()
        self.prompts.send_waiting()
        services = self._parts.services
        self.servers.start(self.session, services, self.say, self.status.show_tools)

    def quit(self) -> None:
        """Leave the program, unless something would be lost that was never mentioned."""
        if self.save_monitor.may_quit():
            self._parts.transcript.app.exit()

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
        self._parts.hints.flash(self._parts.services.approver.permissions.cycle(), FLASH_S)
        self.status.show_tools()

    def do(self, what: ChatAct) -> None:
        """Do what a key asks for."""
        self._acts[what]()

    def _show_queue(self, waiting: Sequence[str]) -> None:
        is_held = self.queue.failed and not self.queue.is_busy
        line = queue_line(waiting, self._parts.keymap.key_for, is_held=is_held)
        self._parts.hints.stand(line or self.editing.line)

    def _show_asking(self, is_open: bool) -> None:
        if self._parts.transcript.app.is_running:
            if self.queue.is_busy:  # a server may ask at any time
                self.presenter.ask(is_open=is_open)
        else:  # the app ended over the question: there is nothing left to show an answer on
            self.presenter.forget()
            self.queue.stop()

    async def _after_answer(self) -> None:
        if not self.queue.failed:
            self.models.remember()
        self.save_monitor.look()
        await self.history.look()
        await self.tree.refresh()
        await self.models.refresh_window()
        if not self.queue.failed:
            await self.session.count_use()
        self.titles.make_soon()

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
        self.private.show_notes()
        self.status.show_session()

    def go_to(self, client: "ChatClient", message_id: str | None = None) -> None:
        """Leave this chat for another, and show that one as it was left, or at a message."""
        self._leave()
        self.writing.drafts.change(lambda: self.session.go_to(client))
        self._recall(message_id)
        self.status.show_session()

    def _recall(self, message_id: str | None = None) -> None:
        conversation = self.session.client.conversation
        messages = conversation.messages
        self.messages.recall()
        self.tree.refresh_soon()
        if message_id is not None:
            self.messages.show(message_id)
        self.queue.failed = bool(messages) and messages[-1].metadata.get("ended") == "failed"
        if line := missing_tools(conversation.tools, self.session.runtime.offered_tools):
            self.say(line, "warning", "/tools lists the available tools.")

    def _show_anew(self) -> None:
        """Show the messages of this chat anew, after some took the place of others."""
        self._parts.search.close()
        self._parts.transcript.clear()
        self._recall()
        self.status.show_session()

    def _leave(self) -> None:
        self.voice.stop()
        self.titles.stop()
        self.prompts.stop()  # what was queued was meant for the chat that is left
        self.editing.forget()
        self.queue.failed = False
        self._parts.services.approver.permissions.forget()
        self._parts.search.close()
        self._parts.transcript.clear()
        self.presenter.forget()
        self.status.show_turn("ready")
