"""Snippets in a chat: listed, used, written in an editor, and removed after a question."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from anyio.to_thread import run_sync

from ollm_tui.attachments.snippets import SnippetFolder, filled
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_name
from ollm_tui.frontend.notes import SayWithHint

if TYPE_CHECKING:
    from ollm_tui.frontend.text_editor import Edited


@dataclass(slots=True)
class ChatSnippets:
    """What `/snippet` does; see `Snippets` in `commands/files.py`."""

    folder: SnippetFolder
    use: Callable[[str], Awaitable[None]]
    """Takes the text of a snippet that was filled."""
    edited: Callable[[str], "Awaitable[Edited | None]"]
    """Opens the user's editor with a text."""
    may_remove: Callable[[str, str], Awaitable[bool]]
    """Asks about a name with its text."""
    run: Callable[[Coroutine[Any, Any, None]], object]
    """Runs work in the background."""
    say: SayWithHint
    _listed: Mapping[str, str] = field(default_factory=dict)
    _is_listing: bool = False

    def listed(self) -> Mapping[str, str]:
        """Return the names as they were at the last look, and look again."""
        if not self._is_listing:
            self._is_listing = True
            self.run(self.look())
        return self._listed

    async def look(self) -> None:
        """Look which snippets there are."""
        try:
            self._listed = await run_sync(self.folder.listed)
        finally:
            self._is_listing = False

    async def insert(self, name: str, arguments: str) -> None:
        """Use a snippet, filled with arguments."""
        await self.use(filled(await run_sync(self.folder.read, name), arguments))

    async def add(self, name: str, text: str) -> None:
        """Write a new snippet: a text, or what is written in the editor."""
        if not text:
            edited = await self.edited("")
            text = (edited.text if edited is not None and not edited.problem else None) or ""
            if not text:
                return
        await self._write(name, text, replaces=False)

    async def edit(self, name: str) -> None:
        """Change a snippet in the editor."""
        edited = await self.edited(await run_sync(self.folder.read, name))
        if edited is not None and edited.text is not None and not edited.problem:
            await self._write(name, edited.text, replaces=True)

    async def remove(self, name: str) -> None:
        """Remove a snippet after a question."""
        text = await run_sync(self.folder.read, name)
        if await self.may_remove(name, text):
            await run_sync(self.folder.remove, name)
            await self.look()
            self.say(f"Removed the snippet “{clean_name(name)}”.")

    async def _write(self, name: str, text: str, *, replaces: bool) -> None:
        path = await run_sync(lambda: self.folder.write(name, text, replaces=replaces))
        await self.look()
        self.say(f"Saved as {clean_name(str(path))}.", hint=f"/snippet {name} inserts it.")
