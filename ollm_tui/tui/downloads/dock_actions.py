"""Downloads on a screen: the list of them is kept up, and its keys are obeyed."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

import anyio
from textual import on, work
from textual.widgets import Input

from ollm_tui.decode.clean import clean_line
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.capabilities import FetchesLazily, KeepsDownloads
from ollm_tui.tui.dialogs.dialog import LeftOnce
from ollm_tui.tui.downloads.cancel_dialog import MUCH_BYTES, CancelDownload
from ollm_tui.tui.downloads.dock import DownloadsDock
from ollm_tui.tui.keys.table import Keymap

if TYPE_CHECKING:
    from ollm_tui.library.downloads.job import Job
    from ollm_tui.library.downloads.queue import DownloadQueue
    from ollm_tui.tui.services import Runtime

FRAME_S: Final = 0.25
"""The list is drawn at most once in this time."""
_OWN_KEYS: Final = tuple(
    f"downloads.{name}" for name in ("pause", "cancel", "retry", "dismiss", "chat", "leave")
)
Sleep = Callable[[float], Awaitable[None]]


class ShowsDownloads(LeftOnce[ModelRef | None]):
    """A screen with a `DownloadsDock` and an input; it gives the model to chat with.

    Each says what its keys yield to the list, and where it writes a sentence.
    """

    YIELDS: ClassVar[frozenset[str]] = frozenset()
    """Actions whose keys belong to the list while it has the focus."""
    PARTS: ClassVar[tuple[str, ...]] = ()
    """What must be there for it to be written on, as selectors."""

    def __init__(self, runtime: "Runtime", *, sleep: Sleep = anyio.sleep) -> None:
        super().__init__()
        self._fetches: object = runtime
        self._shown_name = runtime.catalog.shown_name
        self._sleep = sleep
        self._done: frozenset[str] = frozenset()

    # What a screen may say and do

    def say_of_downloads(self, words: str) -> None:
        """Tell why something cannot be done."""
        raise NotImplementedError

    def model_arrived(self) -> None:
        """Take note that a model has come."""

    @property
    def has_its_parts(self) -> bool:
        """Whether it can be written on: when it is closed, its parts go before its workers do."""
        return self.is_attached and all(self.query(part) for part in self.PARTS)

    # The list

    def make_dock(self, keymap: Keymap, way_here: str) -> DownloadsDock:
        """Make the list; `way_here` is the id of the key that leads to it."""
        return DownloadsDock(
            self._shown_name,
            own_keys=keymap.hints_of(*_OWN_KEYS),
            ways_here=keymap.hints_of(way_here),
        )

    @property
    def dock(self) -> DownloadsDock:
        """The list."""
        return self.query_one(DownloadsDock)

    @property
    def queue(self) -> "DownloadQueue | None":
        """The downloads; None where there are none. To ask for them makes them."""
        return self._fetches.downloads if isinstance(self._fetches, KeepsDownloads) else None

    @work(group="downloads", exclusive=True)
    async def follow_downloads(self, *, makes_them: bool = False) -> None:
        """Show the jobs as they change, for as long as the screen is there."""
        if isinstance(self._fetches, FetchesLazily):
            if not makes_them and not await self._fetches.has_downloads():
                return
            await self._fetches.load_fetching()
        queue = self.queue
        if queue is None:
            return
        async with queue.changes() as changes:
            self._show_jobs(queue.jobs(), is_first=True)
            async for _job in changes:
                self._show_jobs(queue.jobs())
                await self._sleep(FRAME_S)

    def _show_jobs(self, jobs: "Sequence[Job]", *, is_first: bool = False) -> None:
        before = self._done
        if not self.has_its_parts:
            return
        self._done = frozenset(job.id for job in jobs if job.state == "done")
        self.dock.show(jobs)
        if not is_first and self._done - before:
            self.model_arrived()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave keys to the list while it has the focus."""
        if action in self.YIELDS and isinstance(self.focused, DownloadsDock):
            return False
        return super().check_action(action, parameters)

    def action_to_downloads(self) -> None:
        """Give the keys to the list, if there is anything in it."""
        if self.dock.display:
            self.set_focus(self.dock)
        else:
            self.say_of_downloads("No recent downloads.")

    @on(DownloadsDock.Left)
    def _leave_downloads(self, event: DownloadsDock.Left) -> None:
        event.stop()
        self.set_focus(self.query_one(Input))

    @on(DownloadsDock.Wanted)
    def _do(self, event: DownloadsDock.Wanted) -> None:
        event.stop()
        job = event.job
        if event.deed == "chat":
            ref = ModelRef.parse(job.model or "")
            if ref is not None:
                self.dismiss(ref)
        elif event.deed == "cancel" and job.completed >= MUCH_BYTES:
            self.app.push_screen(CancelDownload(job, self._shown_name), self._cancels(job))
        else:
            self._carry_out(event.deed, job)

    def _cancels(self, job: "Job") -> Callable[[bool | None], None]:
        def decided(yes: bool | None) -> None:
            if yes:
                self._carry_out("cancel", job)

        return decided

    @work(group="download deed")
    async def _carry_out(self, deed: str, job: "Job") -> None:
        queue = self.queue
        if queue is None:
            return
        deeds: dict[str, Callable[[], Awaitable[Any]]] = {
            "pause": lambda: queue.pause(job.id),
            "resume": lambda: queue.resume(job.id),
            "retry": lambda: queue.add(job.origin),
            "cancel": lambda: queue.cancel(job.id),
            "dismiss": lambda: queue.dismiss(job.id),
        }
        try:
            await deeds[deed]()
        except AIError as error:
            self.say_of_downloads(clean_line(f"{error.message} {error.hint or ''}").strip())
        self._show_jobs(queue.jobs())
