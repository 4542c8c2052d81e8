"""How concurrent work ends: one error leaves a task group as itself, and a signal cancels."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio
from anyio.abc import TaskGroup

from ollm_tui.protocol.signals import AbortSignal


@contextmanager
def single_error() -> Iterator[None]:
    """Unwrap exception groups that hold one error, so that callers see a plain exception."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        if error is group:
            raise
        raise error from error.__cause__


@asynccontextmanager
async def task_group(*, cancelled_at_end: bool = False) -> AsyncIterator[TaskGroup]:
    """Open a task group that a single error leaves as itself.

    With `cancelled_at_end`, leaving the block cancels the tasks instead of waiting for them.
    """
    with single_error():
        async with anyio.create_task_group() as group:
            try:
                yield group
            finally:
                if cancelled_at_end:
                    group.cancel_scope.cancel()


@contextmanager
def cancelled_by(signal: AbortSignal | None) -> Iterator[anyio.CancelScope]:
    """Cancel the block when the signal is aborted; `cancelled_caught` tells whether that ended it.

    The statement after the block runs in both cases, unless the block returns.
    """
    with anyio.CancelScope() as scope:
        unsubscribe = signal.subscribe(scope.cancel) if signal is not None else None
        try:
            yield scope
        finally:
            if unsubscribe is not None:
                unsubscribe()
