"""What a chat says of downloads: which have ended since the last look, and how; pure."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import size_text
from ollm_tui.frontend.figures import amount

if TYPE_CHECKING:
    from ollm_tui.library.downloads.job import Job, JobState

MAX_LENGTH: Final = 500
"""Characters of a name or a message that are used; no line shows as many."""
ShownName: TypeAlias = Callable[[str], str]
"""Returns a provider's name as people write it."""


def title_of(job: "Job", shown_name: ShownName) -> str:
    """Return what is downloaded, and by which provider if not by this program."""
    # Loaded by now, with the job.
    from ollm_tui.library.downloads.job import ProviderPull

    name = clean_name(job.title[:MAX_LENGTH])
    if not isinstance(job.origin, ProviderPull):
        return name
    provider = shown_name(job.origin.provider)
    return name if provider in name else f"{name} on {clean_name(provider[:MAX_LENGTH])}"


@dataclass(slots=True)
class DownloadNews:
    """Knows the downloads as they were at the last look."""

    _began: float = field(default_factory=time.time)
    _states: "dict[str, JobState]" = field(default_factory=dict)

    def take(self, jobs: "Iterable[Job]") -> "Sequence[Job]":
        """Return the jobs of this program whose state has changed."""
        before, listed = self._states, list(jobs)
        self._states = {job.id: job.state for job in listed}
        return [
            job
            for job in listed
            if before.get(job.id) != job.state
            and (job.id in before or job.changed_at >= self._began)
            and not job.is_elsewhere
        ]


def done_words(job: "Job", shown_name: ShownName) -> str:
    """Return a sentence about a download that is there."""
    amount = f", {size_text(job.completed)}" if job.completed else ""
    return f"Downloaded {title_of(job, shown_name)}{amount}."


def failed_words(job: "Job", shown_name: ShownName) -> tuple[str, str]:
    """Return a sentence about a download that failed, and what may help."""
    error = job.error
    reason = clean_line(error.message[:MAX_LENGTH]) if error is not None else "It failed."
    advice = clean_line((error.hint or "")[:MAX_LENGTH]) if error is not None else ""
    return f"{title_of(job, shown_name)} could not be downloaded. {reason}", advice


def progress_words(job: "Job") -> str:
    """Return how far a download is, in words: `stopped at 41 percent, 2.1 of 5.2 GB`."""
    words = {"queued": "waiting", "running": "", "paused": "stopped"}.get(job.state, job.state)
    if job.state in {"done", "cancelled"}:
        return f"{words}, {size_text(job.total)}" if job.state == "done" and job.total else words
    share = f"{100 * (job.fraction or 0):.0f} percent" if job.total else ""
    figures = [share, amount(job.completed, job.total) if job.completed or job.total else ""]
    figures = [one for one in figures if one]
    where = ["in another window"] if job.is_elsewhere else []
    if words and figures:
        figures[0] = f"{words} at {figures[0]}"
    elif words or not figures:
        figures = [words or "running"]
    return ", ".join([*figures, *where])
