"""A download job: what is downloaded, how far it is, and the states it moves through; pure.

Pausing or cancelling a running download takes effect once its run has stopped: until then nothing
else may touch its files. `interrupt` is the end of the program: the next one continues the job.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.library.hub.repo import HubFile

JobState: TypeAlias = Literal["queued", "running", "paused", "done", "failed", "cancelled"]
"""`queued` waits for its turn, `paused` for the user. Failed and paused jobs keep what arrived;
that of a cancelled one is deleted."""

ENDED: frozenset[JobState] = frozenset({"done", "failed", "cancelled"})
JobEvent: TypeAlias = Literal["start", "finish", "fail", "interrupt", "pause", "resume", "cancel"]
TRANSITIONS: Mapping[JobState, Mapping[JobEvent, JobState]] = {
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


@dataclass(frozen=True, slots=True, kw_only=True)
class HubFiles:
    """Files of a hub's repository, at one commit."""

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
    """The checksum that the user expects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFiles:
    """A file or a folder on this machine, to be copied into the library."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class StarterPackage:
    """The small model that is distributed as a Python package."""

    wheel: Path | None = None
    """The package, if it is on this machine already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderPull:
    """A model that a provider's server downloads itself."""

    provider: str
    model: str


Origin: TypeAlias = HubFiles | UrlFile | LocalFiles | StarterPackage | ProviderPull


@dataclass(frozen=True, slots=True, kw_only=True)
class JobError:
    """Why a download failed, for the user."""

    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One download at one moment; every change makes a new one."""

    id: str
    origin: Origin
    title: str
    """The name for display; not cleaned."""
    state: JobState = "queued"
    note: str = ""
    """The current activity: `verifying the checksum`, `resumed at 41 %`, ..."""
    completed: int = 0
    """Bytes present."""
    total: int | None = None
    """Bytes in all; None while unknown."""
    bytes_per_s: float | None = None
    """Over the last seconds; None while unknown."""
    seconds_left: float | None = None
    error: JobError | None = None
    model: str | None = None
    """`provider://model`, once it is done and if it can be chatted with."""
    is_elsewhere: bool = False
    """Whether another running program owns it: here it can only be watched."""
    changed_at: float = 0.0
    """When the state changed last, in seconds since 1970."""

    @property
    def fraction(self) -> float | None:
        """From 0 to 1; None while the total is unknown."""
        return min(1.0, self.completed / self.total) if self.total else None


def can(job: Job, event: JobEvent) -> bool:
    """Whether an event applies to a job in its state."""
    return event in TRANSITIONS[job.state]


def transition(
    job: Job, event: JobEvent, at: float, *, error: JobError | None = None, model: str | None = None
) -> Job:
    """Return the job after an event at `at`, in seconds since 1970; unchanged if it cannot apply.

    `error` goes with `fail`, `model` with `finish`.
    """
    if not can(job, event):
        return job
    is_whole = event == "finish" and job.total is not None
    return replace(
        job,
        state=TRANSITIONS[job.state][event],
        note="",
        completed=0 if event == "cancel" else (job.total or 0) if is_whole else job.completed,
        bytes_per_s=None,
        seconds_left=None,
        error=error if event == "fail" else None,
        model=model if event == "finish" else None,
        changed_at=at,
    )
