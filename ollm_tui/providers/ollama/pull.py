"""One download by an Ollama server, as it is told line by line.

Leaving it closes the connection; the server stops too and keeps what it has.
"""

import re
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup

from ollm_tui.decode.json_fields import integer, string
from ollm_tui.decode.limits import LimitPassed
from ollm_tui.decode.ndjson import BadLine, NDJSONDecoder, NDJSONItem
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import PullProgress
from ollm_tui.providers.error_body import ErrorBody, read_error_body
from ollm_tui.providers.http_errors import http_error, is_error, stream_error, unfinished
from ollm_tui.providers.http_faults import Endpoint, limit_exceeded
from ollm_tui.providers.ollama.refusals import explain_bad_name, unknown_here
from ollm_tui.providers.response_reader import ResponseReader
from ollm_tui.providers.single_error import single_error
from ollm_tui.providers.stream import LAST_LOOK_S
from ollm_tui.providers.transport import MAX_ERROR_BYTES, Transport
from ollm_tui.providers.watched_pull import Give

T = TypeVar("T")


async def pull(transport: Transport, name: str, give: Give) -> None:
    """Have the server fetch a model, and give what it says of it.

    Raises:
        AIError: the model did not come whole; repeating the pull goes on with it.
    """
    download = _Download(transport)
    with single_error():
        async with anyio.create_task_group() as group:
            try:
                await download.run(group, name, give)
            finally:
                download.close()


class _Download:
    """The answer to one `/api/pull`, and the clock that watches it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._lines = PullLines(transport.endpoint)
        self._reader: ResponseReader | None = None
        self._alive = time.monotonic()
        self._is_loading = False
        """Whether bytes come: then silence is a fault sooner than while a sum is checked."""

    async def run(self, group: TaskGroup, name: str, give: Give) -> None:
        """Ask, and give what comes."""
        reader = await self._asked(group, name)
        while not self._lines.ended:
            await self._more(reader, give)
        if self._lines.failure is not None:
            raise self._lines.failure

    async def _more(self, reader: ResponseReader, give: Give) -> None:
        before = self._lines.activity
        for progress in await self._in_time(lambda: self._read(reader)):
            await give(progress)
        if self._lines.activity != before:
            self._alive = time.monotonic()  # the server is not late while nobody wants more
        elif not (self._lines.ended or self._patience()):  # what came was no sign of life
            raise self._stood_still()

    def close(self) -> None:
        """Close the connection, which stops the server."""
        if self._reader is not None:
            self._reader.dispose()

    async def _in_time(self, look: Callable[[], Awaitable[T]]) -> T:
        """Wait for what `look` gives; a clock that ran out is believed when nothing is there.

        A program that was held up finds the end of its clock and what came meanwhile at once.
        """
        with anyio.move_on_after(self._patience()):
            return await look()
        try:
            with anyio.fail_after(LAST_LOOK_S):
                return await look()
        except TimeoutError:
            raise self._stood_still() from None

    def _limit(self) -> float:
        limits = self._transport.spec
        return limits.idle_timeout_s if self._is_loading else limits.first_byte_timeout_s

    def _patience(self) -> float:
        """Seconds until the clock that runs now has run out."""
        return max(0.0, self._alive + self._limit() - time.monotonic())

    def _stood_still(self) -> AIError:
        return _stood_still(self._transport.endpoint, self._limit())

    async def _asked(self, group: TaskGroup, name: str) -> ResponseReader:
        try:
            with anyio.fail_after(self._patience()):
                reader = await self._transport.start(
                    group, "POST", "/api/pull", {"model": name, "stream": True}
                )
        except TimeoutError:
            raise self._stood_still() from None
        self._reader = reader
        head = await self._in_time(reader.read_head)
        if not 200 <= head.status < 300:
            within_s = min(self._transport.spec.list_timeout_s, max(self._patience(), LAST_LOOK_S))
            said = await reader.read_error_body(MAX_ERROR_BYTES, within_s)
            error = http_error(head, said, self._transport.endpoint)
            raise unknown_here(error, self._transport.endpoint, "pull models") or refused(
                error, name
            )
        return reader

    async def _read(self, reader: ResponseReader) -> list[PullProgress]:
        try:
            chunk = await reader.read()
        except AIError as error:
            found = self._lines.finish()
            if not self._lines.succeeded:  # what was left of the body comes before the failure
                self._lines.failure = broken_off(error, self._transport.endpoint)
            return found
        found = self._lines.feed(chunk) if chunk else self._lines.finish()
        if found:
            self._is_loading = found[-1].digest is not None
        return found


def _stood_still(endpoint: Endpoint, seconds: float) -> AIError:
    return endpoint.error(
        ErrorCode.TIMEOUT,
        f"The download stalled: {endpoint.label} sent nothing for {seconds:g} s.",
        AGAIN,
        fault="idle",
    )


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
_FINAL = frozenset(
    {ErrorCode.MODEL_NOT_FOUND, ErrorCode.UNSUPPORTED_FEATURE, ErrorCode.AUTH_FAILED}
)
"""Failures that the same request meets again."""


class PullLines:
    """Turn the bytes of one `/api/pull` answer into progress, until `success` or a failure."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.succeeded = False
        self.failure: AIError | None = None
        """Why the model did not come whole; what came before it was given."""
        self.activity = 0
        """Grows with every whole line: a sign that the server is at work."""
        self._endpoint = endpoint
        self._lines = NDJSONDecoder()
        self._bad: str | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more is to be expected."""
        return self.succeeded or self.failure is not None

    def feed(self, chunk: bytes) -> list[PullProgress]:
        """Give the progress that this chunk completes."""
        try:
            return self._take(self._lines.feed(chunk))
        except LimitPassed as error:
            self.failure = limit_exceeded(self._endpoint, str(error))
            return []

    def finish(self) -> list[PullProgress]:
        """End of the body: give what is left; without `success` it is a failure."""
        try:
            found = self._take(self._lines.finish())
        except LimitPassed as error:
            self.failure = limit_exceeded(self._endpoint, str(error))
            return []
        if not self.ended:
            ended = unfinished(self._endpoint, self._bad, is_empty=not self.activity)
            self.failure = broken_off(ended, self._endpoint)
        return found

    def _take(self, items: list[NDJSONItem]) -> list[PullProgress]:
        found: list[PullProgress] = []
        for item in items:
            if self.ended:
                break
            if isinstance(item, BadLine):
                if item.over_limit:
                    self.failure = limit_exceeded(self._endpoint, item.reason)
                elif self._bad is None and (item.complete or not self.activity):
                    self._bad = item.text
                continue
            self.activity += 1
            if is_error(item):
                self.failure = explained(stream_error(item, self._endpoint))
            elif status := string(item, "status"):
                found.append(read_progress(status, item))
                self.succeeded = status == "success"
        return found


def read_progress(status: str, line: JsonObject) -> PullProgress:
    """Read one line; sizes below zero are unknown like missing ones."""
    completed, total = integer(line, "completed"), integer(line, "total")
    return PullProgress(
        status=status,
        digest=string(line, "digest"),
        completed=completed if completed is not None and completed >= 0 else None,
        total=total if total is not None and total >= 0 else None,
    )


def explained(error: AIError) -> AIError:
    """Give a failed download its kind and its way out: the server has one status for them all."""
    error.message = _sentence(error.message)
    for words, code, hint in _KNOWN_FAILURES:
        if re.search(words, error.message, re.IGNORECASE):
            error.code, error.hint = code, hint
            error.retryable = error.retryable and code not in _FINAL
            return error
    error.hint = AGAIN
    return error


def _sentence(message: str) -> str:
    """Give what a registry said in place of the JSON in which it said it."""
    head, brace, rest = message.partition("{")
    said = read_error_body((brace + rest).encode()) if brace else ErrorBody()
    return head + " ".join(said.message.split()) if said.is_json and said.message else message


def refused(error: AIError, name: str) -> AIError:
    """Give a refusal of this model, which has a kind of its own, the way out of a download."""
    if error.code == ErrorCode.MODEL_NOT_FOUND:
        error.hint = _SPELLING
    if explain_bad_name(error, name):
        return error
    return explained(error) if error.code == ErrorCode.INTERNAL_ERROR else error


def broken_off(error: AIError, endpoint: Endpoint) -> AIError:
    """Say of a download what the error of a lost connection says of an answer."""
    if error.details.get("fault") != "cut":
        return error
    return endpoint.error(
        ErrorCode.STREAM_INCOMPLETE,
        "The download was cut off before it was complete.",
        AGAIN,
        fault="cut",
    )
