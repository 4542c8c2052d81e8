"""Screens with a list of downloads: the list follows the queue, and its keys act on the jobs."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

import anyio
from textual import getters, on, work
from textual.widgets import Input

from ollm_tui.decode.clean import clean_line
from ollm_tui.frontend.download_news import ShownName, title_of
from ollm_tui.frontend.figures import amount
from ollm_tui.library.downloads.job import Job
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.dialogs import LeftOnce, Passage, YesNoDialog
from ollm_tui.tui.downloads.dock import DownloadsDock
from ollm_tui.tui.keys import Keymap

if TYPE_CHECKING:
    from ollm_tui.runtime.compose import Runtime

MUCH_BYTES: Final = 50_000_000
"""From so many bytes on, cancelling asks first."""


class CancelDownload(YesNoDialog):
    """Returns whether to cancel a download; its text names pausing, which keeps the file."""

    def __init__(self, job: Job, shown_name: ShownName) -> None:
        super().__init__(
            "Cancel the download?",
            "The part downloaded so far is deleted. Pausing keeps it.",
            Passage(amount(job.completed, job.total), title_of(job, shown_name)),
            yes="cancel and delete the partial file",
            no="or Esc keep downloading",
        )


FRAME_S: Final = 0.25
"""The shortest time between two updates of the list, in seconds."""
_OWN_KEYS: Final = tuple(
    f"downloads.{name}" for name in ("pause", "cancel", "retry", "dismiss", "chat", "leave")
)
Sleep = Callable[[float], Awaitable[None]]


class ShowsDownloads(LeftOnce[ModelRef | None]):
    """A screen with a `DownloadsDock` and an input; returns the model to chat with."""

    YIELDS: ClassVar[frozenset[str]] = frozenset()
    """Actions whose keys belong to the list while it has the focus."""
    dock = getters.query_one(DownloadsDock)
    PARTS: ClassVar[tuple[str, ...]] = ()
    """Classes and ids (with `#`) of the widgets that must exist before anything is shown."""

    def __init__(self, runtime: "Runtime", *, sleep: Sleep = anyio.sleep) -> None:
        super().__init__()
        self._runtime = runtime
        self._shown_name = runtime.catalog.shown_name
        self._sleep = sleep
        self._done: frozenset[str] = frozenset()

    # For subclasses

    def say(self, words: str, *, is_error: bool = False) -> None:
        """Show a sentence, such as why an action on a download failed."""
        raise NotImplementedError

    def model_arrived(self) -> None:
        """Handle that a download is done."""

    @property
    def has_its_parts(self) -> bool:
        """Whether it can show anything: on closing, its widgets go before its workers end."""
        # One walk: queries would take one for each part, and this is asked at every change.
        names = {
            name
            for widget in self.walk_children()
            for name in (f"#{widget.id}", *(base.__name__ for base in type(widget).__mro__))
        }
        return self.is_attached and names.issuperset(self.PARTS)

    # The list

    def make_dock(self, keymap: Keymap, way_here: str) -> DownloadsDock:
        """Return the list; `way_here` is the id of the key that leads to it."""
        return DownloadsDock(
            self._shown_name,
            own_keys=keymap.hints_of(*_OWN_KEYS),
            ways_here=keymap.hints_of(way_here),
        )

    @work(group="downloads", exclusive=True)
    async def follow_downloads(self, *, makes_them: bool = False) -> None:
        """Show the jobs as they change, until the screen is closed."""
        if not makes_them and not await self._runtime.has_downloads():
            return
        await self._runtime.load_fetching()
        queue = self._runtime.downloads
        async with queue.changes() as changes:
            self._show_jobs(queue.jobs(), is_first=True)
            async for _job in changes:
                self._show_jobs(queue.jobs())
                await self._sleep(FRAME_S)

    def _show_jobs(self, jobs: Sequence[Job], *, is_first: bool = False) -> None:
        before = self._done
        if not self.has_its_parts:
            return
        self._done = frozenset(job.id for job in jobs if job.state == "done")
        self.dock.show(jobs)
        if not is_first and self._done - before:
            self.model_arrived()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable keys that the list handles while it has the focus."""
        if action in self.YIELDS and isinstance(self.focused, DownloadsDock):
            return False
        return super().check_action(action, parameters)

    def action_to_downloads(self) -> None:
        """Focus the list, if it has jobs."""
        if self.dock.display:
            self.set_focus(self.dock)
        else:
            self.say("No recent downloads.", is_error=True)

    @on(DownloadsDock.Left)
    def _leave_downloads(self, event: DownloadsDock.Left) -> None:
        event.stop()
        self.set_focus(self.query_one(Input))

    @on(DownloadsDock.Wanted)
    def _do(self, event: DownloadsDock.Wanted) -> None:
        event.stop()
        job = event.job
        if event.action == "chat":
            if (ref := ModelRef.parse(job.model or "")) is not None:
                self.dismiss(ref)
        elif event.action == "cancel" and job.completed >= MUCH_BYTES:
            dialog = CancelDownload(job, self._shown_name)
            self.app.push_screen(dialog, partial(self._cancel, job))
        else:
            self._carry_out(event.action, job)

    def _cancel(self, job: Job, is_sure: bool | None) -> None:
        if is_sure:
            self._carry_out("cancel", job)

    @work(group="download action")
    async def _carry_out(self, action: str, job: Job) -> None:
        queue = self._runtime.downloads
        actions: dict[str, Callable[[], Awaitable[Any]]] = {
            "pause": lambda: queue.pause(job.id),
            "resume": lambda: queue.resume(job.id),
            "retry": lambda: queue.add(job.origin),
            "cancel": lambda: queue.cancel(job.id),
            "dismiss": lambda: queue.dismiss(job.id),
        }
        await self.change_queue(actions[action]())

    async def change_queue(self, change: Awaitable[object]) -> None:
        """Await a change of the queue, show why it failed, and show the jobs."""
        try:
            await change
        except AIError as error:
            self.say(clean_line(str(error)).strip(), is_error=True)
        self._show_jobs(self._runtime.downloads.jobs())
