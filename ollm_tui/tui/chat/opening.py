"""The chat before its runtime is there: what the user does already is kept for it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread

from ollm_tui.dataclass import dataclass, field
from ollm_tui.tui.chat.parts import queue_line
from ollm_tui.tui.widgets import FLASH_S, HintLine

if TYPE_CHECKING:
    # the controller brings the vocabulary and the commands, which the first frame does not need
    from ollm_tui.commands.host import View
    from ollm_tui.commands.parse import Suggestions
    from ollm_tui.commands.registry import Command
    from ollm_tui.runtime.compose import Runtime
    from ollm_tui.tui.chat.controller import ChatController
    from ollm_tui.tui.chat.parts import ChatParts
    from ollm_tui.tui.chat.ports import ChatAct
    from ollm_tui.tui.composer import Composer, FileQuery
    from ollm_tui.tui.transcript import BranchRequested, MarkRequested


@dataclass(slots=True)
class EarlyPrompts:
    """Keeps prompts and commands; see `Prompts`, which gets them."""

    can_retry = can_go_on = False

    composer: "Composer"
    hints: HintLine
    key_for: Callable[[str], str]
    waiting: list[str] = field(default_factory=list)

    @property
    def can_stop(self) -> bool:
        """Whether there is a queue to take back."""
        return bool(self.waiting)

    def submit(self, text: str) -> None:
        """Queue a prompt or a command."""
        self.waiting.append(text)
        self._show_queue()

    def take_waiting(self) -> str | None:
        """Take the newest prompt out of the queue, or None if none waits."""
        text = self.waiting.pop() if self.waiting else None
        self._show_queue()
        return text

    def take_all(self) -> list[str]:
        """Empty the queue and return it."""
        waiting, self.waiting = self.waiting, []
        self._show_queue()
        return waiting

    def stop(self) -> None:
        """Return the queue to the editor."""
        if waiting := self.take_all():
            self.composer.prepend("\n\n".join(waiting))

    def retry(self) -> None:
        """Do nothing: there is no question yet."""

    ask_how = retry

    def cancel_tool(self, _block: str) -> None:
        """Do nothing: there is no tool yet."""

    def _show_queue(self) -> None:
        self.hints.stand(queue_line(self.waiting, self.key_for))


@dataclass(slots=True)
class EarlyPastes:
    """Keeps pasted paths; see `Attachments`, which reads them."""

    composer: "Composer"
    _texts: list[str] | None = field(default_factory=list)

    def read_pasted(self, text: str) -> None:
        """Keep pasted paths until they can be read, or leave them as text if they never can."""
        if self._texts is not None:
            self._texts.append(text)
        else:
            self.composer.end_reading(text, "")

    def read_named(self, _text: str, _name: str) -> None:
        """No file is offered yet."""

    def hand_over(self, read: Callable[[str], None]) -> None:
        """Read what was pasted."""
        for text in self._texts or ():
            read(text)

    def fail(self) -> None:
        """Leave everything pasted as text, from now on too."""
        texts, self._texts = self._texts or (), None
        for text in texts:
            self.composer.end_reading(text, "")


class NoQuestions:
    """There is nothing to edit or to send again; see `MessageEditor`."""

    is_editing = has_question = False

    def edit(self, _block: str = "") -> bool:
        """Return False."""
        return False

    edit_newest = again = cancel = edit


class NoVoice:
    """Nothing is recorded or read aloud; see `VoiceControl`."""

    is_dictating = is_recording = False

    def cancel(self) -> None:
        """Do nothing."""


class OpeningChat:
    """Stands in for `ChatController` until the runtime is open.

    It keeps prompts, pasted paths and the last key that needs the runtime, and hands them over.
    """

    def __init__(
        self, composer: "Composer", hints: HintLine, key_for: Callable[[str], str]
    ) -> None:
        self.prompts = EarlyPrompts(composer, hints, key_for)
        self.attaching = EarlyPastes(composer)
        self.editing = NoQuestions()
        self.voice = NoVoice()
        self._composer = composer
        self._hints = hints
        self._wanted: Callable[[ChatController], None] | None = None
        self._has_failed = False

    def hand_over(self, controller: "ChatController") -> None:
        """Let the controller do what was asked for meanwhile."""
        self.attaching.hand_over(controller.attaching.read_pasted)
        if self._wanted is not None:
            self._hints.hush()
            self._wanted(controller)
        for text in self.prompts.take_all():
            controller.prompts.submit(text)

    def fail(self) -> None:
        """Take note that the runtime cannot be opened; prompts stay in the queue."""
        self._has_failed = True
        self.attaching.fail()

    @property
    def can_stop(self) -> bool:
        """Whether there is a queue to take back."""
        return self.prompts.can_stop

    def stop(self) -> None:
        """Return the queue to the editor."""
        self.prompts.stop()

    def suggest(self, _draft: str) -> "Suggestions | None":
        """Commands are not loaded yet."""
        return None

    def find_files(self, query: "FileQuery") -> None:
        """Offer no files."""
        self._composer.offer(query, None)

    def change_branch(self, _wanted: "BranchRequested") -> None:
        """There is no branch yet."""

    def change_mark(self, _wanted: "MarkRequested") -> None:
        """There is no message yet."""

    def open_link(self, _address: str) -> None:
        """There is no link yet."""

    def quit(self) -> None:
        """Leave the program: nothing can be lost yet."""
        self._composer.app.exit()

    # What needs the runtime: the last of these is done when it is there

    def show(self, view: "View") -> None:
        """Open a view later."""
        self._want(lambda controller: controller.show(view))

    def do(self, what: "ChatAct") -> None:
        """Do something later; a dictation that has not begun cannot be ended."""
        if what not in {"insert", "cancel"}:
            self._want(lambda controller: controller.do(what))

    def cycle_permissions(self) -> None:
        """Change the permissions later."""
        self._want(lambda controller: controller.cycle_permissions())

    def _want(self, action: "Callable[[ChatController], None]") -> None:
        if self._has_failed:
            self._hints.flash("This needs valid settings; see above", FLASH_S)
        else:
            self._wanted = action
            self._hints.flash("Still starting; try again in a moment", FLASH_S)


async def open_controller(parts: "ChatParts") -> "ChatController | None":
    """Wait for the runtime and make the controller; None, and a note, if it cannot be opened."""
    # bring the vocabulary and the commands, which the first frame does not wait for
    from ollm_tui.protocol.errors import AIError
    from ollm_tui.tui.chat.controller import ChatController

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


async def _commands_of_plugins(
    runtime: "Runtime",
) -> "tuple[Sequence[Command], Sequence[str]]":
    """Import the commands of installed packages, in a thread: it may take a while."""
    if not runtime.plugin_commands:
        return (), ()
    # as above
    from ollm_tui.commands import COMMANDS
    from ollm_tui.commands.registry import plugin_commands
    from ollm_tui.config.foreign import run_in_daemon_thread

    return await run_in_daemon_thread(partial(plugin_commands, COMMANDS))


async def load_painters() -> None:
    """Load what the first answer needs in a thread, so that it does not wait for it."""
    await anyio.to_thread.run_sync(_load_markdown)


def _load_markdown() -> None:
    # The import takes most of the time.
    from ollm_tui.tui.painters import load_markdown

    load_markdown()
