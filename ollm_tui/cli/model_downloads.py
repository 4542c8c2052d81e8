"""`ollm models downloads`: the queue of downloads, and going on with them or not."""

from collections.abc import Sequence
from functools import partial

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.figures import size_text
from ollm_tui.cli.job_report import job_to_json
from ollm_tui.cli.model_fetch import go_on, report_for
from ollm_tui.cli.model_pull import code_of
from ollm_tui.cli.model_runtime import in_runtime_heard
from ollm_tui.cli.output import OK, Output, UsageError
from ollm_tui.cli.stop import Stop
from ollm_tui.library.downloads.job import Job
from ollm_tui.library.downloads.queue import DownloadQueue
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.runtime.compose import Runtime
from ollm_tui.tui.figures import time_left

_HEAD = ("ID", "STATE", "MODEL", "SO FAR", "OF", "NOTE")


def run_downloads(arguments: Arguments, output: Output) -> int:
    """List the downloads, or do something with one."""
    return in_runtime_heard(arguments, output, partial(_do, arguments, output))


async def _do(arguments: Arguments, output: Output, runtime: Runtime, stop: Stop) -> int:
    queue, deed, wanted = runtime.downloads, arguments.models.deed, arguments.models.job
    jobs = await queue.loaded_jobs()
    if deed is None:
        _listed(jobs, output, as_json=arguments.as_json)
        return OK
    if wanted is None:
        raise UsageError("Which download?", "`ollm models downloads` lists them with their ids.")
    job = _meant(jobs, wanted)
    if deed == "resume":
        stop.answering = True  # from now on a signal pauses the download
        report = report_for(arguments, output, runtime)
        return code_of(await go_on(queue, job.id, stop.signal, report), stop)
    await _put(queue, deed, job)
    state = "paused" if deed == "pause" else "cancelled"
    if arguments.as_json:
        output.json({"id": job.id, "title": job.title, "state": state})
    else:
        output.note(f"{job.title} is {state}.")
    return OK


async def _put(queue: DownloadQueue, deed: str, job: Job) -> None:
    if deed == "pause":
        await queue.pause(job.id)
    else:
        await queue.cancel(job.id)


def _listed(jobs: Sequence[Job], output: Output, *, as_json: bool) -> None:
    if as_json:
        output.json([job_to_json(job) for job in jobs], indent=2)
    elif jobs:
        output.table(_HEAD, [_row(job) for job in jobs])
    else:
        output.note("No downloads.")


def _row(job: Job) -> tuple[str, ...]:
    return (
        job.id,
        job.state,
        job.title,
        size_text(job.completed),
        size_text(job.total),
        _note(job),
    )


def _note(job: Job) -> str:
    if job.error is not None:
        return job.error.message
    left = f"{time_left(job.seconds_left)} left" if job.seconds_left is not None else ""
    elsewhere = "another program is downloading it" if job.is_elsewhere else ""
    return ", ".join(part for part in (job.note, left, elsewhere) if part)


def _meant(jobs: Sequence[Job], wanted: str) -> Job:
    """Find a download by its id, or any part of its id or title that only one has.

    Raises:
        AIError: there is none, or there are several.
    """
    exact = [job for job in jobs if job.id == wanted]
    found = exact or [job for job in jobs if wanted in job.id or wanted in job.title]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(job.id for job in found)
        raise AIError(ErrorCode.CONFLICT, f"Several downloads match: {names}.")
    raise AIError(
        ErrorCode.BAD_REQUEST,
        f"There is no download {wanted!r}.",
        hint="`ollm models downloads` lists them with their ids.",
    )
