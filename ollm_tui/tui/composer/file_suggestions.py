"""Suggestions of files: `@` in a prompt and the argument of /attach, looked for in a thread.

There is one thread at most. What is asked for while it searches waits for its end, so a disk that
does not answer holds one thread, however many letters are typed.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio

from ollm_tui.attachments.finder import FileFinder
from ollm_tui.commands.complete import MOST_SUGGESTIONS, Suggestions
from ollm_tui.commands.registry import Completion
from ollm_tui.decode.matching import best_rank
from ollm_tui.tui.composer.completions import FileQuery

PATIENCE_S: Final = 2.5


@dataclass(slots=True)
class _Search:
    ended: anyio.Event = field(default_factory=anyio.Event)
    matches: tuple[Completion, ...] = ()
    failure: Exception | None = None


class FileSuggestions:
    """Ranks the names of a finder; never on the event loop."""

    def __init__(
        self, commands: Callable[[str], Suggestions | None], finder: FileFinder | None = None
    ) -> None:
        """Suggest files beside what `commands` suggests for the same text."""
        self._commands = commands
        self._finder = finder or FileFinder(Path.cwd())
        self._running: _Search | None = None

    async def find(self, query: FileQuery) -> Suggestions | None:
        """Suggest files, or return None if there are none or the disk is too slow."""
        others = self._commands(query.draft) if not query.is_mention else None
        items = others.items if others is not None else ()
        with anyio.move_on_after(PATIENCE_S):
            items += await self._searched(query.text)
        if not items:
            return None
        return Suggestions(
            query.start, query.text, items, is_argument=True, is_mention=query.is_mention
        )

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
        for name in self._finder.candidates(query):
            leaf = name.rstrip("/").rpartition("/")[2]
            rank = best_rank(query, (leaf, name))
            if rank is not None:
                ranked.append((rank, len(name), name))
        ranked.sort()
        return tuple(Completion(name) for _, _, name in ranked[:MOST_SUGGESTIONS])
