"""Files that go along with the next message: read beside the loop, shown before they are sent."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ollm_tui.attachments.attachment import (
    AttachedImage,
    AttachedText,
    attach,
    attach_image,
    existing_paths,
    named_paths,
)
from ollm_tui.attachments.reading import MOST_TOGETHER_BYTES, refusal, shown_path
from ollm_tui.protocol.errors import AIError
from ollm_tui.tui.composer.attachment_lines import attachment_line
from ollm_tui.tui.transcript.navigation_keys import FLASH_S

if TYPE_CHECKING:
    from ollm_tui.tui.chat.screen import ChatScreen

MOST_PICTURES: Final = 20
"""In one message."""
READ_S: Final = 2 * FLASH_S
"""How long a refusal stays."""


class Attaching:
    """What the composer, the commands and a paste attach."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen

    # By a command

    async def add(self, name: str) -> None:
        """Put pictures beside the draft and the text of files into it.

        Raises:
            AIError: BAD_REQUEST for what cannot be attached; what came before it stays.
        """
        composer = self._screen.composer
        for path in await named_paths(name):
            found = await attach(path)
            if isinstance(found, AttachedText):
                composer.insert_pasted(found.block)
                self._warn_of_secrets(path)
            else:
                self._require_room(found)
                composer.pictures.put_beside(found)
                composer.look_at_pictures()

    def listed(self) -> Sequence[str]:
        """Give a line for each picture beside the draft."""
        beside = self._screen.composer.pictures.beside
        return [attachment_line(number, picture) for number, picture in beside]

    def remove(self, number: int | None) -> int:
        """Take away a picture beside the draft, or all; gives how many there were."""
        gone = self._screen.composer.pictures.remove(number)
        self._screen.composer.look_at_pictures()
        return gone

    # In the draft

    async def read_pasted(self, text: str) -> None:
        """Put tokens in the place of pasted paths, if all of them are pictures."""
        tokens: list[str] = []
        try:
            for path in await existing_paths(text):
                tokens.append(self._taken(await attach_image(path)))
        except AIError as error:
            self._refuse(error)
            tokens.clear()
        finally:
            self._screen.composer.end_reading(text, " ".join([*tokens, ""]))

    async def read_named(self, text: str, name: str) -> None:
        """Put a picture's token, or a file's text, in the place of its name in the draft."""
        words = ""
        try:
            for path in await named_paths(name):
                found = await attach(path)
                if isinstance(found, AttachedText):
                    words = self._screen.composer.folded(found.block)
                    self._warn_of_secrets(path)
                else:
                    words = f"{self._taken(found)} "
        except AIError as error:
            self._refuse(error)
        finally:
            self._screen.composer.end_reading(text, words)

    def _taken(self, picture: AttachedImage) -> str:
        self._require_room(picture)
        return self._screen.composer.pictures.add(picture)

    def _require_room(self, picture: AttachedImage) -> None:
        composer = self._screen.composer
        there = [one for _, one in composer.pictures.attached(composer.draft)]
        if len(there) >= MOST_PICTURES:
            raise refusal(f"{MOST_PICTURES} pictures are the limit for one message.")
        if sum(one.size for one in [*there, picture]) > MOST_TOGETHER_BYTES:
            most = MOST_TOGETHER_BYTES // 1_000_000
            raise refusal(f"With {picture.name} the pictures have more than {most} MB together.")

    def _warn_of_secrets(self, path: Path) -> None:
        """Say that a file is one that tools may not read: a person may send it all the same."""
        # Loads the tools, which the first frame does not wait for.
        from ollm_tui.tools.builtin.secrets import is_secret

        if is_secret(path.absolute().parts[1:]):
            self._screen.hints.flash(
                f"{shown_path(path)} may contain passwords or keys. It is sent as is; "
                "remove it from the message if you do not want that.",
                READ_S,
            )

    def _refuse(self, error: AIError) -> None:
        self._screen.hints.flash(" ".join(filter(None, (error.message, error.hint))), READ_S)
