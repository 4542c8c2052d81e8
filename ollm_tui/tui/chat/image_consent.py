"""Asking, once for a chat and a model, whether pictures may stay out of what is sent."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ollm_tui.chat.model_support import count_pictures
from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.errors import AIError
from ollm_tui.tui.chat.session import ChatSession
from ollm_tui.tui.composer import DraftPictures
from ollm_tui.tui.dialogs import Dialogs, Passage, YesNoDialog

if TYPE_CHECKING:
    from ollm_tui.chat.client import ChatClient


class LeaveOutPictures(YesNoDialog):
    """Asks whether to send a message without its pictures to a model that reads only text.

    It opens after Enter, when the person may be typing on.
    """

    def __init__(
        self, model: str, count: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        them = "1 picture is" if count == 1 else f"{count} pictures are"
        super().__init__(
            "This model accepts text only",
            f"{them} not sent to it."
            " The chat keeps everything, and a model with vision gets it again.",
            Passage("Model", clean_name(model)),
            yes="send without pictures",
            no="or Esc back to the input",
            clock=clock,
        )


class ImageConsent:
    """Remembers for which models the open chat may be sent without its pictures."""

    def __init__(self, session: ChatSession, pictures: DraftPictures, dialogs: Dialogs) -> None:
        self._session = session
        self._pictures = pictures
        self._dialogs = dialogs
        self._client: ChatClient | None = None
        self._agreed: set[str] = set()

    async def given(self, prompt: str | None) -> bool:
        """Whether a prompt may be sent as things are; None is the newest question again."""
        session = self._session
        model, count = session.model, self._count(prompt)
        if session.client is not self._client:
            self._client, self._agreed = session.client, set()
        if not count or model is None or model in self._agreed:
            return True
        try:
            if not await session.runtime.reads_only_text(model):
                return True
            is_given = await self._dialogs.ask(LeaveOutPictures(model, count))
        except AIError:  # sending it shows what is wrong
            return True
        if is_given:
            self._agreed.add(model)
        return is_given

    def _count(self, prompt: str | None) -> int:
        conversation = self._session.client.conversation
        if conversation.drops_attachments:
            return 0
        new = len(self._pictures.attached(prompt)) if prompt is not None else 0
        return new + count_pictures(conversation.messages, conversation.turns_left_out)
