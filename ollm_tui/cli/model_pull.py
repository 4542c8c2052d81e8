"""`ollm models pull`: a download by any provider that can, watched and stopped."""

import time
from functools import partial

import anyio

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_runtime import Stopped, in_runtime, provider_for
from ollm_tui.cli.output import OK, Output
from ollm_tui.cli.pull_report import (
    REDRAW_S,
    JsonReport,
    LiveReport,
    PlainReport,
    PullReport,
)
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.providers.operations import pulling
from ollm_tui.providers.single_error import single_error
from ollm_tui.runtime.compose import Runtime


def run_pull(arguments: Arguments, output: Output) -> int:
    """Have a model fetched; a signal stops it cleanly, and the next run goes on."""
    reports: list[PullReport] = []
    try:
        in_runtime(arguments, output, partial(_pull, arguments, output, reports))
    except Stopped:
        for report in reports:
            report.stopped()
        raise
    for report in reports:
        report.done()
    return OK


async def _pull(
    arguments: Arguments, output: Output, reports: list[PullReport], runtime: Runtime
) -> None:
    adapter, ref = provider_for(runtime, arguments.name)
    report = _report(output, ref, as_json=arguments.as_json)
    reports.append(report)
    try:
        with single_error():
            async with anyio.create_task_group() as group:
                group.start_soon(_tick, report)
                async with pulling(adapter, ref.model) as progress:
                    async for step in progress:
                        report.progress(step)
                group.cancel_scope.cancel()
    except AIError:
        report.failed()
        raise


async def _tick(report: PullReport) -> None:
    """Keep the shown state fresh when the server falls silent after a burst."""
    while True:
        await anyio.sleep(REDRAW_S)
        report.tick()


def _report(output: Output, ref: ModelRef, *, as_json: bool) -> PullReport:
    if as_json:
        return JsonReport(output, ref)
    kind = LiveReport if output.is_watched else PlainReport
    return kind(output, ref, time.monotonic)
