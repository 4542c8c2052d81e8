"""A download's file as a person sees it who did not write it."""

from dataclasses import replace
from typing import Final

from ollm_tui.library.downloads.job import Job, JobError
from ollm_tui.library.downloads.job_folder import FoundJob
from ollm_tui.library.downloads.origin_record import same

INTERRUPTED: Final = "interrupted"
ADDRESS_LOST: Final = JobError(
    message="Its address has a name, a password or a query, which is not saved.",
    hint="Enter the whole address again to resume.",
)


def as_seen(found: FoundJob, known: Job | None) -> Job:
    """Give how a download stands; `known` is what this program knew of it.

    What ran or waited and is in nobody's hand was interrupted, and waits. An address that was not
    kept whole is that of `known`; without it, there is nothing to ask.
    """
    job = replace(found.job, is_elsewhere=found.is_held)
    if not found.is_whole:
        if known is not None and same(known.origin, job.origin) and known.trouble != ADDRESS_LOST:
            job = replace(job, origin=known.origin)
        elif not found.is_held and job.state not in {"done", "cancelled"}:
            return replace(job, state="failed", note="", trouble=ADDRESS_LOST)
    if not found.is_held and job.state in {"queued", "running"}:
        return replace(job, state="queued", note=INTERRUPTED)
    return job
