"""Asking, once for a chat and a model, whether pictures may stay out of what is sent."""

from typing import TYPE_CHECKING

from ollm_tui.chat.model_support import count_pictures
from ollm_tui.protocol.errors import AIError
from ollm_tui.tui.capabilities import TellsSight
from ollm_tui.tui.chat.image_consent_dialog import LeaveOutPictures

if TYPE_CHECKING:
    from ollm_tui.tui.chat.controller import ChatController
    from ollm_tui.tui.chat.screen import ChatScreen
    from ollm_tui.tui.services import Client


class ImageConsent:
    """Remembers what was agreed to in the chat that is open."""

    def __init__(self, screen: "ChatScreen", controller: "ChatController") -> None:
        self._screen = screen
        self._desk = controller
        self._client: Client | None = None
        self._agreed: set[str] = set()
        self.is_asking = False
        """Whether a prompt waits for the answer, or for what the server says of its model."""

    async def given(self, prompt: str | None) -> bool:
        """Whether a prompt may be sent as things are; None is the newest question again."""
        runtime, session = self._desk.runtime, self._desk.session
        model, count = session.model, self._count(prompt)
        if session.client is not self._client:
            self._client, self._agreed = session.client, set()
        if not count or model is None or model in self._agreed:
            return True
        if not isinstance(runtime, TellsSight):
            return True
        self.is_asking = True
        try:
            if not await runtime.reads_only_text(model):
                return True
            is_given = await self._screen.app.push_screen_wait(LeaveOutPictures(model, count))
        except AIError:  # asking the model will tell
            return True
        finally:
            self.is_asking = False
        if is_given:
            self._agreed.add(model)
        return is_given

    def _count(self, prompt: str | None) -> int:
        session = self._desk.session.client.conversation
        if session.drops_attachments:
            return 0
        new = len(self._screen.composer.pictures.attached(prompt)) if prompt is not None else 0
        return new + count_pictures(session.messages, session.turns_left_out)
