"""Pictures that a model draws in the open chat, and the file that one is written to."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ollm_tui.attachments.made import save_picture
from ollm_tui.chat.drawing import DrawingWish, newest_picture, wish_of
from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelRef
from ollm_tui.runtime.media.task_models import drawing_model, knows_drawing
from ollm_tui.tui.chat.prompts import Prompts
from ollm_tui.tui.chat.session import ChatSession
from ollm_tui.tui.services import Say

if TYPE_CHECKING:
    from ollm_tui.protocol.blocks import Content


@dataclass(frozen=True, slots=True)
class Drawings:
    """What `/image` does; see `commands/host.py: Drawings`."""

    session: ChatSession
    prompts: Prompts
    say: Say

    def is_possible(self) -> bool:
        """Whether a known model draws; asks no server."""
        return knows_drawing(self.session.runtime)

    async def draw(self, content: "Content", wish: DrawingWish) -> None:
        """Have a model draw a prompt, whose pictures are edited, and those that are attached.

        Raises:
            AIError: no model draws, or an answer is still in progress.
        """
        self._require_quiet()
        session = self.session
        model = await drawing_model(session.runtime, wish.model or None, session.model)
        self._require_quiet()
        self._show_model(model)
        self.prompts.draw(content, replace(wish, model=model))

    async def save(self, name: str) -> None:
        """Write the newest picture to a file.

        Raises:
            AIError: there is none, or it cannot be written.
        """
        picture = newest_picture(self.session.client.conversation.messages)
        if picture is None:
            raise AIError(
                ErrorCode.BAD_REQUEST,
                "No picture was drawn in this chat yet.",
                hint="/image a red cat draws one.",
            )
        path = await save_picture(picture, name)
        self.say(f"Saved {clean_name(str(path))}.")

    def _show_model(self, model: str) -> None:
        """Say which model draws, if it is not the one that drew before."""
        wishes = map(wish_of, reversed(self.session.client.conversation.messages))
        before = next((wish.model for wish in wishes if wish is not None), None)
        ref = ModelRef.parse(model)
        if model != before and ref is not None:
            self.say(f"Drawing with {self.session.runtime.catalog.shown_address(ref)}.")

    def _require_quiet(self) -> None:
        if self.prompts.queue.is_busy:
            raise AIError(
                ErrorCode.CONFLICT,
                "An answer is still in progress.",
                hint="Wait for its end, or stop it; the command is in the history of the input.",
            )
