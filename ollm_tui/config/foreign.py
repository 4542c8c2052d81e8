"""Guards calls of foreign code: what plugins and adapters raise becomes an `AIError`.

Their messages are not shown: an exception may contain a key. Secrets are removed from `AIError`s.
"""

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeAlias, TypeVar

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import with_texts

Redact: TypeAlias = Callable[[str], str]
T = TypeVar("T")
logger = logging.getLogger(__name__)


class Misuse(TypeError):
    """A wrong use of `@tool` or `@command`; its message is ours and may be shown."""


@contextmanager
def foreign_code(
    log: str, failed: Callable[[BaseException], AIError], redact: Redact = str
) -> Iterator[None]:
    """Translate every exception of the block to an `AIError` by `failed`; `log` is logged.

    Only Ctrl-C and the cancellation of the task pass through.
    """
    try:
        yield
    except BaseException as error:
        fault = fault_of(error)
        if fault is None:
            raise
        if isinstance(fault, AIError):
            without_secrets(fault, redact)
            if fault is error:
                raise
            raise fault from None
        logger.exception("%s (%s)", log, type(fault).__name__)
        raise failed(fault) from error


async def run_in_daemon_thread(work: Callable[[], T]) -> T:
    """Import foreign code in a daemon thread, which blocks neither the event loop nor the exit.

    A caller that stops waiting leaves it behind, and so does the end of the program.
    """
    # Already imported wherever there is a loop.
    from asyncio import get_running_loop
    from concurrent.futures import Future
    from threading import Thread

    from anyio import Event

    loop, ended = get_running_loop(), Event()
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001 -- raised by the waiting caller
            outcome.set_exception(error)
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(ended.set)

    Thread(target=run, name="plugins", daemon=True).start()
    await ended.wait()
    return outcome.result()


def fault_of(error: BaseException) -> BaseException | None:
    """Return the fault that an exception is or contains, preferring an `AIError`.

    Return None if it is not the fault of the code that raised it.
    """
    leaves = [*_leaves(error)]
    if not all(map(_is_fault, leaves)):
        return None
    return next((leaf for leaf in leaves if isinstance(leaf, AIError)), leaves[0])


def without_secrets(error: AIError, redact: Redact) -> AIError:
    """Remove secrets from an error in place, and return it."""
    error.message = redact(str(error.message))
    error.hint = None if error.hint is None else redact(str(error.hint))
    error.args = (error.message,)
    error.details = with_texts(dict(error.details), redact)
    return error


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _is_fault(error: BaseException) -> bool:
    if isinstance(error, Exception | SystemExit):
        return True
    if isinstance(error, KeyboardInterrupt | GeneratorExit):
        return False
    return not _is_task_cancelled()


def _is_task_cancelled() -> bool:
    """Whether the task itself is cancelled: foreign code may raise `CancelledError`, too."""
    # Already imported wherever there are tasks; loading settings needs neither.
    from asyncio import current_task

    from anyio import current_effective_deadline

    try:
        task = current_task()
    except RuntimeError:  # in a thread, where nothing is cancelled
        return False
    is_native = task is not None and task.cancelling() > 0
    return is_native or current_effective_deadline() == -math.inf
