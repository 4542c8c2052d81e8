"""A download that a provider's server does itself, watched and stopped."""

import time

import anyio

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.output import Output
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


class ProviderFetch:
    """One download; what is known of it when a signal ends the run."""

    def __init__(self, arguments: Arguments, output: Output) -> None:
        self._arguments = arguments
        self._output = output
        self._report: PullReport | None = None
        self._advice = LOOK_AGAIN

    async def run(self, name: str, runtime: Runtime) -> None:
        """Have the model fetched."""
        adapter, ref = await runtime.manager.provider_for(name)
        if not self._arguments.as_json:
            ref = ModelRef(runtime.catalog.shown_name(ref.provider), ref.model)
        self._report = report = _report(self._output, ref, as_json=self._arguments.as_json)
        settings = runtime.config.providers.get(adapter.name)
        if settings is not None and settings.kind == "ollama":
            self._advice = GO_ON  # it stops when nobody looks
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

    def done(self) -> None:
        """Tell that it is there, where this has fetched anything."""
        if self._report is not None:
            self._report.done()

    def stopped(self) -> None:
        """Tell how it goes on after a signal."""
        if self._report is not None:
            self._report.stopped(self._advice)


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
