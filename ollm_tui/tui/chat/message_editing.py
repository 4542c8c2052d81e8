"""Going back in a chat: sending a question in other words, or the same one again."""

import time
from collections.abc import Callable
from typing import Final

from ollm_tui.chat.drawing import DrawingWish, wish_of
from ollm_tui.commands.parse import as_typed
from ollm_tui.dataclass import dataclass
from ollm_tui.frontend.session import ChatSession
from ollm_tui.protocol.blocks import MEDIA, TextContent
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import Message
from ollm_tui.tui.chat.parts import Prompt
from ollm_tui.tui.chat.presenter import TurnPresenter
from ollm_tui.tui.chat.prompting.prompt_queue import PromptQueue
from ollm_tui.tui.chat.restore import drafted
from ollm_tui.tui.composer import DraftPictures
from ollm_tui.tui.services import Say
from ollm_tui.tui.transcript import NavigableTranscript
from ollm_tui.tui.widgets import FLASH_S, HintLine

SURE_WITHIN_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class _Edit:
    position: int
    """Which message it is; its block changes when the question is sent again."""
    draft: str
    """What stood in the input before."""
    wish: DrawingWish | None
    """What is wanted of the pictures, if it is drawn."""


@dataclass(slots=True)
class MessageEditor:
    """Edits at most one question; nothing is removed before the new one is sent."""

    session: ChatSession
    presenter: TurnPresenter
    queue: PromptQueue
    composer: Prompt
    transcript: NavigableTranscript
    hints: HintLine
    key_for: Callable[[str], str]
    show_session: Callable[[], None]
    retry: Callable[[], None]
    """Sends the newest question again."""
    clock: Callable[[], float] = time.monotonic
    _edit: _Edit | None = None
    _asked_about: tuple[str, float] | None = None

    @property
    def is_editing(self) -> bool:
        """Whether the next prompt replaces an earlier question."""
        return self._edit is not None

    @property
    def line(self) -> str:
        """What the hint line says meanwhile."""
        if self._edit is None:
            return ""
        send, keep = map(self.key_for, ("composer.submit", "chat.back"))
        verb = "sends" if self._edit.wish is None else "draws"
        return f"Editing an earlier message · {send} {verb} it · {keep} cancels"

    @property
    def wish(self) -> DrawingWish | None:
        """What the edited question wants to be drawn; None if it is chatted about."""
        return self._edit.wish if self._edit is not None else None

    @property
    def has_question(self) -> bool:
        """Whether anything was asked yet."""
        return bool(self.presenter.questions)

    def edit_newest(self) -> bool:
        """Put the newest question into the input; False if there is none."""
        block = next(reversed(self.presenter.questions), None)
        return block is not None and self.edit(block)

    def edit_newest_or(self, say: Say) -> None:
        """Put the newest question into the input, or say that there is none."""
        if self.has_question:
            self.edit_newest()
        else:
            say("No messages yet.")

    def edit(self, block: str) -> bool:
        """Put a question into the input, to be sent in other words; False, and a hint, if not."""
        position = self._position(block)
        if position is None:
            return False
        message = self.session.client.conversation.messages[position]
        draft = _draft(message, self.composer.pictures)
        if draft is None:
            self._hint("A message with more than text cannot be edited here")
            return False
        before = self._edit.draft if self._edit else self.composer.value
        self._edit = _Edit(position, before, wish_of(message))
        self.composer.load_draft("")
        self.composer.prepend(draft)
        self.composer.move_cursor(self.composer.document.end)
        self.hints.hush()
        self.hints.stand(self.line)
        return True

    def cancel(self) -> None:
        """Leave the chat as it is; Up brings the edited text back."""
        edit = self.forget()
        if edit is not None:
            self.composer.stash()
            self.composer.prepend(edit.draft)

    def forget(self) -> _Edit | None:
        """End the edit, if any, and leave the input alone."""
        edit, self._edit = self._edit, None
        if edit is not None:
            self.hints.stand("")
        return edit

    def commit(self) -> bool:
        """Remove the edited question, whose replacement is about to be sent, and what follows it.

        False, and a note, if that fails; the edit then goes on.
        """
        edit, questions = self._edit, self.presenter.questions
        if edit is None:
            return True
        block = next((one for one, at in questions.items() if at == edit.position), None)
        if block is not None:
            if not self._rewind(edit.position):
                return False
            self.presenter.take_back(block)
        self.forget()
        self.composer.prepend(edit.draft)
        return True

    def again(self, block: str) -> None:
        """Send a question once more; asks twice if later ones leave the screen."""
        position = self._position(block)
        if position is None:
            return
        if block != next(reversed(self.presenter.questions)):
            if not self._is_sure(block):
                return
            content = self.session.client.conversation.messages[position].content
            attached = [part for part in content if isinstance(part, MEDIA)]
            if not self._rewind(position + 1):
                return
            self.presenter.choose(
                block, self.transcript.block_list.block(block).source.text, attached
            )
            if self._edit is not None and self._edit.position > position:
                self.cancel()
                key = self.key_for("composer.history_previous")
                self._hint(f"The message you edited is gone; {key} brings back what you wrote")
        self.retry()

    def _position(self, block: str) -> int | None:
        """Return the position of a question's message; None, and a hint, if it cannot be sent."""
        if self.queue.is_busy:
            self._hint("An answer is still in progress")
        elif self.session.model is None:
            self._hint("No model is selected")
        elif (position := self.presenter.questions.get(block)) is None:
            self._hint("This was never sent")
        else:
            return position
        return None

    def _is_sure(self, block: str) -> bool:
        now, before = self.clock(), self._asked_about
        self._asked_about = (block, now)
        if before is not None and before[0] == block and now - before[1] < SURE_WITHIN_S:
            self._asked_about = None
            return True
        key = self.key_for("cursor.again")
        what = "ask this again; what follows stays on another branch"
        self._hint(f"Press {key} again to {what}", SURE_WITHIN_S)
        return False

    def _rewind(self, kept: int) -> bool:
        """Remove all but the first messages; False, and a note, if that fails."""
        try:
            self.session.client.rewind(kept)
        except AIError as error:
            self.presenter.note(error.message, "error", error.hint)
            return False
        self.session.usage = None
        self.queue.failed = False
        self.show_session()
        return True

    def _hint(self, text: str, seconds: float = FLASH_S) -> None:
        self.hints.flash(text, seconds)


def _draft(message: Message, attached: DraftPictures) -> str | None:
    """Return a question as it is edited, its files as tokens, or None if that is impossible."""
    # Loaded only for files.
    from ollm_tui.attachments.attachment import reattached

    media = [part for part in message.content if isinstance(part, MEDIA)]
    files = [taken for part in media if (taken := reattached(part)) is not None]
    others = [part for part in message.content if not isinstance(part, (TextContent, *MEDIA))]
    if others or len(files) < len(media):
        return None
    if files:
        return as_typed(drafted(message.content, [attached.add(file) for file in files]))
    return as_typed(message.text)  # what an imported chat says is no command
