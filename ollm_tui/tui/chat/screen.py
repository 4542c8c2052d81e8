"""The chat screen: input, transcript, status, and the one worker that answers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import anyio.to_thread
from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import BindingType

from ollm_tui.tui.chat.header import ChatHeader
from ollm_tui.tui.chat.hint_line import HintLine, queue_line
from ollm_tui.tui.chat.prompt import Prompt
from ollm_tui.tui.chat.status_bar import StatusBar
from ollm_tui.tui.chat.typing_priority import TypingPriority
from ollm_tui.tui.composer.attachment_lines import AttachmentLines
from ollm_tui.tui.composer.completions import Completions
from ollm_tui.tui.composer.composer import Composer
from ollm_tui.tui.composer.mention import FileQuery
from ollm_tui.tui.composer.prompt_history import PromptHistory
from ollm_tui.tui.keys.double_escape import AGAIN_WITHIN_S, DoubleEscape
from ollm_tui.tui.keys.keymap import Keymap, with_overrides
from ollm_tui.tui.services import Services
from ollm_tui.tui.transcript.navigation import TranscriptNavigation
from ollm_tui.tui.transcript.navigation_keys import FLASH_S
from ollm_tui.tui.transcript.reader import NavigableTranscript
from ollm_tui.tui.transcript.reader_messages import AgainWanted
from ollm_tui.tui.transcript.search.keys import Searching
from ollm_tui.tui.widgets.messages import InputReady
from ollm_tui.tui.widgets.selection import TranscriptSelection

if TYPE_CHECKING:
    from ollm_tui.commands.complete import Suggestions
    from ollm_tui.commands.host import View
    from ollm_tui.commands.parse import CommandCall, UnknownCommand
    from ollm_tui.tui.chat.controller import ChatController

SECOND_FRAME_S = 0.1
"""What was typed during the start is drawn before loading goes on."""
QUIT_WITHIN_S = 1.5
NARROW = 60
PLACEHOLDER = "Ask anything. / commands · @ files"


def _desk_class() -> "type[ChatController]":
    # brings the vocabulary and the commands, which the first frame does not wait for
    from ollm_tui.tui.chat.controller import ChatController

    return ChatController


class ChatScreen(TranscriptNavigation, Searching, TypingPriority, TranscriptSelection[None]):
    """Nearly always the only screen a person sees."""

    DEFAULT_CSS = """
    ChatScreen {
        & > Prompt { margin: 0 1; }
        &:nocolor > .screen--selection { text-style: reverse; }
        & > Transcript { width: 100%; }  /* a share would be less by the margin of the prompt */
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*Keymap().bindings("chat", "find")]

    header = getters.query_one(ChatHeader)
    completions = getters.query_one(Completions)

    def __init__(self, services: Services, problems: tuple[str, ...] = ()) -> None:
        super().__init__(with_overrides(services.keymap), services.copies)
        self.services = services
        self.problems = problems
        self.escapes = DoubleEscape()
        self.controller: ChatController | None = None
        self._early: list[str] = []
        self._early_pastes: list[str] = []
        self._wanted_early = ""
        """The action of a key that was pressed before there was anyone to do it."""
        self._is_opening = True

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield ChatHeader()
        yield self.make_reader(
            edit=self._edit_message, streams_thinking=self.services.show_thinking
        )
        yield self.make_search_bar()
        yield HintLine()
        yield AttachmentLines()
        yield Completions()
        yield Prompt(
            placeholder=PLACEHOLDER,
            suggest=self._suggest,
            letters=self.keymap.letters(),
            history=PromptHistory(self.services.history_file),
            take_waiting=self._take_waiting,
        )
        yield StatusBar()

    # Opening: the first frame is drawn before anything of the runtime is loaded

    def on_mount(self) -> None:
        """Take keys at once; open the runtime behind the first frame."""
        self.set_focus(self.composer)
        self.post_message(InputReady())
        self.show_keys("ready")
        self.call_after_refresh(self.set_timer, SECOND_FRAME_S, self._open)

    @work(group="opening")
    async def _open(self) -> None:
        make_desk = await anyio.to_thread.run_sync(_desk_class)
        self.controller = controller = await make_desk.beside(self)
        self._is_opening = False
        pastes, self._early_pastes = self._early_pastes, []
        for text in pastes:
            self._read_pasted(text)
        if controller is None:
            return
        if self._wanted_early:
            self.hints.hush()
            self.run_worker(self.run_action(self._wanted_early), group="view")
        early, self._early = self._early, []
        for text in early:
            self.take(text)
        await controller.open()
        self._answer_queue()

    # What the person submits

    def _suggest(self, draft: str) -> "Suggestions | None":
        return self.controller.suggest(draft) if self.controller is not None else None

    @on(Composer.MenuChanged)
    def _show_menu(self, event: Composer.MenuChanged) -> None:
        self.completions.show(event.menu)

    @on(Completions.Chosen)
    def _take_suggestion(self, event: Completions.Chosen) -> None:
        self.composer.take(event.index, go_on=True)

    @on(Composer.PathsPasted)
    def _paths_pasted(self, event: Composer.PathsPasted) -> None:
        if self.controller is None and self._is_opening:
            self._early_pastes.append(event.text)
        else:
            self._read_pasted(event.text)

    @work(group="attach")
    async def _read_pasted(self, text: str) -> None:
        if self.controller is not None:
            await self.controller.attaching.read_pasted(text)
        else:
            self.composer.end_reading(text, "")

    @on(Composer.FileWanted)
    def _file_wanted(self, event: Composer.FileWanted) -> None:
        self._find_files(event.query)

    @work(exclusive=True, group="files")
    async def _find_files(self, query: FileQuery) -> None:
        found = await self.controller.files.find(query) if self.controller is not None else None
        self.composer.offer(query, found)

    @on(Composer.FileNamed)
    def _file_named(self, event: Composer.FileNamed) -> None:
        self._read_named(event.text, event.name)

    @work(group="attach")
    async def _read_named(self, text: str, name: str) -> None:
        if self.controller is not None:
            await self.controller.attaching.read_named(text, name)

    @on(Composer.PicturesChanged)
    def _show_pictures(self, event: Composer.PicturesChanged) -> None:
        self.query_one(AttachmentLines).show(event.pictures)

    @on(Composer.Submitted)
    def _submitted(self, event: Composer.Submitted) -> None:
        self.take(event.text)

    def take(self, text: str) -> None:
        """Run a command, send a prompt, or let it wait."""
        controller = self.controller
        if controller is None:
            self._early.append(text)
            self.show_queue(self._early)
            return
        wanted = controller.read(text)
        if not isinstance(wanted, str):
            self._run_command(wanted)
            return
        wanted = self.composer.pictures.take_beside(wanted)
        self.composer.look_at_pictures()
        if controller.is_busy and controller.rewriting.is_editing:
            self.composer.prepend(wanted)
            self.hints.flash("An answer is still in progress", FLASH_S)
        elif controller.is_busy:
            controller.turns.enqueue(wanted)
        else:
            self.transcript.follow()
            self._answer(wanted)

    def ask_again(self) -> None:
        """Ask the newest question once more."""
        if self.controller is None or self.controller.is_busy:
            self.hints.flash("An answer is still in progress", FLASH_S)
        elif not self.controller.session.was_asked:
            self.hints.flash("No messages yet", FLASH_S)
        else:
            self.transcript.follow()
            self._answer(None)

    @work(group="command")
    async def _run_command(self, call: "CommandCall | UnknownCommand") -> None:
        if self.controller is not None:
            await self.controller.run_command(call)

    @work(exclusive=True, group="turn")
    async def _answer(self, prompt: str | None) -> None:
        if self.controller is not None:
            await self.controller.answer(prompt)

    @work(exclusive=True, group="turn")
    async def _answer_queue(self) -> None:
        if self.controller is not None:
            await self.controller.answer_queue()

    def show_queue(self, waiting: Sequence[str]) -> None:
        """Say how many prompts wait, and which."""
        controller = self.controller
        editing = controller.rewriting.line if controller is not None else ""
        is_held = controller is not None and controller.turns.failed and not controller.is_busy
        self.hints.stand(queue_line(waiting, self.keymap.key_for, is_held=is_held) or editing)

    def _take_waiting(self) -> str | None:
        if self.controller is not None:
            return self.controller.turns.take_newest()
        text = self._early.pop() if self._early else None
        self.show_queue(self._early)
        return text

    @on(NavigableTranscript.LinkClicked)
    def _ask_for_link(self, event: NavigableTranscript.LinkClicked) -> None:
        if self.controller is not None:
            self.controller.views.links.ask(event.address)

    # Keys

    @property
    def _can_stop(self) -> bool:
        return bool(self._early) or (self.controller is not None and self.controller.turns.can_stop)

    @property
    def _can_go_back(self) -> bool:
        is_editing = self.controller is not None and self.controller.rewriting.is_editing
        return self.finder is None and (is_editing or not self.composer.text)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave keys to the input where they mean nothing here."""
        if self.yields(action) and not (action == "stop" and self._can_stop):
            return False
        match action:
            case "stop" | "escape":
                # an open list of suggestions is closed first, and so is a search
                can_act = self._can_stop if action == "stop" else self._can_go_back
                return can_act and not (self.composer.has_menu or self.is_searching)
            case "retry_error" | "go_on":
                return self._offers(action)
            case "toggle_tools":
                # the same key unfolds a pasted text
                return not self.composer.check_action("expand_paste", ())
            case "find_close":
                return self.finder is not None and (self.is_searching or not self.composer.has_menu)
            case _:
                return super().check_action(action, parameters)

    def _offers(self, action: Literal["retry_error", "go_on"]) -> bool:
        """Whether the newest answer ended so that this makes sense."""
        controller = self.controller
        if controller is None:
            return False
        can_retry = (
            controller.turns.failed and not controller.turns.refused and not controller.is_busy
        )
        return controller.turns.can_go_on if action == "go_on" else can_retry

    def action_stop(self) -> None:
        """Stop the answer; what was queued goes back to the editor."""
        self.escapes.stopped()
        back = "\n\n".join(self._early)
        self._early.clear()
        if self.controller is not None:
            back = self.controller.turns.take_back()
            self.controller.turns.stop()
        self.show_queue(())
        if back:
            self.composer.prepend(back)

    def action_escape(self) -> None:
        """Give an edit up; twice: edit the newest question."""
        rewriting = self.controller.rewriting if self.controller is not None else None
        if rewriting is None or self._can_stop:
            return
        if rewriting.is_editing:
            rewriting.cancel()
        elif rewriting.has_question and (is_second := self.escapes.is_second()) is not None:
            if is_second:
                rewriting.edit_newest()
            else:
                key = self.keymap.key_for("chat.back")
                self.hints.flash(f"Press {key} again to edit your last message", AGAIN_WITHIN_S)

    def _edit_message(self, block_id: str) -> bool:
        return self.controller is not None and self.controller.rewriting.edit(block_id)

    @on(AgainWanted)
    def _ask_question_again(self, event: AgainWanted) -> None:
        if self.controller is not None:
            self.controller.rewriting.again(event.block_id)

    def action_interrupt(self) -> None:
        """Stop, else copy, else leave what is going on, else clear the input, else quit."""
        if self._can_stop:
            self.action_stop()
        elif self.is_searching and not self.selections:
            self.action_find_close()
        elif self.copy_selected() or self.leave_messages():
            return
        elif self.controller is not None and self.controller.rewriting.is_editing:
            self.controller.rewriting.cancel()
        elif not self.composer.stash() and self._is_sure_to_quit("chat.interrupt"):
            self.quit()

    def action_leave(self) -> None:
        """Quit; while an answer comes, only when pressed twice."""
        if not self._can_stop or self._is_sure_to_quit("chat.leave", "An answer is in progress. "):
            self.quit()

    def _is_sure_to_quit(self, key_id: str, why: str = "") -> bool:
        """Whether a key is pressed a second time; after the first the question is shown."""
        question = f"{why}Press {self.keymap.key_for(key_id)} again to quit"
        is_sure = self.escapes.is_sure(question, QUIT_WITHIN_S)
        if not is_sure:
            self.hints.flash(question, QUIT_WITHIN_S)
        return is_sure

    def quit(self) -> None:
        """Leave the program, unless something would be lost that nobody was told of."""
        if self.controller is None or not self.controller.unsaved.holds_back():
            self.app.exit()

    def action_retry_error(self) -> None:
        """Ask again what ended in an error."""
        self.ask_again()

    @work(exclusive=True, group="turn")
    async def action_go_on(self) -> None:
        """Let the model go on where its turns ran out."""
        if self.controller is not None:
            self.transcript.follow()
            await self.controller.go_on()

    def action_cycle_permissions(self) -> None:
        """Go to the next way of asking before tools run."""
        if self.controller is None:
            self._want("cycle_permissions")
        else:
            self.hints.flash(self.services.approver.permissions.cycle(), FLASH_S)
            self.controller.status.show_tools()

    def action_new_chat(self) -> None:
        """Start a new chat; asks while an answer comes."""
        if self.controller is None:
            self._want("new_chat")
        else:
            self.run_worker(self.controller.views.new_chat(), group="view", exclusive=True)

    def action_show(self, view: "View") -> None:
        """Open a dialog."""
        if self.controller is None:
            self._want(f"show({view!r})")
        else:
            self.controller.views.show(view)

    def _want(self, action: str) -> None:
        """Keep what a key asks for until it can be done, and say that this is not yet."""
        if self._is_opening:
            self._wanted_early = action
            self.hints.flash("Still starting; try again in a moment", FLASH_S)
        else:
            self.hints.flash("This needs valid settings; see above", FLASH_S)

    @work(group="command")
    async def action_next_recent(self) -> None:
        """Go to the model used before this one."""
        if self.controller is None:
            self._want("next_recent")
        else:
            await self.controller.next_recent()
