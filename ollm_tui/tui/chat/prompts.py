"""What the user submits: commands run, prompts sent or queued, and what cannot be sent returned."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.commands.parse import (
    CommandCall,
    ShellLine,
    UnknownCommand,
    as_typed,
    parse,
    prompt_text,
    shell_line,
)
from ollm_tui.commands.registry import Command
from ollm_tui.dataclass import dataclass
from ollm_tui.frontend.session import ChatSession
from ollm_tui.protocol.blocks import normalize_content
from ollm_tui.tui.chat.media_consent import MediaConsent
from ollm_tui.tui.chat.message_editing import MessageEditor
from ollm_tui.tui.chat.parts import Prompt
from ollm_tui.tui.chat.prompting.prompt_queue import PromptQueue
from ollm_tui.tui.chat.tool_control import STOP, WRAP_UP, AtLimit
from ollm_tui.tui.dialogs import Dialogs
from ollm_tui.tui.transcript import NavigableTranscript
from ollm_tui.tui.widgets import FLASH_S, HintLine

if TYPE_CHECKING:
    from ollm_tui.chat.drawing import DrawingWish
    from ollm_tui.protocol.blocks import Content, ImageContent

_NOTES: Final = frozenset({"info", "warning", "error"})


@dataclass(frozen=True, slots=True)
class Prompts:
    """Takes what is submitted: runs commands, sends prompts, and returns what cannot be sent."""

    session: ChatSession
    queue: PromptQueue
    editing: MessageEditor
    consent: MediaConsent
    composer: Prompt
    transcript: NavigableTranscript
    hints: HintLine
    dialogs: Dialogs
    commands: Sequence[Command]
    run_command: Callable[[CommandCall | UnknownCommand], Coroutine[Any, Any, None]]
    refuse: Callable[[], None]
    """Says that there is no model."""
    after: Callable[[], Awaitable[None]]
    """What follows an answer."""

    @property
    def can_stop(self) -> bool:
        """Whether there is an answer to stop or a queue to take back."""
        return self.queue.can_stop

    @property
    def can_retry(self) -> bool:
        """Whether the newest answer failed in a way that may not happen again."""
        return self.queue.failed and not (self.queue.refused or self.queue.is_busy)

    @property
    def can_go_on(self) -> bool:
        """Whether the newest answer ran out of turns."""
        return self.queue.can_go_on

    def submit(self, text: str) -> None:
        """Run a command, send a prompt, or queue it."""
        call = parse(text, self.commands)
        if call is not None:
            self.dialogs.run(self._run_command(call), "command")
            return
        if (command := shell_line(text)) is not None:
            self._submit_command(command)
            return
        prompt = self.composer.pictures.take_beside(prompt_text(text))
        self.composer.look_at_pictures()
        if self.queue.is_busy and self.editing.is_editing:
            self.composer.prepend(as_typed(prompt))
            self.hints.flash("An answer is still in progress", FLASH_S)
        elif self.queue.is_busy:
            self.queue.enqueue(prompt)
        elif (wish := self.editing.wish) is not None:
            self._draw_edited(prompt, wish)
        else:
            self._answer(prompt)

    async def _run_command(self, call: CommandCall | UnknownCommand) -> None:
        """Run a command, and show what it says though the view is somewhere else."""
        blocks = self.transcript.block_list
        before = blocks.blocks[-1] if len(blocks) else None
        await self.run_command(call)
        last = blocks.blocks[-1] if len(blocks) else None
        if last is not None and last is not before and last.kind in _NOTES:
            self.transcript.scroll_end(animate=False)

    def _submit_command(self, command: ShellLine) -> None:
        if not command:
            self.hints.flash("Type a command after the !, such as !ls", FLASH_S)
        elif self.editing.is_editing:
            self.composer.prepend(f"!{command}")
            self.hints.flash("Send or cancel the edited message first", FLASH_S)
        elif self.queue.is_busy:
            self.queue.enqueue(command)
        else:
            self.transcript.follow()
            self.dialogs.run(self._run(command), "turn", is_exclusive=True)

    async def _run(self, command: ShellLine) -> None:
        await self.queue.run(command)
        await self.after()

    def draw(
        self, content: "Content", wish: "DrawingWish", mask: "ImageContent | None" = None
    ) -> None:
        """Have a model draw a prompt; a text is drawn with the pictures attached to the draft.

        A mask is kept as the last picture of the question.
        """
        if isinstance(content, str):
            pictures = self.composer.pictures
            content = pictures.content(pictures.take_beside(content))
            self.composer.look_at_pictures()
        if mask is not None:
            content, wish = (*normalize_content(content), mask), replace(wish, has_mask=True)
        self.transcript.follow()
        self.dialogs.run(self._draw(content, wish), "turn", is_exclusive=True)

    def _draw_edited(self, prompt: str, wish: "DrawingWish") -> None:
        """Draw the edited question anew, by the same model and with the same size and seed."""
        content = self.composer.pictures.content(prompt)
        if self.editing.commit():
            self.draw(content, wish)
        else:
            self.composer.prepend(as_typed(prompt))

    async def _draw(self, content: "Content", wish: "DrawingWish") -> None:
        await self.queue.draw(content, wish)
        await self.after()

    def retry(self) -> None:
        """Send the newest question once more."""
        if self.queue.is_busy:
            self.hints.flash("An answer is still in progress", FLASH_S)
        elif not self.session.was_asked:
            self.hints.flash("No messages yet", FLASH_S)
        else:
            self._answer(None)

    def ask_how(self) -> None:
        """Ask what happens after the limit of turns."""
        self.dialogs.open(AtLimit(), self._answer_limit)

    def _answer_limit(self, choice: str | None) -> None:
        if not self.can_go_on:
            return
        if choice is None or choice == STOP:
            self.give_up()
        elif choice == WRAP_UP:
            self.wrap_up()
        else:
            self.go_on(int(choice) if choice.isdigit() else None)

    def go_on(self, turns: int | None = None) -> None:
        """Let the model continue where its turns ran out, for some more or as many again."""
        self._continue(ChatOptions(max_turns=turns))

    def wrap_up(self) -> None:
        """Have the model answer now, without tools."""
        self._continue(ChatOptions(tools=(), wraps_up=True))

    def give_up(self) -> None:
        """Leave the answer as it is after the limit of turns."""
        self.queue.presenter.give_up()

    def cancel_tool(self, block: str) -> None:
        """Cancel the tool that runs in a row; the others go on."""
        call_id = self.queue.presenter.tools.call_of(block)
        if call_id is None or not self.session.client.cancel_call(call_id):
            self.hints.flash("It does not run any more", FLASH_S)

    def _continue(self, options: ChatOptions) -> None:
        self.transcript.follow()
        self.dialogs.run(self._go_on(options), "turn", is_exclusive=True)

    def send_waiting(self) -> None:
        """Send what was written before the chat was open."""
        self.dialogs.run(self._drain(), "turn", is_exclusive=True)

    def take_waiting(self) -> str | None:
        """Take the newest prompt out of the queue, or None if none waits."""
        return self.queue.take_newest()

    def stop(self) -> None:
        """Stop the answer; what was queued goes back to the editor."""
        back = self.queue.take_back()
        self.queue.stop()
        if back:
            self.composer.prepend(back)

    def _answer(self, prompt: str | None) -> None:
        self.transcript.follow()
        self.dialogs.run(self._send(prompt), "turn", is_exclusive=True)

    async def _send(self, prompt: str | None) -> None:
        if self.session.model is None:
            self._return(prompt)
            self.refuse()
            return
        self.queue.hold()
        try:
            is_given = await self.consent.given(prompt)
        finally:
            self.queue.release()
        if not is_given:
            self._return(prompt)
            return
        if prompt is not None and not self.editing.commit():
            self.composer.prepend(as_typed(prompt))
            return
        await self.queue.run(prompt)
        await self.after()

    async def _go_on(self, options: ChatOptions) -> None:
        await self.queue.go_on(options)
        await self.after()

    async def _drain(self) -> None:
        if self.session.model is not None:
            await self.queue.drain()
        elif self.queue.is_waiting:
            self._return(None)
            self.refuse()

    def _return(self, prompt: str | None) -> None:
        parts = (None if prompt is None else as_typed(prompt), self.queue.take_back())
        if back := "\n\n".join(part for part in parts if part):
            self.composer.prepend(back)
