"""Files that are sent with the next message: read in a thread, shown before they are sent."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ollm_tui.attachments.attach import attach, attach_picture, existing, named
from ollm_tui.attachments.attachment import AttachedPicture, AttachedText
from ollm_tui.attachments.reading import MOST_TOGETHER_BYTES, refusal, shown_path
from ollm_tui.protocol.errors import AIError
from ollm_tui.tui.composer.composer import Composer
from ollm_tui.tui.composer.pictures import attachment_line
from ollm_tui.tui.dialogs.dialogs import Dialogs
from ollm_tui.tui.widgets.hint_line import FLASH_S, HintLine

MOST_PICTURES: Final = 20
"""In one message."""
READ_S: Final = 2 * FLASH_S
"""How long a refusal stays."""


class Attaching:
    """What the composer, the commands and a paste attach."""

    def __init__(self, composer: Composer, hints: HintLine, dialogs: Dialogs) -> None:
        self._composer = composer
        self._hints = hints
        self._dialogs = dialogs

    # By a command

    async def add(self, name: str) -> None:
        """Put pictures beside the draft and the text of files into it.

        Raises:
            AIError: BAD_REQUEST for what cannot be attached; what came before it stays.
        """
        for path in await named(name):
            attachment = await attach(path)
            if isinstance(attachment, AttachedText):
                self._composer.insert_pasted(attachment.block)
                self._warn_of_secrets(path)
            else:
                self._require_room(attachment)
                self._composer.pictures.put_beside(attachment)
                self._composer.look_at_pictures()

    def listed(self) -> Sequence[str]:
        """Return a line for each picture beside the draft."""
        beside = self._composer.pictures.beside
        return [attachment_line(number, picture) for number, picture in beside]

    def remove(self, number: int | None) -> int:
        """Remove a picture beside the draft, or all; returns how many there were."""
        removed = self._composer.pictures.remove(number)
        self._composer.look_at_pictures()
        return removed

    # In the draft

    def read_pasted(self, text: str) -> None:
        """Put tokens in the place of pasted paths, if all of them are pictures."""
        self._dialogs.run(self._read_pasted(text), "attach")

    async def _read_pasted(self, text: str) -> None:
        tokens: list[str] = []
        try:
            for path in await existing(text):
                tokens.append(self._token(await attach_picture(path)))
        except AIError as error:
            self._refuse(error)
            tokens.clear()
        finally:
            self._composer.end_reading(text, " ".join([*tokens, ""]))

    def read_named(self, text: str, name: str) -> None:
        """Put a picture's token, or a file's text, in the place of its name in the draft."""
        self._dialogs.run(self._read_named(text, name), "attach")

    async def _read_named(self, text: str, name: str) -> None:
        insert = ""
        try:
            for path in await named(name):
                attachment = await attach(path)
                if isinstance(attachment, AttachedText):
                    insert = self._composer.folded(attachment.block)
                    self._warn_of_secrets(path)
                else:
                    insert = f"{self._token(attachment)} "
        except AIError as error:
            self._refuse(error)
        finally:
            self._composer.end_reading(text, insert)

    def _token(self, picture: AttachedPicture) -> str:
        self._require_room(picture)
        return self._composer.pictures.add(picture)

    def _require_room(self, picture: AttachedPicture) -> None:
        attached = [one for _, one in self._composer.pictures.attached(self._composer.draft)]
        if len(attached) >= MOST_PICTURES:
            raise refusal(f"{MOST_PICTURES} pictures are the limit for one message.")
        if sum(one.size for one in [*attached, picture]) > MOST_TOGETHER_BYTES:
            most = MOST_TOGETHER_BYTES // 1_000_000
            raise refusal(f"With {picture.name} the pictures have more than {most} MB together.")

    def _warn_of_secrets(self, path: Path) -> None:
        """Say that a file is one that tools may not read; a person may send it all the same."""
        # Loads the tools, which the first frame does not wait for.
        from ollm_tui.tools.builtin.secrets import is_secret

        if is_secret(path.absolute().parts[1:]):
            self._hints.flash(
                f"{shown_path(path)} may contain passwords or keys. It is sent as is; "
                "remove it from the message if you do not want that.",
                READ_S,
            )

    def _refuse(self, error: AIError) -> None:
        self._hints.flash(" ".join(filter(None, (error.message, error.hint))), READ_S)
