"""`ollm models pull`: a model by any provider that can, or of a hub, an address or this machine."""

from functools import partial

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_fetch import fetch, report_for
from ollm_tui.cli.model_runtime import Stopped, in_runtime_heard
from ollm_tui.cli.output import ERROR, OK, Output
from ollm_tui.cli.provider_pull import ProviderFetch
from ollm_tui.cli.pull_choice import choose
from ollm_tui.cli.pull_target import meant
from ollm_tui.cli.stop import Stop
from ollm_tui.library.address import HubAddress
from ollm_tui.library.downloads.job import Job, Origin
from ollm_tui.runtime.compose import Runtime


def run_pull(arguments: Arguments, output: Output) -> int:
    """Have a model fetched; a signal stops it cleanly, and the next run goes on."""
    pull = ProviderFetch(arguments, output)
    try:
        code = in_runtime_heard(arguments, output, partial(_pull, arguments, output, pull))
    except Stopped:
        pull.stopped()
        raise
    pull.done()
    return code


async def _pull(
    arguments: Arguments, output: Output, pull: ProviderFetch, runtime: Runtime, stop: Stop
) -> int:
    wanted = meant(arguments, runtime)
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


def code_of(job: Job, stop: Stop) -> int:
    """Give the exit code of a download's end."""
    if job.state == "done":
        return OK
    return stop.exit_code if stop.number is not None else ERROR
