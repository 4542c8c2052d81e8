"""Long work of an Ollama server, whose progress it streams: a download, and making a model.

A line with `error` is a failure at status 200; closing the connection stops the server.
"""

import re
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup

from ollm_tui.dataclass import dataclass
from ollm_tui.decode import LimitPassed
from ollm_tui.decode.json_fields import integer, string
from ollm_tui.decode.lines import BadLine, NDJSONDecoder, NDJSONItem
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import PullProgress
from ollm_tui.providers.body.error_body import ErrorBody, read_error_body
from ollm_tui.providers.http_errors import http_error, is_error, stream_error, unfinished
from ollm_tui.providers.http_faults import LIMIT, Endpoint
from ollm_tui.providers.ollama.refusals import explain_bad_name, unknown_path
from ollm_tui.providers.ollama.watched_pull import Give
from ollm_tui.providers.response_reader import LAST_LOOK_S, ResponseReader, in_time
from ollm_tui.providers.transport import MAX_ERROR_BYTES, Transport
from ollm_tui.tasks import task_group

T = TypeVar("T")
AGAIN = "Repeat it to resume the download."
_SPELLING = "Check the spelling: the library has no model of this name and tag."
_KNOWN_FAILURES = (
    (
        r"manifest.*(does not exist|not found|unknown)|file does not exist",
        ErrorCode.MODEL_NOT_FOUND,
        _SPELLING,
    ),
    (
        r"newer version of ollama|\b412\b",
        ErrorCode.UNSUPPORTED_FEATURE,
        "Update Ollama on that machine, then repeat it.",
    ),
    (
        r"no space left|disk quota|not enough space",
        ErrorCode.INTERNAL_ERROR,
        "Free disk space on that machine, then repeat it.",
    ),
    (
        r"unauthorized|access denied|\b40[13]\b",
        ErrorCode.AUTH_FAILED,
        "The model may be private: sign in on the machine that runs Ollama.",
    ),
    (
        r"tls: |x509: |server gave HTTP response to HTTPS",
        ErrorCode.SERVICE_UNAVAILABLE,
        "Ollama downloads over https only; for a registry without it, run"
        " `ollama pull --insecure NAME` on that machine.",
    ),
    (
        r"digest mismatch",
        ErrorCode.INTERNAL_ERROR,
        "Repeat it to download that file again from the start.",
    ),
    (
        r"no such host|max retries|dial tcp|i/o timeout|connection (refused|reset)|\bEOF\b",
        ErrorCode.SERVICE_UNAVAILABLE,
        "Check the network of the machine that runs Ollama. " + AGAIN,
    ),
)
_BARE_STATUS = lazy_re(r"\A(\d{3}):\s*\Z")
"""What Ollama says of a registry that refuses a request without a word."""
_FINAL = frozenset(
    {ErrorCode.MODEL_NOT_FOUND, ErrorCode.UNSUPPORTED_FEATURE, ErrorCode.AUTH_FAILED}
)
"""Failures that a repetition would meet again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One kind of long work."""

    path: str
    ability: str
    """What an old server cannot do."""
    noun: str
    """What stalls, or is cut off."""
    again: str
    """What to do after a failure that may not happen again."""
    failures: tuple[tuple[str, ErrorCode, str], ...] = ()
    """Known failures: a pattern of the message, the code and the hint."""


PULL = Work(
    path="/api/pull",
    ability="pull models",
    noun="download",
    again=AGAIN,
    failures=_KNOWN_FAILURES,
)


async def pull(transport: Transport, name: str, give: Give) -> None:
    """Have the server download a model, and pass its progress to `give`.

    Raises:
        AIError: the download failed; repeating the pull resumes it.
    """
    await run_work(transport, PULL, {"model": name}, give)


async def run_work(transport: Transport, work: Work, body: JsonObject, give: Give) -> None:
    """Have the server do some work, and pass its progress to `give`.

    Raises:
        AIError: it failed.
    """
    running = _RunningWork(transport, work)
    async with task_group() as group:
        try:
            await running.run(group, body, give)
        finally:
            running.close()


class _RunningWork:
    """The response to one request for long work, and its time limits."""

    def __init__(self, transport: Transport, work: Work) -> None:
        self._transport = transport
        self._work = work
        self._lines = PullLines(transport.endpoint, work)
        self._reader: ResponseReader | None = None
        self._alive_at = time.monotonic()
        self._is_downloading = False
        """Whether bytes arrive: then silence is an error sooner than during a checksum."""

    async def run(self, group: TaskGroup, body: JsonObject, give: Give) -> None:
        """Send the request and pass on what arrives."""
        reader = await self._send(group, body)
        while not self._lines.ended:
            await self._pass_on_lines(reader, give)
        if self._lines.failure is not None:
            raise self._lines.failure

    async def _pass_on_lines(self, reader: ResponseReader, give: Give) -> None:
        before = self._lines.activity
        for progress in await self._in_time(lambda: self._read(reader)):
            await give(progress)
        if self._lines.activity != before:
            self._alive_at = time.monotonic()  # the time that `give` took does not count
        elif not (self._lines.ended or self._time_left()):  # what arrived was no sign of life
            raise self._stalled()

    def close(self) -> None:
        """Close the connection, which stops the server."""
        if self._reader is not None:
            self._reader.dispose()

    async def _in_time(self, read: Callable[[], Awaitable[T]]) -> T:
        try:
            return await in_time(read, self._time_left())
        except TimeoutError:
            raise self._stalled() from None

    def _limit(self) -> float:
        limits = self._transport.spec
        return limits.idle_timeout_s if self._is_downloading else limits.first_byte_timeout_s

    def _time_left(self) -> float:
        return max(0.0, self._alive_at + self._limit() - time.monotonic())

    def _stalled(self) -> AIError:
        endpoint = self._transport.endpoint
        return endpoint.error(
            ErrorCode.TIMEOUT,
            f"The {self._work.noun} stalled: {endpoint.label} sent nothing for "
            f"{self._limit():g} s.",
            self._work.again,
            fault="idle",
        )

    async def _send(self, group: TaskGroup, body: JsonObject) -> ResponseReader:
        work = self._work
        try:
            with anyio.fail_after(self._time_left()):
                reader = await self._transport.start(
                    group, "POST", work.path, {**body, "stream": True}
                )
        except TimeoutError:
            raise self._stalled() from None
        self._reader = reader
        head = await self._in_time(reader.read_head)
        if not 200 <= head.status < 300:
            within_s = min(self._transport.spec.list_timeout_s, max(self._time_left(), LAST_LOOK_S))
            reply = await reader.read_error_body(MAX_ERROR_BYTES, within_s)
            error = http_error(head, reply, self._transport.endpoint)
            unknown = unknown_path(error, self._transport.endpoint, work.ability)
            raise unknown or explain_refusal(error, str(body.get("model")), work)
        return reader

    async def _read(self, reader: ResponseReader) -> list[PullProgress]:
        try:
            chunk = await reader.read()
        except AIError as error:
            progress = self._lines.finish()
            if not self._lines.succeeded:  # its last line may be the success
                self._lines.failure = self._lines.cut_short(error)
            return progress
        progress = self._lines.feed(chunk) if chunk else self._lines.finish()
        if progress:
            self._is_downloading = progress[-1].digest is not None
        return progress


class PullLines:
    """Turns the bytes of one response into progress, until `success` or a failure."""

    def __init__(self, endpoint: Endpoint, work: Work = PULL) -> None:
        self.succeeded = False
        self.failure: AIError | None = None
        """Why the work failed, or None."""
        self.activity = 0
        """A counter that grows with every whole line: the server is at work."""
        self._endpoint = endpoint
        self._work = work
        self._lines = NDJSONDecoder()
        self._unreadable: str | None = None

    @property
    def ended(self) -> bool:
        """Whether the work has succeeded or failed."""
        return self.succeeded or self.failure is not None

    def feed(self, chunk: bytes) -> list[PullProgress]:
        """Return the progress that this chunk completes."""
        return self._limited(lambda: self._read(self._lines.feed(chunk)))

    def finish(self) -> list[PullProgress]:
        """Handle the end of the body: without `success` it is a failure."""
        progress = self._limited(lambda: self._read(self._lines.finish()))
        if not self.ended:
            ended = unfinished(self._endpoint, self._unreadable, is_empty=not self.activity)
            self.failure = self.cut_short(ended)
        return progress

    def cut_short(self, error: AIError) -> AIError:
        """Replace the error of a lost connection, which speaks of an answer."""
        if error.details.get("fault") != "cut":
            return error
        return self._endpoint.error(
            ErrorCode.STREAM_INCOMPLETE,
            f"The {self._work.noun} was cut off before it was complete.",
            self._work.again,
            fault="cut",
        )

    def _limited(self, read: Callable[[], list[PullProgress]]) -> list[PullProgress]:
        try:
            return read()
        except LimitPassed as error:
            self.failure = self._endpoint.fault(LIMIT, limit=str(error))
            return []

    def _read(self, items: list[NDJSONItem]) -> list[PullProgress]:
        progress: list[PullProgress] = []
        for item in items:
            if self.ended:
                break
            if isinstance(item, BadLine):
                if item.over_limit:
                    self.failure = self._endpoint.fault(LIMIT, limit=item.reason)
                elif self._unreadable is None and (item.complete or not self.activity):
                    self._unreadable = item.text
                continue
            self.activity += 1
            if is_error(item):
                self.failure = explain_failure(stream_error(item, self._endpoint), self._work)
            elif status := string(item, "status"):
                progress.append(read_progress(status, item))
                self.succeeded = status == "success"
        return progress


def read_progress(status: str, line: JsonObject) -> PullProgress:
    """Read one line; sizes below zero are unknown."""
    named = {key: integer(line, key) for key in ("completed", "total")}
    sizes = {key: size for key, size in named.items() if size is not None and size >= 0}
    return PullProgress(status=status, digest=string(line, "digest"), **sizes)


def explain_failure(error: AIError, work: Work) -> AIError:
    """Set code and hint of a failure by its message: the server has one status for all."""
    error.message = _BARE_STATUS.sub(
        r"The registry answered with status \1.", _sentence(error.message)
    )
    for words, code, hint in work.failures:
        if re.search(words, error.message, re.IGNORECASE):
            error.code, error.hint = code, hint
            error.retryable = error.retryable and code not in _FINAL
            return error
    error.hint = work.again
    return error


def _sentence(message: str) -> str:
    """Replace the JSON of a registry's error by the message in it."""
    head, brace, rest = message.partition("{")
    body = read_error_body((brace + rest).encode()) if brace else ErrorBody()
    return head + " ".join(body.message.split()) if body.is_json and body.message else message


def explain_refusal(error: AIError, name: str, work: Work) -> AIError:
    """Set the hint of an error that refuses this model."""
    if error.code == ErrorCode.MODEL_NOT_FOUND and work is PULL:
        error.hint = _SPELLING
    if explain_bad_name(error, name):
        return error
    return explain_failure(error, work) if error.code == ErrorCode.INTERNAL_ERROR else error
