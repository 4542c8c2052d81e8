"""Going back in a chat: a question in other words, or the same one again."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ollm_tui.attachments.attachment import reattached
from ollm_tui.protocol.blocks import ImageContent, TextContent
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.message import Message
from ollm_tui.tui.chat.prompt_words import drafted
from ollm_tui.tui.composer.pictures import PictureShelf
from ollm_tui.tui.transcript.navigation_keys import FLASH_S

if TYPE_CHECKING:
    from ollm_tui.tui.chat.controller import ChatController
    from ollm_tui.tui.chat.screen import ChatScreen

SURE_WITHIN_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class _Edit:
    place: int
    """Which message it is; its block is another one when it was asked again."""
    draft: str
    """What stood in the input before."""


class MessageEditing:
    """At most one question is being edited; nothing is dropped before it is sent."""

    def __init__(
        self,
        screen: "ChatScreen",
        controller: "ChatController",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._screen = screen
        self._desk = controller
        self._clock = clock
        self._edit: _Edit | None = None
        self._asked_about: tuple[str, float] | None = None

    @property
    def is_editing(self) -> bool:
        """Whether what is sent next takes the place of an earlier question."""
        return self._edit is not None

    @property
    def line(self) -> str:
        """What is said about it above the input."""
        if self._edit is None:
            return ""
        send, keep = map(self._screen.keymap.key_for, ("composer.submit", "chat.back"))
        return f"Editing an earlier message · {send} sends it · {keep} cancels"

    @property
    def has_question(self) -> bool:
        """Whether anything was asked yet."""
        return bool(self._desk.presenter.questions)

    def edit_newest(self) -> bool:
        """Put the newest question into the input; False when there is none."""
        block = next(reversed(self._desk.presenter.questions), None)
        return block is not None and self.edit(block)

    def edit(self, block: str) -> bool:
        """Put a question into the input, to be sent in other words; False, and why, if not."""
        place = self._place(block)
        if place is None:
            return False
        message = self._desk.session.client.conversation.messages[place]
        composer = self._screen.composer
        draft = _draft(message, composer.pictures)
        if draft is None:
            self._say("A message with more than text cannot be edited here")
            return False
        self._edit = _Edit(place, self._edit.draft if self._edit else composer.value)
        composer.load_draft("")
        composer.prepend(draft)
        composer.move_cursor(composer.document.end)
        self._screen.hints.hush()
        self._screen.hints.stand(self.line)
        return True

    def cancel(self) -> None:
        """Leave the chat as it is; the edited text can be had back with Up."""
        edit = self._drop()
        if edit is not None:
            self._screen.composer.stash()
            self._screen.composer.prepend(edit.draft)

    def forget(self) -> None:
        """The chat is another; what is in the input stays."""
        self._drop()

    def commit(self) -> bool:
        """Go back to before the edited question, which is about to be sent; False if it fails.

        The edit goes on then, and why it failed is said.
        """
        edit, presenter = self._edit, self._desk.presenter
        if edit is None:
            return True
        blocks = (block for block, place in presenter.questions.items() if place == edit.place)
        block = next(blocks, None)
        if block is not None:
            if not self._rewind(edit.place):
                return False
            presenter.take_back(block)
        self._drop()
        self._screen.composer.prepend(edit.draft)
        return True

    def again(self, block: str) -> None:
        """Ask a question once more; what followed its answer needs a second word."""
        place = self._place(block)
        if place is None:
            return
        presenter = self._desk.presenter
        if block != next(reversed(presenter.questions)):
            if not self._is_sure(block):
                return
            parts = self._desk.session.client.conversation.messages[place].content
            pictures = [part for part in parts if isinstance(part, ImageContent)]
            if not self._rewind(place + 1):
                return
            text = self._screen.transcript.block_list.block(block).source.text
            presenter.choose(block, text, pictures)
            if self._edit is not None and self._edit.place > place:
                self.cancel()
                key = self._screen.keymap.key_for("composer.history_previous")
                self._say(f"The message you edited is gone; {key} brings back what you wrote")
        self._screen.ask_again()

    def _place(self, block: str) -> int | None:
        """Which message it is; None, and why, when nothing can be done with it now."""
        if self._desk.is_busy:
            self._say("An answer is still in progress")
        elif self._desk.session.model is None:
            self._say("No model is selected")
        elif (place := self._desk.presenter.questions.get(block)) is None:
            self._say("This was never sent")
        else:
            return place
        return None

    def _is_sure(self, block: str) -> bool:
        now, before = self._clock(), self._asked_about
        self._asked_about = (block, now)
        if before is not None and before[0] == block and now - before[1] < SURE_WITHIN_S:
            self._asked_about = None
            return True
        key = self._screen.keymap.key_for("cursor.again")
        self._say(f"Press {key} again to ask this again and remove what follows", SURE_WITHIN_S)
        return False

    def _rewind(self, kept: int) -> bool:
        """Forget all but the first messages; False when that fails, which is said."""
        controller = self._desk
        try:
            controller.session.client.rewind(kept)
        except AIError as error:
            controller.say(error.message, "error", error.hint)
            return False
        controller.session.usage = None
        controller.turns.failed = False
        controller.status.show_talk()
        return True

    def _drop(self) -> _Edit | None:
        edit, self._edit = self._edit, None
        if edit is not None:
            self._screen.hints.stand("")
        return edit

    def _say(self, words: str, seconds: float = FLASH_S) -> None:
        self._screen.hints.flash(words, seconds)


def _draft(message: Message, shelf: PictureShelf) -> str | None:
    """Give a question as it is edited, its pictures as tokens; None when that cannot be done."""
    pictures = [part for part in message.content if isinstance(part, ImageContent)]
    files = [taken for part in pictures if (taken := reattached(part)) is not None]
    others = [part for part in message.content if not isinstance(part, TextContent | ImageContent)]
    if others or len(files) < len(pictures):
        return None
    return drafted(message.content, [shelf.add(file) for file in files]) if files else message.text
