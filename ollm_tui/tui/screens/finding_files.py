"""Suggestions of files: `@` in a prompt and the argument of /attach, looked for in a thread."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from ollm_tui.attachments.finder import FileFinder
from ollm_tui.commands.complete import MOST_SUGGESTIONS, Suggestions
from ollm_tui.commands.matching import best_rank
from ollm_tui.commands.registry import Completion
from ollm_tui.tui.widgets.mention import FileQuery

PATIENCE_S: Final = 2.5


class FileSuggestions:
    """Ranks the names a finder gives; never on the event loop."""

    def __init__(
        self, commands: Callable[[str], Suggestions | None], finder: FileFinder | None = None
    ) -> None:
        """Suggest files beside what `commands` suggests for the same text."""
        self._commands = commands
        self._finder = finder or FileFinder(Path.cwd())

    async def find(self, query: FileQuery) -> Suggestions | None:
        """Suggest files; None where there are none."""
        others = self._commands(query.draft) if not query.is_mention else None
        items = others.items if others is not None else ()
        with anyio.move_on_after(PATIENCE_S):
            items += await anyio.to_thread.run_sync(
                self._ranked, query.text, abandon_on_cancel=True
            )
        if not items:
            return None
        return Suggestions(
            query.start, query.text, items, is_argument=True, is_mention=query.is_mention
        )

    def _ranked(self, query: str) -> tuple[Completion, ...]:
        found = []
        for name in self._finder.candidates(query):
            leaf = name.rstrip("/").rpartition("/")[2]
            rank = best_rank(query, (leaf, name))
            if rank is not None:
                found.append((rank, len(name), name))
        found.sort()
        return tuple(Completion(name) for _, _, name in found[:MOST_SUGGESTIONS])
