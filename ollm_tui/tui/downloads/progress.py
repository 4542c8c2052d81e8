"""Downloads as the chat shows them: a figure in the status line, and a note when one ends."""

import math
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_name
from ollm_tui.frontend.download_news import MAX_LENGTH, DownloadNews, done_words, failed_words
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.dialogs import Dialogs
from ollm_tui.tui.downloads.dock_rows import progress_word
from ollm_tui.tui.keys import Keymap
from ollm_tui.tui.services import OpenChat

if TYPE_CHECKING:
    from ollm_tui.library.downloads.job import Job
    from ollm_tui.runtime.compose import Runtime
    from ollm_tui.tui.downloads.dock_actions import ShowsDownloads
    from ollm_tui.tui.downloads.find_screen import FindModels

FRAME_S: Final = 0.5
"""The figure is drawn at most once in this time."""
QUIET_S: Final = 5.0
"""How long the queue is watched after the last download has ended."""
Sleep = Callable[[float], Awaitable[None]]


async def find_models_page(
    runtime: "Runtime", keymap: Keymap, text: str = "", *, sleep: Sleep = anyio.sleep
) -> "FindModels":
    """Make the screen that finds models; it is imported in a thread."""
    await anyio.to_thread.run_sync(import_module, "ollm_tui.tui.downloads.find_screen")
    # a screen of its own, which many never open
    from ollm_tui.tui.downloads.find_screen import FindModels

    return FindModels(runtime, keymap, text, sleep=sleep)


@dataclass(slots=True)
class ChatDownloads:
    """Opens the screen that finds models, and says in the chat what was downloaded."""

    runtime: "Runtime"
    chat: OpenChat
    dialogs: Dialogs
    keymap: Keymap
    show_progress: Callable[[str], None]
    sleep: Sleep = anyio.sleep
    """How pauses pass."""
    _news: DownloadNews = field(default_factory=DownloadNews)
    _is_listed: bool = False
    """Whether another screen lists the downloads; the chat then says later what ended."""
    _chosen: ModelRef | None = None

    def find(self, text: str = "") -> None:
        """Open the screen that finds models, with a text to search for."""
        self.dialogs.run(self._find(text), "view", is_exclusive=True)

    async def _find(self, text: str) -> None:
        page = await find_models_page(self.runtime, self.keymap, text, sleep=self.sleep)
        if self.dialogs.is_free:
            self.open(page)

    def open(self, page: "ShowsDownloads") -> None:
        """Open a screen that lists the downloads too."""
        self._is_listed = True
        self.dialogs.open(page, self.came_back)

    def came_back(self, ref: ModelRef | None) -> None:
        """Watch what was started on another screen, and use the model that was chosen there."""
        self._is_listed, self._chosen = False, ref
        self.watch()
        if ref is not None:
            self.dialogs.run(self._use(ref), "fetched", is_exclusive=True)

    async def _use(self, ref: ModelRef) -> None:
        if self.runtime.catalog.find(ref) is None:  # the lists are older than it
            await self.runtime.model_info(ref)
        self.chat.use_model(ref)

    # While something is downloaded

    def watch(self) -> None:
        """Follow the downloads for as long as one is queued or running."""
        self.dialogs.run(self._watch(), "downloads", is_exclusive=True)

    async def _watch(self) -> None:
        runtime = self.runtime
        # Asking for the queue makes it, which a chat without downloads does not need.
        if not await runtime.has_downloads():
            return
        await runtime.load_fetching()
        queue = runtime.downloads
        # Watching polls the folder of the downloads: not while nothing goes on.
        with anyio.CancelScope() as scope:
            async with queue.changes() as changes:
                await self._look(queue.jobs(), scope)
                async for _job in changes:
                    await self._look(queue.jobs(), scope)
                    await self.sleep(FRAME_S)

    async def _look(self, jobs: "Sequence[Job]", scope: anyio.CancelScope) -> None:
        self.show_progress(progress_word(jobs))
        is_active = any(job.state in {"queued", "running"} for job in jobs)
        scope.deadline = math.inf if is_active else anyio.current_time() + QUIET_S
        if self._is_listed:
            return
        for job in self._news.take(jobs):
            await self._say(job)

    async def _say(self, job: "Job") -> None:
        if job.state == "done":
            await self._say_done(job)
        elif job.state == "failed":
            self._say_failed(job)

    async def _say_done(self, job: "Job") -> None:
        ref = ModelRef.parse(job.model or "")
        hint = None
        if ref is not None:
            await self.runtime.model_info(ref)
        # A model chosen on the other screen is in use already.
        if ref is not None and ref != self._chosen:
            address = self.runtime.catalog.shown_address(ref)
            hint = f"/model {clean_name(address[:MAX_LENGTH])} to chat with it."
        self.chat.say(done_words(job, self.runtime.catalog.shown_name), "info", hint)

    def _say_failed(self, job: "Job") -> None:
        words, advice = failed_words(job, self.runtime.catalog.shown_name)
        self.chat.say(words, "error", f"{advice} /pull shows the details.".strip())
