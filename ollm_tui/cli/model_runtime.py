"""Runs one action on models in a runtime of its own."""

import os
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import anyio

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.output import Output, UsageError
from ollm_tui.cli.settings import load_for
from ollm_tui.cli.stop import Stop, stopping
from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.paths import default_paths
from ollm_tui.protocol.errors import AIError
from ollm_tui.runtime.compose import Runtime, open_runtime
from ollm_tui.runtime.manager import ModelManager
from ollm_tui.runtime.model_lookup import FoundModel

T = TypeVar("T")
RuntimeTask = Callable[[Runtime], Awaitable[T]]
StoppableRuntimeTask = Callable[[Runtime, Stop], Awaitable[T]]


class Stopped(Exception):
    """A signal ended the action; all that it had open is closed."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


def in_runtime(arguments: Arguments, output: Output, task: RuntimeTask[T]) -> T:
    """Open a runtime, run a task with it, and close it; `Stopped` if a signal came first."""

    async def ignoring_stop(runtime: Runtime, _stop: Stop) -> T:
        return await task(runtime)

    return in_stoppable_runtime(arguments, output, ignoring_stop)


def in_stoppable_runtime(arguments: Arguments, output: Output, task: StoppableRuntimeTask[T]) -> T:
    """As `in_runtime`, with a task that may handle signals itself: see `Stop.answering`."""
    loaded = load_for(default_paths(), os.environ, arguments.flags, output)
    return anyio.run(partial(_in_runtime, loaded, task))


async def _in_runtime(loaded: LoadedConfig, task: StoppableRuntimeTask[T]) -> T:
    failure: AIError | None = None
    results: list[T] = []
    with stopping() as stop:
        async with open_runtime(loaded, default_paths(), imports_tools=False) as runtime:
            try:
                results.append(await task(runtime, stop))
            except AIError as error:  # as itself, not in a group of what closes here
                failure = error
    if failure is not None:
        raise failure
    if not results:
        raise Stopped(stop.exit_code)
    return results[0]  # the work was done: the signal came while everything was being closed


async def find_model(manager: ModelManager, text: str) -> FoundModel:
    """Find a model by name or address, with its entry in its provider's list."""
    return await manager.find(required_name(text))


def required_name(text: str) -> str:
    """Return the name without white space around it; a `UsageError` if it is empty."""
    if not text.strip():
        raise UsageError("The model's name is empty.")
    return text.strip()
