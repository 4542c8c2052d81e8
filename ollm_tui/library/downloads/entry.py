"""One download as this program has it."""

from dataclasses import dataclass, field

import anyio

from ollm_tui.library.downloads.file_lock import FileLock
from ollm_tui.library.downloads.job import Job
from ollm_tui.library.downloads.job_run import JobRun
from ollm_tui.library.downloads.job_states import JobEvent


@dataclass(slots=True, eq=False)
class Entry:
    """A job, and what of this program belongs to it."""

    job: Job
    is_kept: bool = False
    """Whether it has a file."""
    is_owned: bool = False
    """Whether this program has it in hand."""
    claim: FileLock | None = None
    """What shows that to others; None too where the folder cannot be written."""
    gate: anyio.Lock = field(default_factory=anyio.Lock)
    """One deed at a time."""
    run: JobRun | None = None
    """What runs now."""
    wanted: JobEvent = "interrupt"
    """What is to become of it once it has stopped."""

    @property
    def is_left(self) -> bool:
        """Whether its file says more of it than this program."""
        return self.is_kept and not self.is_owned and not self.gate.locked()
