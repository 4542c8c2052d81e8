"""Work that a server keeps as a job: sent, followed to its end, and cancelled if it is left."""

from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import Final

import anyio

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.json_fields import as_object, string
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.protocol.ports import ReportDrawing
from ollm_tui.protocol.provider_events import DrawingProgress
from ollm_tui.providers.http_faults import Endpoint
from ollm_tui.providers.openai_compatible.operations import MAX_REASON_CHARS, poll

CANCEL_S: Final = 0.25
"""How long cancelling a job may delay the end of a request."""
MAX_JOB_S: Final = 6 * 3600.0
_GONE: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProtocol:
    """How a server is asked about its jobs, each by its id."""

    ask: Callable[[str], Awaitable[JsonValue]]
    cancel: Callable[[str], Awaitable[None]]
    """Cancels a job, if it can be; raises nothing."""
    running: frozenset[str]
    """The states of a job that is not at its end."""
    progress: Callable[[JsonObject], DrawingProgress]
    """Reads how far a job is."""


async def submit(send: Callable[[], Awaitable[JsonValue]], protocol: JobProtocol) -> JsonObject:
    """Send a job; leaving early waits a moment for its id and cancels it.

    Without that, a request that was on its way would be worked on for nobody.

    Raises:
        AIError: the server refuses it.
    """
    reply: JsonObject = {}
    error: AIError | None = None
    answered, sending = anyio.Event(), anyio.CancelScope(shield=True)

    async def exchange() -> None:
        nonlocal reply, error
        try:
            with sending:
                reply = as_object(await send())
        except AIError as failure:
            error = failure
        answered.set()

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(exchange)
            try:
                await answered.wait()
            finally:
                sending.deadline = anyio.current_time() + CANCEL_S
    except anyio.get_cancelled_exc_class():
        job = string(reply, "id")
        if job is not None:
            await _cancel(job, protocol)
        raise
    if error is not None:
        raise error
    return reply


async def wait_for(
    job: str, protocol: JobProtocol, endpoint: Endpoint, report: ReportDrawing | None
) -> JsonObject:
    """Wait for the end of a job and return its last state; leaving early cancels it.

    Raises:
        AIError: BAD_REQUEST if the server does not have it, TIMEOUT if it never ends.
    """
    has_ended = False
    try:
        with anyio.fail_after(MAX_JOB_S):
            async for reply in poll(partial(protocol.ask, job)):
                state = as_object(reply)
                has_ended = string(state, "status") not in protocol.running
                if has_ended:
                    return state
                if report is not None:
                    progress = protocol.progress(state)
                    await report(_of_job(progress, job))
    except TimeoutError:
        raise endpoint.error(
            ErrorCode.TIMEOUT,
            f"The job took longer than {MAX_JOB_S:g} s.",
            "Check the server's log, or ask for less.",
        ) from None
    except AIError as error:
        has_ended = True
        if error.status not in _GONE:
            raise
        raise _no_longer_there(error, endpoint) from error
    finally:
        if not has_ended:
            await _cancel(job, protocol)
    raise failed({}, "result", endpoint)


def failed(state: JsonObject, what: str, endpoint: Endpoint) -> AIError:
    """Return the error of a job that ended without a result; `what` is such as "video"."""
    reason = string(as_object(state.get("error")), "message") or "no reason was given"
    return endpoint.error(
        ErrorCode.ENGINE_ERROR,
        f"{endpoint.label} made no {what}: "
        f"{endpoint.redacted(reason)[:MAX_REASON_CHARS].rstrip('.')}.",
        "Check the server's log.",
    )


async def _cancel(job: str, protocol: JobProtocol) -> None:
    with anyio.move_on_after(CANCEL_S, shield=True):
        await protocol.cancel(job)


def _of_job(progress: DrawingProgress, job: str) -> DrawingProgress:
    return DrawingProgress(
        step=progress.step,
        total_steps=progress.total_steps,
        queue_position=progress.queue_position,
        job=job,
    )


def _no_longer_there(error: AIError, endpoint: Endpoint) -> AIError:
    return AIError(
        ErrorCode.BAD_REQUEST,
        f"{endpoint.label} no longer has this job.",
        hint="Servers keep what they made for some minutes; make it again.",
        status=error.status,
        provider=endpoint.provider,
    )
