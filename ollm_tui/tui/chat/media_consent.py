"""Asking, once for a chat and a model, whether attachments may stay out of what is sent."""

from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING

from ollm_tui.chat.model_support import count_media, media_words
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.session import ChatSession
from ollm_tui.protocol.errors import AIError
from ollm_tui.tui.composer import DraftPictures
from ollm_tui.tui.dialogs import Dialogs, Passage, YesNoDialog

if TYPE_CHECKING:
    from ollm_tui.chat.client import ChatClient


class LeaveOutMedia(YesNoDialog):
    """Asks whether to send a message without what its model does not take."""

    def __init__(self, model: str, count: int, kinds: Collection[str]) -> None:
        title, noun = f"This model does not accept {media_words(kinds)}", "attachment"
        able = "that does"
        if set(kinds) == {"image"}:
            title, noun, able = "This model accepts text only", "picture", "with vision"
        super().__init__(
            title,
            f"{counted(count, noun)} {'is' if count == 1 else 'are'} not sent to it."
            f" The chat keeps everything, and a model {able} gets it again.",
            Passage("Model", clean_name(model)),
            yes=f"send without {noun}s",
            no="or Esc back to the input",
        )


@dataclass(slots=True)
class MediaConsent:
    """Remembers which models the open chat may be sent to without some of its attachments."""

    session: ChatSession
    files: DraftPictures
    dialogs: Dialogs
    _client: "ChatClient | None" = None
    _agreed: set[tuple[str, str]] = field(default_factory=set)

    async def given(self, prompt: str | None) -> bool:
        """Whether a prompt may be sent as things are; None is the newest question again."""
        session = self.session
        model, attached = session.model, self._attached(prompt)
        if session.client is not self._client:
            self._client, self._agreed = session.client, set()
        unasked = [kind for kind in attached if (model, kind) not in self._agreed]
        if not unasked or model is None:
            return True
        try:
            asked = await session.runtime.lacking_media(model, unasked)
            if not asked:
                return True
            count = sum(attached[kind] for kind in asked)
            is_given = await self.dialogs.ask(LeaveOutMedia(model, count, asked))
        except AIError:  # sending it shows what is wrong
            return True
        if is_given:
            self._agreed |= {(model, kind) for kind in asked}
        return is_given

    def _attached(self, prompt: str | None) -> Counter[str]:
        conversation = self.session.client.conversation
        if conversation.drops_attachments:
            return Counter()
        files = self.files.attached(prompt) if prompt is not None else []
        new = Counter(file.content.type for _, file in files)
        return new + count_media(conversation.messages, conversation.turns_left_out)
