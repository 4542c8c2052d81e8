"""Importing chats in the background: it goes on when the chats screen is left."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from ollm_tui.attachments.paths import as_path
from ollm_tui.config.regular_file import is_file
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.chat_words import ending_words
from ollm_tui.protocol.errors import AIError
from ollm_tui.tui.dialogs import DialogOpener, Dialogs, LineEntry
from ollm_tui.tui.services import Say

if TYPE_CHECKING:
    from ollm_tui.exchange.importing import ImportResult
    from ollm_tui.exchange.reading import ImportFile
    from ollm_tui.runtime.saved.chats import SavedChats


_IMPORTABLE: Final = (
    "An export of ollm, ChatGPT (also the zip), Open WebUI or parllama, a conversation of LM "
    "Studio, or the database of oterm or llm. Enter import · Esc cancel"
)


@dataclass(slots=True)
class ChatImport:
    """One import at a time; `watch` is told of its progress and its end."""

    chats: "SavedChats"
    dialogs: Dialogs
    """Those of the chat screen, which stays."""
    say: Say
    """Says in the chat how it ended, while nothing watches."""
    watch: Callable[[str, bool], None] | None = None
    """Takes a line, and whether the import has ended."""
    line: str = ""
    """How far it is; empty while there is none."""
    _scope: anyio.CancelScope | None = field(default=None, repr=False)

    @property
    def is_running(self) -> bool:
        """Whether an import is in progress."""
        return self._scope is not None

    async def ask(self, dialogs: DialogOpener) -> None:
        """Ask for a file and import it, or stop the import that is in progress."""
        if self.is_running:
            self.stop()
            return
        problem, draft = "", ""
        while True:
            entry = LineEntry(
                "Import chats", draft, _IMPORTABLE, placeholder="Path of a file", problem=problem
            )
            typed = await dialogs.ask(entry)
            if not typed:
                return
            draft, path = typed, as_path(typed)
            if path is not None and await anyio.to_thread.run_sync(is_file, path):
                self.start(path)
                return
            problem = f"There is no file {clean_line(typed[:200])}."

    def start(self, path: Path) -> None:
        """Import a file."""
        self._scope = anyio.CancelScope()
        self._tell(f"Importing {clean_line(path.name)}…")
        self.dialogs.run(self._run(path), "import")

    def stop(self) -> None:
        """Stop it; the chats that were imported stay."""
        if self._scope is not None:
            self._scope.cancel()

    async def _run(self, path: Path) -> None:
        # Imported with the first import: no other chat pays for it.
        from ollm_tui.exchange.importing import ImportResult

        result, problem = ImportResult(), ""
        scope = self._scope or anyio.CancelScope()
        try:
            with scope:
                await self.chats.import_files([path], self._report, result)
        except AIError as error:
            problem = str(error)
        finally:
            self._scope, self.line = None, ""
        self._end(ending_words(result, problem, is_stopped=scope.cancelled_caught), bool(problem))

    def _report(self, file: "ImportFile", result: "ImportResult") -> None:
        share = f"{file.position / file.size:.0%} · " if file.size else ""
        self._tell(
            f"Importing {clean_line(file.path.name)}: {share}{counted(result.chats, 'chat')}"
        )

    def _tell(self, line: str) -> None:
        self.line = line
        if self.watch is not None:
            self.watch(line, False)

    def _end(self, words: str, has_failed: bool) -> None:
        if self.watch is not None:
            self.watch(words, True)
        else:
            self.say(words, "error" if has_failed else "info")
