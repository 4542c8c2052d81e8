"""`ollm models pull`: a download by any provider that can, watched and stopped."""

import time

import anyio

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_runtime import Stopped, in_runtime, named
from ollm_tui.cli.output import OK, Output
from ollm_tui.cli.pull_report import (
    GO_ON,
    LOOK_AGAIN,
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


class _Pull:
    """One download; what is known of it when a signal ends the run."""

    def __init__(self, arguments: Arguments, output: Output) -> None:
        self._arguments = arguments
        self._output = output
        self.report: PullReport | None = None
        self.advice = LOOK_AGAIN

    async def run(self, runtime: Runtime) -> PullReport:
        """Have the model fetched, and give what is to be told the end."""
        adapter, ref = await runtime.manager.provider_for(named(self._arguments.name))
        self.report = report = _report(self._output, ref, as_json=self._arguments.as_json)
        settings = runtime.config.providers.get(adapter.name)
        if settings is not None and settings.kind == "ollama":
            self.advice = GO_ON  # it stops when nobody looks
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
        return report


def run_pull(arguments: Arguments, output: Output) -> int:
    """Have a model fetched; a signal stops it cleanly, and the next run goes on."""
    pull = _Pull(arguments, output)
    try:
        report = in_runtime(arguments, output, pull.run)
    except Stopped:
        if pull.report is not None:
            pull.report.stopped(pull.advice)
        raise
    report.done()
    return OK


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
