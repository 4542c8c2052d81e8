"""The downloads at the bottom of a screen: a few rows, painted line by line."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, Literal, TypeAlias

from textual import events, on
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.download_news import ShownName
from ollm_tui.library.downloads.job import ENDED, Job, JobState
from ollm_tui.tui.downloads.dock_rows import job_lines
from ollm_tui.tui.keys import DOWNLOADS, KeyHint
from ollm_tui.tui.widgets import Piece, fit, paint, plain, spread, width_of

DownloadAction: TypeAlias = Literal["pause", "resume", "cancel", "retry", "dismiss", "chat"]
_STOPPED: Final[Mapping[JobState, DownloadAction]] = {"paused": "resume", "failed": "resume"}
_MEANINGS: Final[Mapping[DownloadAction, Mapping[JobState, DownloadAction]]] = {
    "pause": {"queued": "pause", "running": "pause", **_STOPPED},
    "resume": _STOPPED,
    "retry": {"cancelled": "retry", **_STOPPED},
    "cancel": dict.fromkeys(("queued", "running", "paused", "failed"), "cancel"),
    "chat": {"done": "chat"},
}
"""The actions that keys stand for, by the state of the job."""
HEADING: Final = "Downloads"
SHARE: Final = 3
"""The list takes at most one in so many rows of the screen."""


class DownloadsDock(Widget, can_focus=True):
    """Shows jobs and reports what is wanted of the marked one; takes no room without jobs."""

    BINDINGS: ClassVar[list[BindingType]] = [key.binding for key in DOWNLOADS]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"downloads--{look}"
        for look in ("heading", "quiet", "key", "bar", "busy", "done", "warning", "error", "chosen")
    }
    DEFAULT_CSS = """
    DownloadsDock {
        display: none; height: auto; color: $foreground;
        &.-shown { display: block; }
        & .downloads--heading { color: $text-primary; text-style: bold; }
        & .downloads--quiet { color: $text-muted; }
        & .downloads--key { color: $text-accent; text-style: bold; }
        & .downloads--bar { color: $text-accent; }
        & .downloads--busy { color: $text-accent; }
        & .downloads--done { color: $text-success; }
        & .downloads--warning { color: $text-warning; }
        & .downloads--error { color: $text-error; }
        & .downloads--chosen {
            background: $block-cursor-background; color: $block-cursor-foreground;
            text-style: $block-cursor-text-style;
        }
        &:ansi .downloads--quiet { text-style: dim; }
        &:ansi .downloads--chosen { text-style: reverse; }
    }
    """

    @dataclass
    class Wanted(Message):
        """An action on a job was requested."""

        action: DownloadAction
        job: Job

    class Left(Message):
        """The list wants to give up the focus."""

    def __init__(
        self,
        shown_name: ShownName,
        *,
        own_keys: Sequence[KeyHint] = (),
        ways_here: Sequence[KeyHint] = (),
    ) -> None:
        """Show `own_keys` in the heading while focused, else `ways_here`, which lead to it."""
        super().__init__()
        self._shown_name = shown_name
        self._own_keys, self._ways_here = own_keys, ways_here
        self._jobs: tuple[Job, ...] = ()
        self._lines: list[tuple[int, list[Piece]]] = []
        """The index of the job and the line."""
        self._marked: str | None = None
        self._top = 0

    # What is shown

    @property
    def marked(self) -> Job | None:
        """The job that keys act on, or None."""
        return next((job for job in self._jobs if job.id == self._marked), None)

    def show(self, jobs: Sequence[Job]) -> None:
        """Show these jobs; unchanged lines are not repainted."""
        jobs = in_order(jobs)
        if jobs == self._jobs:
            return
        index, known = self._marked_index, {job.id for job in self._jobs}
        self._jobs = jobs
        if known and not self.has_focus:  # a job that has just begun should be visible
            new = [job for job in jobs if job.id not in known and job.state != "done"]
            self._marked = new[-1].id if new else self._marked
        if self._jobs and self.marked is None:  # the marked job is gone
            self._marked = self._jobs[min(index, len(self._jobs) - 1)].id
        self._write()

    def _write(self) -> None:
        before, width = self._lines, self.size.width or self.screen.size.width
        self._lines = [
            (number, line)
            for number, job in enumerate(self._jobs)
            for line in job_lines(job, width, self._shown_name)
        ]
        if before == self._lines:
            return
        self.set_class(bool(self._jobs), "-shown")
        if not self._jobs and self.has_focus:
            self.post_message(self.Left())
        self._scroll()
        self.refresh(layout=len(before) != len(self._lines))

    @property
    def _marked_index(self) -> int:
        ids = [job.id for job in self._jobs]
        return ids.index(self._marked) if self._marked in ids else 0

    @property
    def _rows(self) -> int:
        return max(1, min(len(self._lines), self.screen.size.height // SHARE - 1))

    def _scroll(self) -> None:
        """Keep all lines of the marked job in view."""
        marked = self._marked_index
        mine = [row for row, (number, _line) in enumerate(self._lines) if number == marked]
        if mine:
            lowest = max(self._top, mine[-1] - self._rows + 1)
            self._top = min(lowest, mine[0])
        self._top = max(0, min(self._top, len(self._lines) - self._rows))

    # Painting

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the heading and the rows of the jobs, up to a share of the screen."""
        return 1 + self._rows if self._jobs else 0

    def on_resize(self, _event: events.Resize) -> None:
        """Write the rows for the new width."""
        self._write()
        self._scroll()

    @on(events.Focus)
    @on(events.Blur)
    def _show_other_keys(self) -> None:
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Paint the heading or a line of a job."""
        width, row = self.size.width, self._top + y - 1
        if y == 0:
            return paint(self, "downloads", self._heading(width), width)
        if row >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        number, pieces = self._lines[row]
        if self.has_focus and number == self._marked_index:
            pieces = [Piece(fit(plain(pieces), width), "chosen")]
        return paint(self, "downloads", pieces, width)

    def _heading(self, width: int) -> list[Piece]:
        rest = len(self._lines) - self._rows
        more = f"  {counted(rest, 'more line')}" if rest > 0 else ""
        left = [Piece(f" {HEADING}", "heading"), Piece(more, "quiet")]
        hints = self._own_keys if self.has_focus else self._ways_here
        keys: list[Piece] = []
        for hint in hints:
            piece = [Piece(f"  {hint.label}", "key"), Piece(f" {hint.description}", "quiet")]
            if width_of(left) + width_of(keys) + width_of(piece) + 1 < width:
                keys += piece
        return spread(left, [*keys, Piece(" ")], width)

    # Keys

    def action_mark(self, steps: int) -> None:
        """Mark another job."""
        if self._jobs:
            index = max(0, min(len(self._jobs) - 1, self._marked_index + steps))
            self._marked = self._jobs[index].id
            self._scroll()
            self.refresh()

    def action_want(self, action: DownloadAction) -> None:
        """Request an action on the marked job, if it makes sense."""
        if (job := self.marked) is not None and (wanted := meaning(action, job)) is not None:
            self.post_message(self.Wanted(wanted, job))

    def action_leave(self) -> None:
        """Give up the focus."""
        self.post_message(self.Left())


def in_order(jobs: Sequence[Job]) -> tuple[Job, ...]:
    """Return unfinished jobs first, then those that are done, the newest first."""
    rest = [job for job in jobs if job.state != "done"]
    done = sorted((job for job in jobs if job.state == "done"), key=lambda job: -job.changed_at)
    return (*rest, *done)


def meaning(action: DownloadAction, job: Job) -> DownloadAction | None:
    """Return the action that a key stands for in the job's state, or None."""
    if action == "dismiss":
        return action if job.state in ENDED else None
    if action == "chat" and job.model is None:
        return None
    return None if job.is_elsewhere else _MEANINGS[action].get(job.state)
