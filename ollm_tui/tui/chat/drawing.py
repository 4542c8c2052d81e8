"""What a model draws or makes in the open chat, and the file that it is written to."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ollm_tui.attachments.made import open_newest, save_made
from ollm_tui.chat.drawing import DrawingWish, newest_of, wish_of
from ollm_tui.chat.making import Makes
from ollm_tui.config.paths import expanded
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.frontend.session import ChatSession
from ollm_tui.models.tasks import ModelTask
from ollm_tui.protocol.blocks import ImageContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelRef
from ollm_tui.runtime.media.task_models import maker_in_chat
from ollm_tui.tui.chat.prompts import Prompts
from ollm_tui.tui.services import Say, Services

if TYPE_CHECKING:
    from ollm_tui.protocol.blocks import Content

_TASKS: Final[Mapping[Makes, ModelTask]] = {"image": "picture", "video": "video", "audio": "music"}
_NOTHING_MADE: Final[Mapping[Makes, tuple[str, str]]] = {
    "image": ("No picture was drawn in this chat yet.", "/image a red cat draws one."),
    "video": ("No video was made in this chat yet.", "/video a cat walks makes one."),
    "audio": ("No music was made in this chat yet.", "/music slow jazz makes some."),
}


@dataclass(frozen=True, slots=True)
class Drawings:
    """What `/image`, `/video` and `/music` do; see `commands/host.py: Drawings`."""

    session: ChatSession
    prompts: Prompts
    say: Say
    services: Services

    async def draw(self, content: "Content", wish: DrawingWish, mask: str = "") -> None:
        """Have a model draw a prompt, whose pictures are edited, and those that are attached.

        Raises:
            AIError: no model draws, an answer is still in progress, or the mask cannot be used.
        """
        self._require_quiet()
        masked = await self._mask(content, mask) if mask else None
        session = self.session
        model = await maker_in_chat(
            _TASKS[wish.makes], session.runtime, wish.model or None, session.model
        )
        self._require_quiet()
        self._show_model(model, wish.makes)
        self.prompts.draw(content, replace(wish, model=model), masked)

    async def _mask(self, content: "Content", name: str) -> ImageContent:
        has_picture = not isinstance(content, str) or bool(self.prompts.composer.pictures)
        if not has_picture:
            raise AIError(
                ErrorCode.BAD_REQUEST,
                "--mask takes a picture to edit.",
                hint="Attach one (/attach cat.png), or: /image edit a hat --mask head.png",
            )
        # Loaded only for files.
        from ollm_tui.attachments.attachment import attach_image

        return (await attach_image(expanded(Path(name)))).content

    async def save(self, name: str, makes: Makes = "image") -> None:
        """Write the newest picture, video or music to a file.

        Raises:
            AIError: there is none, or it cannot be written.
        """
        made = newest_of(self.session.client.conversation.messages, makes)
        if made is None:
            message, hint = _NOTHING_MADE[makes]
            raise AIError(ErrorCode.BAD_REQUEST, message, hint=hint)
        path = await save_made(made, name)
        self.say(f"Saved {clean_name(str(path))}.")

    async def open_newest(self) -> None:
        """Open the newest picture, sound, video or document in the system's program for it.

        Raises:
            AIError: there is none, or it cannot be written for the program.
        """
        messages = self.session.client.conversation.messages
        services = self.services
        folder = services.opened_files_dir or services.config_file.parent / "opened"
        problem = await open_newest(messages, folder, services.opener.open_file)
        self.say(problem or "Handed to its program.", "warning" if problem else "info")

    def _show_model(self, model: str, makes: Makes) -> None:
        """Say which model draws, if it is not the one that drew before."""
        wishes = map(wish_of, reversed(self.session.client.conversation.messages))
        models = (wish.model for wish in wishes if wish is not None and wish.makes == makes)
        before = next(models, None)
        ref = ModelRef.parse(model)
        if model != before and ref is not None:
            verb = (
                "Drawing"
                if makes == "image"
                else f"Making {'music' if makes == 'audio' else 'a video'}"
            )
            self.say(f"{verb} with {self.session.runtime.catalog.shown_address(ref)}.")

    def _require_quiet(self) -> None:
        if self.prompts.queue.is_busy:
            raise AIError(
                ErrorCode.CONFLICT,
                "An answer is still in progress.",
                hint="Wait for its end, or stop it; the command is in the history of the input.",
            )
