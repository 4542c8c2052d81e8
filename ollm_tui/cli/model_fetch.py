"""Fetching files into the library by the queue of downloads, watched and stopped."""

from collections.abc import AsyncIterator

import anyio

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.job_report import JobReport, JsonJob, LiveJob, PlainJob
from ollm_tui.cli.output import Output
from ollm_tui.library.downloads.job import ENDED, Job, Origin
from ollm_tui.library.downloads.queue import DownloadQueue
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.single_error import single_error
from ollm_tui.runtime.compose import Runtime

GO_ON = "Paused. Repeat the command to resume, or resume it in the app (F3)."
ELSEWHERE = "Another program is downloading it; showing its progress."
GOES_ON_ELSEWHERE = "Stopped watching; the other program continues."


async def fetch(
    queue: DownloadQueue,
    origin: Origin,
    signal: AbortSignal,
    report: JobReport,
) -> Job:
    """Have something fetched and give how it ended; the signal pauses it.

    Raises:
        AIError: it cannot be downloaded, or fetching it failed.
    """
    async with queue.changes() as changes:
        job = await queue.add(origin)
        if job.state == "paused":
            await queue.resume(job.id)
        return await _followed(queue, job.id, changes, signal, report)


async def go_on(queue: DownloadQueue, job_id: str, signal: AbortSignal, report: JobReport) -> Job:
    """Let a paused or failed download go on, and give how it ended.

    Raises:
        AIError: another program has it, or it failed again.
    """
    async with queue.changes() as changes:
        await queue.resume(job_id)
        return await _followed(queue, job_id, changes, signal, report)


def report_for(arguments: Arguments, output: Output, runtime: Runtime) -> JobReport:
    """Give what tells how far a download is."""
    if arguments.as_json:
        return JsonJob(output)
    kind = LiveJob if output.is_watched else PlainJob
    return kind(output, runtime.catalog.shown_address)


async def _followed(
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
            except AIError:  # another program has it, and goes on
                group.cancel_scope.cancel()

    try:
        with single_error():
            async with anyio.create_task_group() as group:
                group.start_soon(pause_when_stopped)
                await _until_end(queue, job_id, changes, report)
                group.cancel_scope.cancel()
    finally:
        forget()
    return _ended(_newest(queue, job_id), report)


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


def _ended(job: Job, report: JobReport) -> Job:
    """Tell how it ended.

    Raises:
        AIError: it failed.
    """
    is_left = job.is_elsewhere and job.state not in ENDED
    report.ended(job, GOES_ON_ELSEWHERE if is_left else GO_ON)
    if job.state == "failed":
        trouble = job.error
        message = trouble.message if trouble else f"{job.title} could not be downloaded."
        raise AIError(ErrorCode.ENGINE_ERROR, message, hint=trouble.hint if trouble else None)
    return job
