"""A download job: what is downloaded, how far it is, and the states it moves through; pure.

    queued    start -> running      pause -> paused      cancel -> cancelled
    running   finish -> done        fail -> failed       pause -> paused
              interrupt -> queued   cancel -> cancelled
    paused    resume -> queued      cancel -> cancelled
    failed    resume -> queued      cancel -> cancelled
    done, cancelled: final

Pausing or cancelling a running download takes effect once its run has stopped: until then nothing
else may touch its files. `interrupt` is the end of the program: the next one continues the job.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

from ollm_tui.library.hub.repo import HubFile

JobState: TypeAlias = Literal["queued", "running", "paused", "done", "failed", "cancelled"]
"""`queued` waits for its turn; `paused` waits for a person. What failed or was paused keeps what
has come; what was cancelled is removed."""

ENDED: frozenset[JobState] = frozenset({"done", "failed", "cancelled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HubFiles:
    """Files of a repository on a hub, at one commit."""

    repo: str
    revision: str
    name: str
    """The variant's name."""
    files: tuple[HubFile, ...]
    licence: str | None = None
    kind: str = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlFile:
    """One file at an address."""

    url: str
    sha256: str | None = None
    """What the person says it must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFiles:
    """A file, or a folder with files, of this machine, to be copied into the library."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class StarterPackage:
    """The small model that comes in a package."""

    wheel: Path | None = None
    """The package, where it is here already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderPull:
    """A model that a provider's server fetches itself."""

    provider: str
    model: str


Origin: TypeAlias = HubFiles | UrlFile | LocalFiles | StarterPackage | ProviderPull


@dataclass(frozen=True, slots=True, kw_only=True)
class JobError:
    """Why a download failed, as a person reads it."""

    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One download as it stands; a new one is made for every change."""

    id: str
    origin: Origin
    title: str
    """What is fetched, as a person calls it; not cleaned."""
    state: JobState = "queued"
    note: str = ""
    """What happens now, or the line that matters: `verifying the checksum`, `resumed at 41 %`."""
    completed: int = 0
    """Bytes that are there."""
    total: int | None = None
    """Bytes in all; None while unknown."""
    bytes_per_s: float | None = None
    """Over the last seconds; None while that cannot be said."""
    seconds_left: float | None = None
    trouble: JobError | None = None
    model: str | None = None
    """`provider://model` to chat with, once it is done and can be chatted with."""
    is_elsewhere: bool = False
    """Whether another running program has it in hand; only looking on is possible then."""
    changed_at: float = 0.0
    """Seconds since 1970 of the last change of state."""

    @property
    def fraction(self) -> float | None:
        """From 0 to 1; None while the total is unknown."""
        return min(1.0, self.completed / self.total) if self.total else None


JobEvent: TypeAlias = Literal["start", "finish", "fail", "interrupt", "pause", "resume", "cancel"]

NEXT: Mapping[JobState, Mapping[JobEvent, JobState]] = MappingProxyType(
    {
        "queued": {"start": "running", "pause": "paused", "cancel": "cancelled"},
        "running": {
            "finish": "done",
            "fail": "failed",
            "interrupt": "queued",
            "pause": "paused",
            "cancel": "cancelled",
        },
        "paused": {"resume": "queued", "cancel": "cancelled"},
        "failed": {"resume": "queued", "cancel": "cancelled"},
        "done": {},
        "cancelled": {},
    }
)


def can(job: Job, event: JobEvent) -> bool:
    """Whether an event moves a job."""
    return event in NEXT[job.state]


def moved(
    job: Job,
    event: JobEvent,
    at: float,
    *,
    trouble: JobError | None = None,
    model: str | None = None,
) -> Job:
    """Give the job after an event, at so many seconds since 1970; one it does not move as it is.

    `trouble` goes with `fail`, `model` with `finish`.
    """
    if not can(job, event):
        return job
    is_whole = event == "finish" and job.total is not None
    return replace(
        job,
        state=NEXT[job.state][event],
        note="",
        completed=0 if event == "cancel" else (job.total or 0) if is_whole else job.completed,
        bytes_per_s=None,
        seconds_left=None,
        trouble=trouble if event == "fail" else None,
        model=model if event == "finish" else None,
        changed_at=at,
    )
