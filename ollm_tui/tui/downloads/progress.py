"""Downloads as the chat sees them: a figure in the status line, and a word when one has ended."""

import math
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.library.downloads.job import Job, JobState
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.capabilities import FetchesLazily, KeepsDownloads
from ollm_tui.tui.downloads.dock_rows import progress_word, title_of
from ollm_tui.tui.figures import size
from ollm_tui.tui.keys.keymap import Keymap
from ollm_tui.tui.services import Runtime

if TYPE_CHECKING:
    from ollm_tui.tui.chat.controller import ChatController
    from ollm_tui.tui.chat.screen import ChatScreen
    from ollm_tui.tui.downloads.dock_actions import ShowsDownloads
    from ollm_tui.tui.downloads.find_screen import FindModels

FRAME_S: Final = 0.5
"""The figure is drawn at most once in this time."""
QUIET_S: Final = 5.0
"""So long after the last of them has ended nobody watches any more."""
_LONGEST: Final = 500
Sleep = Callable[[float], Awaitable[None]]


async def find_models_page(
    runtime: Runtime, keymap: Keymap, text: str = "", *, sleep: Sleep = anyio.sleep
) -> "FindModels":
    """Make the screen that finds models, without holding anybody up."""
    make = await anyio.to_thread.run_sync(_find_models_class)
    return make(runtime, keymap, text, sleep=sleep)


def _find_models_class() -> "type[FindModels]":
    # a screen of its own, which many never open
    from ollm_tui.tui.downloads.find_screen import FindModels

    return FindModels


class Fetching:
    """Opens the screen that finds models, and tells the chat of what has come."""

    def __init__(
        self,
        screen: "ChatScreen",
        controller: "ChatController",
        sleep: Sleep = anyio.sleep,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._screen = screen
        self._desk = controller
        self.sleep = sleep
        """How pauses pass."""
        self._began = wall_clock()
        self._states: dict[str, JobState] = {}
        self._is_listed = False
        """Whether another screen lists them, so that the chat tells what came afterwards."""
        self._taken: ModelRef | None = None

    def find(self, text: str = "") -> None:
        """Open the screen that finds models, with what is looked for."""
        self._screen.run_worker(self._find(text), group="view", exclusive=True)

    async def _find(self, text: str) -> None:
        page = await find_models_page(
            self._desk.runtime, self._screen.keymap, text, sleep=self.sleep
        )
        if self._screen.app.screen is self._screen:
            self.open(page)

    def open(self, page: "ShowsDownloads") -> None:
        """Open a screen that lists the downloads too."""
        self._is_listed = True
        self._screen.app.push_screen(page, self.came_back)

    def came_back(self, ref: ModelRef | None) -> None:
        """Look what was begun on another screen, and use the model that was chosen there."""
        self._is_listed, self._taken = False, ref
        self.watch()
        if ref is not None:
            self._screen.run_worker(self._use(ref), group="fetched", exclusive=True)

    async def _use(self, ref: ModelRef) -> None:
        if self._desk.runtime.catalog.find(ref) is None:  # the lists are older than it
            await self._desk.runtime.model_info(ref)
        self._desk.use_model(ref)

    # While something is fetched

    def watch(self) -> None:
        """Follow the downloads from now on, for as long as there is something to follow."""
        self._screen.run_worker(self._watch(), group="downloads", exclusive=True)

    async def _watch(self) -> None:
        runtime = self._desk.runtime
        # To ask for the queue makes it, which a chat without downloads does not need.
        if isinstance(runtime, FetchesLazily):
            if not await runtime.has_downloads():
                return
            await runtime.load_fetching()
        if not isinstance(runtime, KeepsDownloads):
            return
        queue = runtime.downloads
        # Somebody who watches has the folder of the downloads looked at: not while all rests.
        with anyio.CancelScope() as scope:
            async with queue.changes() as changes:
                await self._look(queue.jobs(), scope)
                async for _job in changes:
                    await self._look(queue.jobs(), scope)
                    await self.sleep(FRAME_S)

    async def _look(self, jobs: Sequence[Job], scope: anyio.CancelScope) -> None:
        self._desk.status.show_downloads(progress_word(jobs))
        is_active = any(job.state in {"queued", "running"} for job in jobs)
        scope.deadline = math.inf if is_active else anyio.current_time() + QUIET_S
        if self._is_listed:
            return
        before, self._states = self._states, {job.id: job.state for job in jobs}
        for job in jobs:
            is_news = before.get(job.id) != job.state and (
                job.id in before or job.changed_at >= self._began
            )
            if is_news and not job.is_elsewhere:
                await self._tell(job)

    async def _tell(self, job: Job) -> None:
        if job.state == "done":
            await self._tell_done(job)
        elif job.state == "failed":
            self._tell_failed(job)

    async def _tell_done(self, job: Job) -> None:
        amount = f", {size(job.completed)}" if job.completed else ""
        ref = ModelRef.parse(job.model or "")
        hint = None
        if ref is not None:
            await self._desk.runtime.model_info(ref)
        # Who chose it on the other screen is told that it answers, and need not be told how.
        if ref is not None and ref != self._taken:
            address = self._desk.runtime.catalog.shown_address(ref)
            hint = f"/model {clean_name(address[:_LONGEST])} to chat with it."
        self._desk.say(f"Downloaded {self._title(job)}{amount}.", "info", hint)

    def _tell_failed(self, job: Job) -> None:
        trouble = job.trouble
        words = clean_line(trouble.message[:_LONGEST]) if trouble is not None else "It failed."
        advice = clean_line((trouble.hint or "")[:_LONGEST]) if trouble is not None else ""
        hint = " ".join(filter(None, (advice, "/pull shows the details.")))
        self._desk.say(f"{self._title(job)} could not be downloaded. {words}", "error", hint)

    def _title(self, job: Job) -> str:
        return title_of(job, self._desk.runtime.catalog.shown_name)
