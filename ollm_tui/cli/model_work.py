"""`ollm models create`, `quantize` and `push`: long work of a server, with its progress."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import anyio
import anyio.to_thread

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_actions import confirm
from ollm_tui.cli.model_runtime import (
    Stopped,
    find_model,
    in_runtime,
    in_stoppable_runtime,
    required_name,
)
from ollm_tui.cli.output import ERROR, OK, Output, UsageError
from ollm_tui.cli.pull import pull_report, tick
from ollm_tui.cli.pull_report import Wording
from ollm_tui.cli.stop import Stop
from ollm_tui.config.regular_file import read_bounded, why_unreadable
from ollm_tui.decode.clean import clean_name
from ollm_tui.models.actions import ACTIONS, ModelAction
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelDraft, ModelRef, PullProgress
from ollm_tui.protocol.ports import ProviderAdapter, ReportProgress
from ollm_tui.providers.operations import method_of
from ollm_tui.providers.router import same_model
from ollm_tui.runtime.compose import Runtime
from ollm_tui.runtime.create import draft_of, profile_of
from ollm_tui.tasks import single_error

if TYPE_CHECKING:
    from ollm_tui.cli.pull_report import PullReport

_MAX_TEMPLATE_LENGTH: Final = 1_000_000
_STOPPED: Final = "Stopped. Repeat the command to try again."
_Work: TypeAlias = Callable[[ReportProgress], Awaitable[object]]


class _Progress:
    """The report of one action, also for a signal that ends the run."""

    def __init__(self, action: ModelAction, arguments: Arguments, output: Output) -> None:
        self._action = action
        self._arguments = arguments
        self._output = output
        self._report: PullReport | None = None

    def run(self, task: Callable[[Runtime, Stop], Awaitable[None]]) -> int:
        """Run a task in a runtime, and report its end."""
        try:
            in_stoppable_runtime(self._arguments, self._output, task)
        except Stopped:
            if self._report is not None:
                self._report.stopped(_STOPPED)
            raise
        if self._report is not None:
            self._report.done()
        return OK

    async def show(self, ref: ModelRef, runtime: Runtime, work: _Work, *, copy: str = "") -> None:
        """Do some work that reports its steps."""
        as_json, words = self._arguments.as_json, ACTIONS[self._action].done
        provider = ref.provider if as_json else runtime.catalog.shown_name(ref.provider)
        wording = Wording(
            done=words.format(name=clean_name(ref.model), copy=clean_name(copy)),
            event=f"{self._action}_progress",
            result=ModelRef(provider, copy) if copy else None,
            is_in_steps=self._action != "push",
        )
        shown = ModelRef(provider, ref.model)
        self._report = report = pull_report(self._output, shown, self._arguments, wording)

        report.begin()

        async def take(step: PullProgress) -> None:
            report.progress(step)

        try:
            with single_error():
                async with anyio.create_task_group() as group:
                    group.start_soon(tick, report)
                    await work(take)
                    group.cancel_scope.cancel()
        except AIError:
            report.failed()
            raise


def run_create(arguments: Arguments, output: Output) -> int:
    """Create a model; asks before it replaces one."""
    required_name(arguments.name)
    if not _may_replace(partial(_known, arguments), arguments, output):
        output.note("Nothing was created.")
        return ERROR
    progress = _Progress("create", arguments, output)
    return progress.run(partial(_create, arguments, output, progress))


def _may_replace(
    find_known: Callable[[Runtime], Awaitable[str | None]], arguments: Arguments, output: Output
) -> bool:
    """Ask before the work replaces a model, if there is one."""
    known = None if arguments.yes else in_runtime(arguments, output, find_known)
    return known is None or confirm(f"Replace {clean_name(known)}?", output)


async def _known(arguments: Arguments, runtime: Runtime) -> str | None:
    """Return the model that has the name already, with its place."""
    adapter, ref = await runtime.manager.provider_for(arguments.name)
    method_of(adapter, "create")
    return await _same_name(adapter, ref, runtime)


async def _same_name(adapter: ProviderAdapter, ref: ModelRef, runtime: Runtime) -> str | None:
    listing = await runtime.catalog.listing(adapter.name)
    is_there = any(same_model(ref.model, info.name) for info in listing.models)
    return f"{ref.model} at {runtime.manager.place(ref)}" if is_there else None


async def _create(
    arguments: Arguments, output: Output, progress: _Progress, runtime: Runtime, _stop: Stop
) -> None:
    adapter, ref = await runtime.manager.provider_for(arguments.name)
    method_of(adapter, "create")
    of_profile = profile_of(runtime.config)
    source, settings, lost = of_profile or ("", ModelDraft(), ())
    if lost:
        output.note(f"A model cannot keep these settings of the profile: {', '.join(lost)}.")
    source = arguments.source.strip() or source
    if not source:
        raise UsageError(
            "Name what the model is made of: a model of the same server, or a GGUF file.",
            "Or name a profile that has a model: --profile NAME.",
        )
    if arguments.flags.system is not None:
        settings = replace(settings, system_prompt=arguments.flags.system)
    template = None
    if arguments.template is not None:
        template = await anyio.to_thread.run_sync(_template, arguments.template)
    made_of = await draft_of(source, adapter, runtime.manager, arguments.level or None)
    draft = replace(settings, base=made_of.base, files=made_of.files, template=template)
    draft = replace(draft, quantization=made_of.quantization)
    await progress.show(ref, runtime, partial(runtime.manager.create, ref, draft))


def _template(path: Path) -> str:
    try:
        return read_bounded(path, _MAX_TEMPLATE_LENGTH).decode()
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {why_unreadable(error)}.") from error


def run_quantize(arguments: Arguments, output: Output) -> int:
    """Make a quantized copy of a model; asks before it replaces one."""
    if not (arguments.level.strip() and arguments.copy.strip()):
        raise UsageError("The quantization or the new name is empty.")
    if not _may_replace(partial(_known_copy, arguments), arguments, output):
        output.note("Nothing was quantized.")
        return ERROR
    progress = _Progress("quantize", arguments, output)
    return progress.run(partial(_quantize, arguments, progress))


async def _known_copy(arguments: Arguments, runtime: Runtime) -> str | None:
    """Return the model that has the name of the copy already, with its place."""
    model = await find_model(runtime.manager, arguments.name)
    method_of(model.adapter, "quantize")
    copy = ModelRef(model.ref.provider, arguments.copy.strip())
    return await _same_name(model.adapter, copy, runtime)


async def _quantize(
    arguments: Arguments, progress: _Progress, runtime: Runtime, _stop: Stop
) -> None:
    model = await find_model(runtime.manager, arguments.name)
    method_of(model.adapter, "quantize")
    level, copy = arguments.level.strip(), arguments.copy.strip()
    work = partial(runtime.manager.quantize, model.ref, level, copy)
    await progress.show(model.ref, runtime, work, copy=copy)


def run_push(arguments: Arguments, output: Output) -> int:
    """Upload a model to the registry of its server."""
    progress = _Progress("push", arguments, output)
    return progress.run(partial(_push, arguments, progress))


async def _push(arguments: Arguments, progress: _Progress, runtime: Runtime, _stop: Stop) -> None:
    model = await find_model(runtime.manager, arguments.name)
    method_of(model.adapter, "push")
    await progress.show(model.ref, runtime, partial(runtime.manager.push, model.ref))
