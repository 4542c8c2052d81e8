"""Downloads of the queue: having one made, watching it, and `ollm models downloads`."""

from collections.abc import AsyncIterator, Sequence
from functools import partial

import anyio

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_format import Address
from ollm_tui.cli.model_runtime import in_stoppable_runtime
from ollm_tui.cli.output import ERROR, OK, Output, UsageError
from ollm_tui.cli.pull_report import JobReport, JsonJob, LiveJob, PlainJob, job_to_json
from ollm_tui.cli.stop import Stop
from ollm_tui.decode.counted import size_text
from ollm_tui.frontend.figures import time_left
from ollm_tui.library.downloads.job import ENDED, Job, Origin
from ollm_tui.library.downloads.queue import DownloadQueue
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.runtime.compose import Runtime
from ollm_tui.tasks import single_error

RESUME_HINT = "Paused. Repeat the command to resume, or resume it in the app (F3)."
CONTINUES_ELSEWHERE = "Stopped watching; the other program continues."


async def download(
    queue: DownloadQueue, origin: Origin, signal: AbortSignal, report: JobReport
) -> Job:
    """Download something until its end; the signal pauses it, a failure is an `AIError`."""
    async with queue.changes() as changes:
        job = await queue.add(origin)
        if job.state == "paused":
            await queue.resume(job.id)
        return await _follow(queue, job.id, changes, signal, report)


async def resume(queue: DownloadQueue, job_id: str, signal: AbortSignal, report: JobReport) -> Job:
    """Resume a download, and return its job at the end; an `AIError` if it failed."""
    async with queue.changes() as changes:
        await queue.resume(job_id)
        return await _follow(queue, job_id, changes, signal, report)


def report_for(arguments: Arguments, output: Output, address: Address) -> JobReport:
    """Return what reports the progress of a download; `address` writes that of a model."""
    live = LiveJob if output.is_watched else PlainJob
    return (JsonJob if arguments.as_json else live)(output, address)


async def _follow(
    queue: DownloadQueue,
    job_id: str,
    changes: AsyncIterator[Job],
    signal: AbortSignal,
    report: JobReport,
) -> Job:
    stopped = anyio.Event()
    forget = signal.subscribe(stopped.set)

    async def pause_when_stopped() -> None:
        await stopped.wait()
        with anyio.CancelScope(shield=True):
            try:
                await queue.pause(job_id)
            except AIError:  # another program downloads it, and continues
                group.cancel_scope.cancel()

    try:
        with single_error():
            async with anyio.create_task_group() as group:
                group.start_soon(pause_when_stopped)
                await _until_end(queue, job_id, changes, report)
                group.cancel_scope.cancel()
    finally:
        forget()
    return _finish(_newest(queue, job_id), report)


async def _until_end(
    queue: DownloadQueue, job_id: str, changes: AsyncIterator[Job], report: JobReport
) -> None:
    job = _newest(queue, job_id)
    report.progress(job)
    if job.state in ENDED:
        return
    async for change in changes:
        if change.id != job_id:
            continue
        report.progress(change)
        if change.state in ENDED or change.state == "paused":
            return


def _newest(queue: DownloadQueue, job_id: str) -> Job:
    for job in queue.jobs():
        if job.id == job_id:
            return job
    raise AIError(ErrorCode.CONFLICT, "The download was removed from the list by another program.")


def _finish(job: Job, report: JobReport) -> Job:
    """Report the end; raise for a download that failed."""
    is_left = job.is_elsewhere and job.state not in ENDED
    report.ended(job, CONTINUES_ELSEWHERE if is_left else RESUME_HINT)
    if job.state == "failed":
        error = job.error
        message = error.message if error else f"{job.title} could not be downloaded."
        raise AIError(ErrorCode.ENGINE_ERROR, message, hint=error.hint if error else None)
    return job


def code_of(job: Job, stop: Stop) -> int:
    """Return the exit code of a download's end."""
    if job.state == "done":
        return OK
    return stop.exit_code if stop.number is not None else ERROR


_HEAD = ("ID", "STATE", "MODEL", "SO FAR", "OF", "NOTE")


def run_downloads(arguments: Arguments, output: Output) -> int:
    """List the downloads, or do something with one."""
    return in_stoppable_runtime(arguments, output, partial(_run_action, arguments, output))


async def _run_action(arguments: Arguments, output: Output, runtime: Runtime, stop: Stop) -> int:
    queue, options = runtime.downloads, arguments.models
    action, wanted = options.job_action, options.job
    jobs = await queue.loaded_jobs()
    if action is None:
        _write_jobs(jobs, output, as_json=arguments.as_json)
        return OK
    if wanted is None:
        raise UsageError("Which download?", "`ollm models downloads` lists them with their ids.")
    job = _matching_job(jobs, wanted)
    if action == "resume":
        stop.answering = True  # from now on a signal pauses the download
        report = report_for(arguments, output, runtime.catalog.shown_address)
        return code_of(await resume(queue, job.id, stop.signal, report), stop)
    if action == "pause":
        await queue.pause(job.id)
    else:
        await queue.cancel(job.id)
    state = "paused" if action == "pause" else "cancelled"
    if arguments.as_json:
        output.json({"id": job.id, "title": job.title, "state": state})
    else:
        output.note(f"{job.title} is {state}.")
    return OK


def _write_jobs(jobs: Sequence[Job], output: Output, *, as_json: bool) -> None:
    if as_json:
        output.json([job_to_json(job) for job in jobs], indent=2)
    elif jobs:
        output.table(_HEAD, [_row_of(job) for job in jobs])
    else:
        output.note("No downloads.")


def _row_of(job: Job) -> tuple[str, ...]:
    sizes = (size_text(job.completed), size_text(job.total))
    return (job.id, job.state, job.title, *sizes, _note_of(job))


def _note_of(job: Job) -> str:
    if job.error is not None:
        return job.error.message
    left = f"{time_left(job.seconds_left)} left" if job.seconds_left is not None else ""
    elsewhere = "another program is downloading it" if job.is_elsewhere else ""
    return ", ".join(part for part in (job.note, left, elsewhere) if part)


def _matching_job(jobs: Sequence[Job], wanted: str) -> Job:
    """Find a download by its id, or any part of its id or title that only one has."""
    exact = [job for job in jobs if job.id == wanted]
    matches = exact or [job for job in jobs if wanted in job.id or wanted in job.title]
    if len(matches) == 1:
        return matches[0]
    if matches:
        names = ", ".join(job.id for job in matches)
        raise AIError(ErrorCode.CONFLICT, f"Several downloads match: {names}.")
    raise AIError(
        ErrorCode.BAD_REQUEST,
        f"There is no download {wanted!r}.",
        hint="`ollm models downloads` lists them with their ids.",
    )
