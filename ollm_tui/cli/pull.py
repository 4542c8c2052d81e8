"""`ollm models pull`: a model by any provider that can, or of a hub, an address or this machine."""

import time
from functools import partial
from typing import TypeAlias

import anyio

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.downloads import code_of, fetch, report_for
from ollm_tui.cli.model_runtime import Stopped, in_runtime_heard, named
from ollm_tui.cli.output import OK, Output, UsageError
from ollm_tui.cli.pull_choice import choose
from ollm_tui.cli.pull_report import (
    GO_ON,
    LOOK_AGAIN,
    REDRAW_S,
    JsonReport,
    LiveReport,
    PlainReport,
    PullReport,
)
from ollm_tui.cli.stop import Stop
from ollm_tui.library.downloads.job import LocalFiles, Origin, StarterPackage, UrlFile
from ollm_tui.library.hub.address import HubAddress, NoAddress, PlainName, read_address
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.providers.operations import pulling
from ollm_tui.providers.single_error import single_error
from ollm_tui.runtime.compose import Runtime

STARTER = "starter"
PullTarget: TypeAlias = HubAddress | UrlFile | LocalFiles | StarterPackage | str
"""A text is for a provider: a name, or `provider://name`."""


def pull_target(arguments: Arguments, runtime: Runtime) -> PullTarget:
    """Tell what is meant; a provider or host that is named takes the name as it is.

    Raises:
        UsageError: nothing is.
    """
    text = named(arguments.name)
    ref = ModelRef.parse(text)
    is_provider = ref is not None and runtime.registry.resolve(ref.provider) is not None
    flags = arguments.flags
    if is_provider or flags.provider is not None or flags.host is not None:
        return text
    if text == STARTER:
        return StarterPackage(wheel=arguments.wheel)
    address = read_address(text, endpoint=str(runtime.config.hub.endpoint))
    match address:
        case PlainName():
            return text
        case NoAddress() if "/" in text:
            raise UsageError(address.reason, "See `ollm models pull --help`.")
        case NoAddress():
            return text
        case _:
            return address


class ServerPull:
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
        self._report = report = _report_for(self._output, ref, as_json=self._arguments.as_json)
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


def _report_for(output: Output, ref: ModelRef, *, as_json: bool) -> PullReport:
    if as_json:
        return JsonReport(output, ref)
    kind = LiveReport if output.is_watched else PlainReport
    return kind(output, ref, time.monotonic)


def run_pull(arguments: Arguments, output: Output) -> int:
    """Have a model fetched; a signal stops it cleanly, and the next run goes on."""
    pull = ServerPull(arguments, output)
    try:
        code = in_runtime_heard(arguments, output, partial(_pull, arguments, output, pull))
    except Stopped:
        pull.stopped()
        raise
    pull.done()
    return code


async def _pull(
    arguments: Arguments, output: Output, pull: ServerPull, runtime: Runtime, stop: Stop
) -> int:
    wanted = pull_target(arguments, runtime)
    if isinstance(wanted, str):
        await pull.run(wanted, runtime)
        return OK
    origin: Origin
    if isinstance(wanted, HubAddress):
        origin = await choose(wanted, arguments, runtime, output)
    else:
        origin = wanted
    stop.answering = True  # from now on a signal pauses the download
    report = report_for(arguments, output, runtime)
    job = await fetch(runtime.downloads, origin, stop.signal, report)
    return code_of(job, stop)
