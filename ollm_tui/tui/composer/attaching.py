"""Files in a draft: reading and attaching them, and suggesting their names.

One thread at most looks for names. What is asked for while it searches waits for its end, so a disk
that does not answer holds one thread, however many letters are typed.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from ollm_tui.attachments.attachment import (
    MAX_TOGETHER_BYTES,
    AttachedFile,
    AttachedText,
    Attachment,
    attach,
    attach_file,
    existing_paths,
    named_paths,
    refusal,
    shown_path,
)
from ollm_tui.attachments.paths import FileFinder
from ollm_tui.commands.parse import MAX_SUGGESTIONS, Suggestions, as_typed
from ollm_tui.commands.registry import Completion
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.matching import best_rank
from ollm_tui.protocol.errors import AIError
from ollm_tui.tui.composer.completions import FileQuery
from ollm_tui.tui.composer.composer import Composer
from ollm_tui.tui.composer.pictures import attachment_line
from ollm_tui.tui.dialogs import Dialogs
from ollm_tui.tui.widgets import FLASH_S, HintLine

if TYPE_CHECKING:
    from ollm_tui.frontend.server_offers import ServerOffers
    from ollm_tui.mcp.offers import Part

MAX_PICTURES: Final = 20
"""In one message."""
_READ_WHOLE: Final = 20_000
"""Characters of a prompt up to which all of it stands in the input."""
_UNREAD_S: Final = 1.0
"""After a prompt has come, Enter may have been meant for what stood there before."""
READ_S: Final = 2 * FLASH_S
"""How long a refusal stays."""


@dataclass(slots=True)
class Attachments:
    """What the composer, the commands and a paste attach."""

    composer: Composer
    hints: HintLine
    dialogs: Dialogs
    offers: "ServerOffers | None" = None
    """What servers offer, by name."""

    # By a command

    async def add(self, name: str) -> None:
        """Put files beside the draft, and the text of text files into it.

        Raises:
            AIError: BAD_REQUEST for what cannot be attached; what came before it stays.
        """
        for path in await named_paths(name):
            attachment = await attach(path)
            if isinstance(attachment, AttachedText):
                self.composer.insert_pasted(attachment.block)
                self._warn_of_secrets(path)
            else:
                self._require_room(attachment)
                self.composer.pictures.put_beside(attachment)
                self.composer.look_at_pictures()

    async def insert(self, parts: "Sequence[Part]") -> None:
        """Put a server's prompt in front of the draft, for the user to read.

        Raises:
            AIError: one of its attachments is too much.
        """
        written = [part for part in parts if not isinstance(part, str) or part.strip()]
        if written and isinstance(written[0], str):
            first = written[0].lstrip()
            is_all = len(written) == 1 and not self.composer.draft
            # words of a server are no command, folded or not
            written[0] = as_typed(first) if is_all or first.startswith(("/", "!")) else first
        texts = [*map(self._written, written), self.composer.draft]
        self.composer.draft = "\n\n".join(filter(None, texts))
        self.composer.guarded_until = time.monotonic() + _UNREAD_S
        self.composer.look_at_pictures()
        self.hints.flash("The prompt is in the input. Read it; Enter sends it.", READ_S)

    def _written(self, part: "Part") -> str:
        if not isinstance(part, str):
            return self._as_inserted(part)
        # Not folded as a paste is: the user has not seen it before.
        return part if len(part) <= _READ_WHOLE else self.composer.folded(part)

    def _as_inserted(self, attachment: Attachment) -> str:
        if isinstance(attachment, AttachedText):
            return self.composer.folded(attachment.block)
        return self._token(attachment)

    async def paste(self) -> None:
        """Put the picture in the clipboard into the draft.

        Raises:
            AIError: there is none, or the clipboard cannot be read here.
        """
        # Loaded with the first picture from there.
        from ollm_tui.attachments.clipboard import clipboard_picture

        picture = await clipboard_picture()
        self.composer.insert_pasted(f"{self._token(picture)} ")

    def paste_picture(self) -> None:
        """Put the picture in the clipboard into the draft, or say why not."""
        self.dialogs.run(self._paste_picture(), "attach")

    async def _paste_picture(self) -> None:
        try:
            await self.paste()
        except AIError as error:
            self._refuse(error)

    def listed(self) -> Sequence[str]:
        """Return a line for each file beside the draft."""
        beside = self.composer.pictures.beside
        return [attachment_line(number, picture) for number, picture in beside]

    def remove(self, number: int | None) -> int:
        """Remove a file beside the draft, or all; returns how many there were."""
        removed = self.composer.pictures.remove(number)
        self.composer.look_at_pictures()
        return removed

    # In the draft

    def read_pasted(self, text: str) -> None:
        """Put tokens in the place of pasted paths, if all of them are files to attach."""
        self.dialogs.run(self._read_pasted(text), "attach")

    async def _read_pasted(self, text: str) -> None:
        tokens: list[str] = []
        try:
            for path in await existing_paths(text):
                tokens.append(self._token(await attach_file(path)))
        except AIError as error:
            self._refuse(error)
            tokens.clear()
        finally:
            self.composer.end_reading(text, " ".join([*tokens, ""]))

    def read_named(self, text: str, name: str) -> None:
        """Put a file's token, or the text of one, in the place of its name in the draft."""
        self.dialogs.run(self._read_named(text, name), "attach")

    async def _read_named(self, text: str, name: str) -> None:
        insert = ""
        try:
            resource = await self.offers.resource(name) if self.offers is not None else None
            if resource is not None:
                insert = self._resource(resource)
                return
            for path in await named_paths(name):
                attachment = await attach(path)
                if isinstance(attachment, AttachedText):
                    insert = self.composer.folded(attachment.block)
                    self._warn_of_secrets(path)
                else:
                    insert = f"{self._token(attachment)} "
        except AIError as error:
            self._refuse(error)
        finally:
            self.composer.end_reading(text, insert)

    def _resource(self, attachments: Sequence[Attachment]) -> str:
        # Imported with the first one.
        from ollm_tui.frontend.server_offers import text_figures

        words = [self._as_inserted(one) for one in attachments]
        texts = [text_figures(one) for one in attachments if isinstance(one, AttachedText)]
        if texts:
            self.hints.flash(f"Attached {', '.join(texts)}", READ_S)
        return f"{' '.join(words)} "

    def _token(self, picture: AttachedFile) -> str:
        self._require_room(picture)
        return self.composer.pictures.add(picture)

    def _require_room(self, picture: AttachedFile) -> None:
        attached = [one for _, one in self.composer.pictures.attached(self.composer.draft)]
        if len(attached) >= MAX_PICTURES:
            raise refusal(f"{MAX_PICTURES} files are the limit for one message.")
        if sum(one.size for one in [*attached, picture]) > MAX_TOGETHER_BYTES:
            most = MAX_TOGETHER_BYTES // 1_000_000
            raise refusal(f"With {picture.name} the files have more than {most} MB together.")

    def _warn_of_secrets(self, path: Path) -> None:
        """Say that a file is one that tools may not read; the user may send it all the same."""
        # Loads the tools, which the first frame does not wait for.
        from ollm_tui.tools.builtin.secrets import is_secret

        if is_secret(path.absolute().parts[1:]):
            self.hints.flash(
                f"{shown_path(path)} may contain passwords or keys. It is sent as is; "
                "remove it from the message if you do not want that.",
                READ_S,
            )

    def _refuse(self, error: AIError) -> None:
        self.hints.flash(" ".join(filter(None, (error.message, error.hint))), READ_S)


TIMEOUT_S: Final = 2.5


@dataclass(slots=True)
class _Search:
    ended: anyio.Event = field(default_factory=anyio.Event)
    matches: tuple[Completion, ...] = ()
    failure: Exception | None = None


@dataclass(slots=True)
class FileSuggestions:
    """Ranks the names of a finder; never on the event loop."""

    commands: Callable[[str], Suggestions | None]
    """Suggests commands for the same text; files are added to these."""
    finder: FileFinder = field(default_factory=lambda: FileFinder(Path.cwd()))
    offers: "ServerOffers | None" = None
    """Suggests resources of servers for a mention, and values for their prompts."""
    _running: _Search | None = None

    async def find(self, query: FileQuery) -> Suggestions | None:
        """Suggest files, or return None if there are none or the disk is too slow."""
        if query.argument:
            return await self._values(query)
        others = self.commands(query.draft) if not query.is_mention else None
        items = others.items if others is not None else ()
        with anyio.move_on_after(TIMEOUT_S):
            offers = self.offers if query.is_mention else None
            if offers is None or offers.named(query.text) is None:
                items += await self._searched(query.text)
            if offers is not None:
                items += tuple(await offers.mentions(query.text))
        if not items:
            return None
        return Suggestions(
            query.start, query.text, items, is_argument=True, is_mention=query.is_mention
        )

    async def _values(self, query: FileQuery) -> Suggestions | None:
        """Suggest values for an argument of a server's prompt."""
        if self.offers is None:
            return None
        values = await self.offers.values(query.draft, query.argument, query.text)
        items = tuple(values)
        return Suggestions(query.start, query.text, items, is_argument=True) if items else None

    async def _searched(self, text: str) -> tuple[Completion, ...]:
        while self._running is not None:
            await self._running.ended.wait()
        search = self._running = _Search()
        loop = asyncio.get_running_loop()

        def work() -> None:
            try:
                search.matches = self._ranked(text)
            except Exception as error:  # noqa: BLE001 -- its reader raises it
                search.failure = error
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(self._end, search)

        # A daemon: the end of the program does not wait for the disk either.
        threading.Thread(target=work, name="files", daemon=True).start()
        await search.ended.wait()
        if search.failure is not None:
            raise search.failure
        return search.matches

    def _end(self, search: _Search) -> None:
        self._running = None
        search.ended.set()

    def _ranked(self, query: str) -> tuple[Completion, ...]:
        ranked = []
        for name in self.finder.candidates(query):
            leaf = name.rstrip("/").rpartition("/")[2]
            rank = best_rank(query, (leaf, name))
            if rank is not None:
                ranked.append((rank, len(name), name))
        ranked.sort()
        names = [name for _, _, name in ranked[:MAX_SUGGESTIONS]]
        return tuple(Completion(name, takes_more=name.endswith("/")) for name in names)
