"""The chat screen: it lays out its widgets, opens the runtime, and passes keys on."""

from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, ClassVar, Literal

import anyio.to_thread
from textual import events, getters, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import TextArea

from ollm_tui.frontend.prompt_history import PromptHistory
from ollm_tui.tui.chat.opening import OpeningChat, load_painters, open_controller
from ollm_tui.tui.chat.parts import ChatParts, KeyHints, Prompt, SelectionCopier
from ollm_tui.tui.chat.status.status_bar import StatusBar
from ollm_tui.tui.composer import AttachmentLines, Completions, Composer
from ollm_tui.tui.dialogs import Dialogs
from ollm_tui.tui.keys import AGAIN_WITHIN_S, DoubleEscape, Keymap, with_overrides
from ollm_tui.tui.services import Services
from ollm_tui.tui.terminal import ClipboardCopier
from ollm_tui.tui.transcript import (
    BranchRequested,
    CancelRequested,
    CopyRequested,
    CursorMoved,
    KeyRefused,
    LinkClicked,
    MarkRequested,
    NavigableTranscript,
    RetryRequested,
    SearchBar,
    SearchControl,
    SelectionCopyRequested,
    TranscriptSelection,
    Typed,
)
from ollm_tui.tui.widgets import FLASH_S, ChatHeader, HintLine, InputReady

if TYPE_CHECKING:
    from ollm_tui.commands.host import View
    from ollm_tui.tui.chat.controller import ChatController
    from ollm_tui.tui.chat.ports import ChatAct

SECOND_FRAME_S = 0.04
"""What was typed during the start is drawn before loading goes on."""
QUIT_WITHIN_S = 1.5
PLACEHOLDER = "Ask anything. / commands · @ files · ! shell"


class ChatScreen(TranscriptSelection[None]):
    """Nearly always the only screen the user sees."""

    DEFAULT_CSS = """
    ChatScreen {
        & > Prompt { margin: 0 1; }
        &:nocolor > .screen--selection { text-style: reverse; }
        & > Transcript { width: 100%; }  /* a share would be less by the margin of the prompt */
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*Keymap().bindings("dictation", "chat", "find")]

    AUTO_FOCUS = "Prompt"
    completions = getters.query_one(Completions)

    def __init__(self, services: Services, problems: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.services = services
        self.problems = problems
        self.keymap = keymap = with_overrides(services.keymap)
        self.header, self.hints, self.status = ChatHeader(), HintLine(), StatusBar()
        self.composer = Prompt(
            placeholder=PLACEHOLDER,
            suggest=lambda draft: self.controller.suggest(draft),
            letters=keymap.letters(),
            history=PromptHistory(services.history_file),
            take_waiting=lambda: self.controller.prompts.take_waiting(),
        )
        self.transcript = NavigableTranscript(
            keys={"cursor": keymap.actions("cursor"), "caret": keymap.actions("caret")},
            leave=self._type_on,
            edit=lambda block: self.controller.editing.edit(block),
            streams_thinking=services.show_thinking,
            reading=services.reading,
        )
        self.search_bar = SearchBar(keymap.hints_of("find.older", "find.newer", "find.close"))
        self.search = SearchControl(self.transcript, self.search_bar)
        self.key_hints = KeyHints(self.status, keymap)
        self.copying = ClipboardCopier(self, services.copies_dir)
        self.copier = SelectionCopier(self.transcript, self.composer, self.copying)
        self.escapes = DoubleEscape()
        self._copies = count(1)
        self._opening = OpeningChat(self.composer, self.hints, keymap.key_for)
        self.controller: ChatController | OpeningChat = self._opening
        self._has_typed = False

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield self.header
        yield self.transcript
        yield self.search_bar
        yield self.hints
        yield AttachmentLines()
        yield Completions()
        yield self.composer
        yield self.status

    # Opening: the first frame is drawn before anything of the runtime is loaded

    def on_mount(self) -> None:
        """Take keys at once; open the runtime behind the first frame."""
        self.set_focus(self.composer)
        self.post_message(InputReady())
        self.key_hints.show("ready")
        self.call_after_refresh(self.set_timer, SECOND_FRAME_S, self._open)

    @work(group="opening")
    async def _open(self) -> None:
        await anyio.to_thread.run_sync(import_module, "ollm_tui.tui.chat.controller")
        controller = await open_controller(
            ChatParts(
                self.header,
                self.transcript,
                self.hints,
                self.composer,
                self.status,
                self.key_hints,
                self.keymap,
                self.search,
                self.copying,
                Dialogs(self),
                self.services,
            )
        )
        if controller is None:
            self._opening.fail()
            return
        self.controller = controller
        self._opening.hand_over(controller)
        await controller.open(self.problems)
        await load_painters()

    # What is typed is drawn at once, before more of an answer is: Textual draws at the next beat
    # of a clock, and one that is late skips a beat, so in a busy moment a letter waited 33 ms.

    @on(TextArea.Changed)
    def _make_way(self) -> None:
        self._has_typed = True
        self.transcript.painting.yield_to_input()

    def on_idle(self, _event: events.Idle) -> None:
        """Draw what was typed as soon as its widget has changed."""
        if self._has_typed and any(isinstance(one, TextArea) for one in self._dirty_widgets):
            self._has_typed = False
            self._on_timer_update()

    # What the composer asks for

    @on(Composer.MenuChanged)
    def _show_menu(self, event: Composer.MenuChanged) -> None:
        self.completions.show(event.menu)

    @on(Completions.Chosen)
    def _take_suggestion(self, event: Completions.Chosen) -> None:
        self.composer.take(event.index, go_on=True)

    @on(Composer.PathsPasted)
    def _read_pasted(self, event: Composer.PathsPasted) -> None:
        self.controller.attaching.read_pasted(event.text)

    @on(Composer.FileWanted)
    def _find_files(self, event: Composer.FileWanted) -> None:
        self.controller.find_files(event.query)

    @on(Composer.FileNamed)
    def _read_named(self, event: Composer.FileNamed) -> None:
        self.controller.attaching.read_named(event.text, event.name)

    @on(Composer.PicturesChanged)
    def _show_pictures(self, event: Composer.PicturesChanged) -> None:
        self.query_one(AttachmentLines).show(event.pictures)

    @on(Composer.Submitted)
    def _submit(self, event: Composer.Submitted) -> None:
        self.transcript.cursor_mode.turn_off()
        self.controller.prompts.submit(event.text)

    # What the transcript asks for

    def _type_on(self, event: Typed | None) -> None:
        self.set_focus(self.composer)
        if event is not None:
            self.composer.post_message(event)

    @on(LinkClicked)
    def _ask_for_link(self, event: LinkClicked) -> None:
        self.controller.open_link(event.address)

    @on(RetryRequested)
    def _ask_again(self, event: RetryRequested) -> None:
        self.controller.editing.again(event.block_id)

    @on(BranchRequested)
    def _change_branch(self, event: BranchRequested) -> None:
        self.controller.change_branch(event)

    @on(MarkRequested)
    def _change_mark(self, event: MarkRequested) -> None:
        self.controller.change_mark(event)

    @on(CancelRequested)
    def _cancel_tool(self, event: CancelRequested) -> None:
        self.controller.prompts.cancel_tool(event.block_id)

    @on(CursorMoved)
    def _name_keys(self, event: CursorMoved) -> None:
        self.key_hints.show_mode(event.hints)

    @on(CopyRequested)
    def _copy(self, event: CopyRequested) -> None:
        self.copying.text(event.text)

    @on(SelectionCopyRequested)
    def _copy_selection(self, event: SelectionCopyRequested) -> None:
        self.copier.copy_rows(event.selection)

    @on(KeyRefused)
    def _show_why(self, event: KeyRefused) -> None:
        self.hints.flash(event.reason, FLASH_S)

    @on(SearchBar.Changed)
    def _seek(self, event: SearchBar.Changed) -> None:
        self.search.seek(event.text)

    def say_of_copy(self, words: str, *, is_error: bool = False) -> None:
        """Show where a copy was saved, in the transcript, so that it stays."""
        kind: Literal["error", "info"] = "error" if is_error else "info"
        self.transcript.add_note(f"copy-{next(self._copies)}", words, kind)

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave keys to the input where they mean nothing here."""
        prompts = self.controller.prompts
        if self._yields(action) and not (action == "stop" and self.controller.can_stop):
            return False
        has_menu, has_search = self.composer.has_menu, self.search.has_focus
        match action:
            case "stop":
                # an open list of suggestions is closed first, and so is a search
                is_on = self.controller.can_stop and not (has_menu or has_search)
            case "do" if parameters[0] in {"insert", "cancel"}:
                voice = self.controller.voice
                is_on = voice.is_recording or (parameters[0] == "cancel" and voice.is_dictating)
                is_on = is_on and not has_menu
            case "escape":
                is_on = self._can_go_back and not (has_menu or has_search)
            case "retry_error":
                is_on = prompts.can_retry
            case "go_on":
                is_on = prompts.can_go_on
            case "fold" if parameters == ("tools",):
                # the same key unfolds a pasted text
                is_on = not self.composer.check_action("expand_paste", ())
            case "find_step":
                is_on = has_search
            case "find_close":
                is_on = self.search.is_open and (has_search or not has_menu)
            case _:
                return super().check_action(action, parameters)
        return is_on

    def _yields(self, action: str) -> bool:
        """Whether the key of an action means something else in the transcript now."""
        view, mode = self.transcript, self.transcript.mode
        return mode is not None and self.focused is view and action in self.keymap.yielded_to(mode)

    @property
    def _can_go_back(self) -> bool:
        is_editing = self.controller.editing.is_editing
        return not self.search.is_open and (is_editing or not self.composer.text)

    def action_stop(self) -> None:
        """Stop the answer and reading it aloud; what was queued goes back to the editor."""
        self.escapes.stopped()
        self.controller.stop()

    def action_escape(self) -> None:
        """Cancel an edit; twice: edit the newest question."""
        editing = self.controller.editing
        if self.controller.can_stop:
            return
        if self.transcript.cursor_mode.is_pointing:
            self.transcript.cursor_mode.turn_off()
            return
        if editing.is_editing:
            editing.cancel()
        elif editing.has_question and (is_second := self.escapes.is_second()) is not None:
            if is_second:
                editing.edit_newest()
            else:
                key = self.keymap.key_for("chat.back")
                self.hints.flash(f"Press {key} again to edit your last message", AGAIN_WITHIN_S)

    def action_interrupt(self) -> None:
        """Stop, else copy, else leave what is going on, else clear the input, else quit."""
        if self.controller.voice.is_dictating:
            self.controller.voice.cancel()
        elif self.controller.can_stop:
            self.action_stop()
        elif self.search.has_focus and not self.selections:
            self.search.close()
        elif self.copier.copy_selected():
            return
        elif self.transcript.mode is not None:
            self.transcript.cursor_mode.action_leave()
        elif self.controller.editing.is_editing:
            self.controller.editing.cancel()
        elif not self.composer.stash() and self._is_sure_to_quit("chat.interrupt"):
            self.controller.quit()

    def action_leave(self) -> None:
        """Quit; while an answer comes, only when pressed twice."""
        can_stop = self.controller.prompts.can_stop
        if not can_stop or self._is_sure_to_quit("chat.leave", "An answer is in progress. "):
            self.controller.quit()

    def _is_sure_to_quit(self, key_id: str, why: str = "") -> bool:
        """Whether a key is pressed a second time; after the first the question is shown."""
        question = f"{why}Press {self.keymap.key_for(key_id)} again to quit"
        is_sure = self.escapes.is_sure(question, QUIT_WITHIN_S)
        if not is_sure:
            self.hints.flash(question, QUIT_WITHIN_S)
        return is_sure

    def action_retry_error(self) -> None:
        """Send again what ended in an error."""
        self.controller.prompts.retry()

    def action_go_on(self) -> None:
        """Ask what happens after the limit of turns."""
        self.controller.prompts.ask_how()

    def action_show(self, view: "View") -> None:
        """Open a dialog or another screen."""
        self.controller.show(view)

    def action_do(self, what: "ChatAct") -> None:
        """Search in the chat, or do something that needs the runtime."""
        if what == "find":
            self.search.find()
        else:
            self.controller.do(what)

    def action_cycle_permissions(self) -> None:
        """Change which tools run without asking."""
        self.controller.cycle_permissions()

    def action_go_through(self, direction: int) -> None:
        """Put the cursor on the newest message, or move it."""
        if self.transcript.cursor_mode.go_through(direction):
            self.set_focus(self.transcript)
        else:
            self.hints.flash("No messages yet", FLASH_S)

    def action_fold(self, what: Literal["thinking", "tools"]) -> None:
        """Show or fold all thinking, or the output of all tools."""
        folding = self.transcript.folding
        if what == "thinking":
            folding.toggle_thinking()
            shown = "is shown" if folding.show_thinking else "folds when the answer starts"
            self.hints.flash(f"Thinking {shown} · /settings keeps that", FLASH_S)
        elif not folding.toggle_tools():
            self.hints.flash("No tool calls yet", FLASH_S)

    def action_scroll_page(self, direction: int) -> None:
        """Scroll by a page, with two rows of it kept."""
        self.action_scroll_line(direction * max(1, self.transcript.size.height - 2))

    def action_scroll_line(self, lines: int) -> None:
        """Scroll by lines."""
        self.transcript.scroll_relative(y=lines, animate=False)

    def action_scroll_edge(self, direction: int) -> None:
        """Scroll to the top, or to the end to follow it."""
        view = self.transcript
        (view.scroll_home if direction < 0 else view.scroll_end)(animate=False)

    def action_copy_text(self) -> None:
        """Copy as Textual's own key for it would, without holding up the screen."""
        self.copier.copy_selected()

    def action_find_step(self, direction: Literal[-1, 1]) -> None:
        """Go to the match before or after this one."""
        self.search.step(direction)

    def action_find_close(self) -> None:
        """End the search where it is."""
        self.search.close()
