"""The states of a download, and what moves it from one to the next; pure.

    queued    start -> running      pause -> paused      cancel -> cancelled
    running   finish -> done        fail -> failed       pause -> paused
              interrupt -> queued   cancel -> cancelled
    paused    resume -> queued      cancel -> cancelled
    failed    resume -> queued      cancel -> cancelled
    done, cancelled: nothing moves them

What a person asks of a running download is an event only when what runs has stopped: until then
nobody else may touch its files. `interrupt` is the end of the program: the next one goes on.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Literal, TypeAlias

from ollm_tui.library.downloads.job import Job, JobError, JobState

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
