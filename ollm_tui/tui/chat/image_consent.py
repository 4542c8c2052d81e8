"""Asking, once for a chat and a model, whether pictures may stay out of what is sent."""

from dataclasses import dataclass, field
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
    """Asks whether to send a message without its pictures to a model that reads only text."""

    def __init__(self, model: str, count: int) -> None:
        them = "1 picture is" if count == 1 else f"{count} pictures are"
        super().__init__(
            "This model accepts text only",
            f"{them} not sent to it."
            " The chat keeps everything, and a model with vision gets it again.",
            Passage("Model", clean_name(model)),
            yes="send without pictures",
            no="or Esc back to the input",
        )


@dataclass(slots=True)
class ImageConsent:
    """Remembers for which models the open chat may be sent without its pictures."""

    session: ChatSession
    pictures: DraftPictures
    dialogs: Dialogs
    _client: "ChatClient | None" = None
    _agreed: set[str] = field(default_factory=set)

    async def given(self, prompt: str | None) -> bool:
        """Whether a prompt may be sent as things are; None is the newest question again."""
        session = self.session
        model, count = session.model, self._count(prompt)
        if session.client is not self._client:
            self._client, self._agreed = session.client, set()
        if not count or model is None or model in self._agreed:
            return True
        try:
            if not await session.runtime.reads_only_text(model):
                return True
            is_given = await self.dialogs.ask(LeaveOutPictures(model, count))
        except AIError:  # sending it shows what is wrong
            return True
        if is_given:
            self._agreed.add(model)
        return is_given

    def _count(self, prompt: str | None) -> int:
        conversation = self.session.client.conversation
        if conversation.drops_attachments:
            return 0
        new = len(self.pictures.attached(prompt)) if prompt is not None else 0
        return new + count_pictures(conversation.messages, conversation.turns_left_out)
