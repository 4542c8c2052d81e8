"""A runtime for one action on a model."""

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
from ollm_tui.runtime.model_lookup import FoundModel

T = TypeVar("T")
RuntimeTask = Callable[[Runtime], Awaitable[T]]
StoppableRuntimeTask = Callable[[Runtime, Stop], Awaitable[T]]


class Stopped(Exception):
    """A signal ended the action; everything it had open is closed."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


def in_runtime(arguments: Arguments, output: Output, work: RuntimeTask[T]) -> T:
    """Do something with a runtime and close it.

    Raises:
        AIError: what the work raised.
        Stopped: a signal came first.
    """

    async def deaf(runtime: Runtime, _stop: Stop) -> T:
        return await work(runtime)

    return in_runtime_heard(arguments, output, deaf)


def in_runtime_heard(arguments: Arguments, output: Output, work: StoppableRuntimeTask[T]) -> T:
    """Do something that may hear for itself that a signal came: see `Stop.answering`.

    Raises:
        AIError: what the work raised.
        Stopped: a signal came first, and the work did not hear it.
    """
    loaded = load_for(default_paths(), os.environ, arguments.flags, output)
    return anyio.run(partial(_in_runtime, loaded, work))


async def _in_runtime(loaded: LoadedConfig, work: StoppableRuntimeTask[T]) -> T:
    failure: AIError | None = None
    results: list[T] = []
    with stopping() as stop:
        async with open_runtime(loaded, default_paths(), imports_tools=False) as runtime:
            try:
                results.append(await work(runtime, stop))
            except AIError as error:  # as itself, not in a group of what closes here
                failure = error
    if failure is not None:
        raise failure
    if not results:
        raise Stopped(stop.exit_code)
    return results[0]  # done is done, whatever a signal cut short while all was closed


async def find_model(runtime: Runtime, text: str) -> FoundModel:
    """Find the model that a person means, with what its provider's list says of it.

    Raises:
        AIError: there is no such provider or model.
        UsageError: nothing was named.
    """
    return await runtime.manager.find(named(text))


def named(text: str) -> str:
    """Give what was named.

    Raises:
        UsageError: nothing was.
    """
    if not text.strip():
        raise UsageError("The model's name is empty.")
    return text.strip()
