"""One run of a transfer, from what is on disk to a file whose checksum is right.

It requests what is missing, copies the body, waits after a broken connection, and starts over when
what is there cannot be used. It ends when the checksum is right, or with an `AIError`.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import anyio

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_name
from ollm_tui.library.downloads.downloader import Progress, Report
from ollm_tui.library.downloads.file_io import FileIO
from ollm_tui.library.downloads.part_file import PartFile, PartState
from ollm_tui.library.downloads.range_response import (
    CHANGED,
    NO_RANGES,
    RangeBody,
    RangeRequest,
    StartOver,
    interpret,
)
from ollm_tui.library.hub.repo import parse_sha256
from ollm_tui.library.urls import bare_url
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.fetch import Fetched, Fetcher, FetchRequest

MAX_VAIN_TRIES: Final = 5
"""Attempts in a row that may make no progress."""
MAX_RESTARTS: Final = 3
FIRST_WAIT_S: Final = 1.0
MAX_WAIT_S: Final = 30.0
MAX_RETRY_AFTER_S: Final = 60.0
"""If a server asks for a longer wait, the job fails and the user decides."""
MIN_PROGRESS_BYTES: Final = 1024 * 1024
MIN_PROGRESS_SHARE: Final = 100
"""Less than this fraction of a file, or than the bytes above, does not count as progress."""
BATCH_BYTES: Final = 1024 * 1024
"""At most so much is in memory, besides what the fetcher has read ahead."""
MAX_BATCH_S: Final = 0.2
"""Bytes of a slow server are written and reported at least this often."""
_BROKEN: Final[Mapping[int, str]] = {
    ErrorCode.STREAM_INCOMPLETE: "the connection broke",
    ErrorCode.TIMEOUT: "the server stopped sending",
}
VERIFYING: Final = "verifying the checksum"
WRONG_CHECKSUM: Final = "its checksum was wrong, starting over"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSource:
    """The source of a file, and its expected size and checksum if known."""

    url: str = field(repr=False)
    """May contain a name, a password and a query; none of them is stored or shown."""
    size: int | None = None
    """Bytes."""
    sha256: str | None = None
    """64 hex digits."""
    token: str | None = field(default=None, repr=False)
    """Sent to the origin of `url` alone."""


class RetryPolicy:
    """Whether and when one run tries again: only while there is progress, and never in haste."""

    def __init__(self, written: int) -> None:
        self._mark = written
        self._vain = 0
        self._restarts = 0

    def wait_after(self, error: AIError, written: int, size: int | None) -> float:
        """Return how many seconds to wait before the next attempt.

        Raises:
            AIError: `error`, if another attempt is useless.
        """
        retry_after = error.details.get("retry_after_s")
        retry_after_s = float(retry_after) if isinstance(retry_after, int | float) else 0.0
        may_pass = error.retryable or error.code in _BROKEN
        if not may_pass or retry_after_s > MAX_RETRY_AFTER_S:
            raise error
        share = MIN_PROGRESS_BYTES if size is None else max(1, size // MIN_PROGRESS_SHARE)
        if written >= self._mark + min(MIN_PROGRESS_BYTES, share):
            self._mark, self._vain = written, 0
        self._vain += 1
        if self._vain >= MAX_VAIN_TRIES:
            raise error
        return max(retry_after_s, min(MAX_WAIT_S, FIRST_WAIT_S * float(1 << (self._vain - 1))))

    def may_restart(self) -> bool:
        """Whether the file may be started over once more; counts the calls."""
        self._restarts += 1
        return self._restarts <= MAX_RESTARTS


class TransferRun:
    """Downloads one file into `part`."""

    def __init__(
        self, fetcher: Fetcher, source: FileSource, part: PartFile, disk: FileIO, report: Report
    ) -> None:
        self._fetcher = fetcher
        self._source = source
        self._name = disk.target.name
        self._part = part
        self._disk = disk
        self._report = report
        self._attempts = RetryPolicy(part.written)
        self._bodies = 0
        """Responses that the bytes in the file came from."""
        self._total = source.size
        self._note = ""
        self._is_whole = False

    async def finish(self) -> None:
        """Download what is missing and verify the checksum.

        Raises:
            AIError: it failed, or the checksum is wrong even in one response.
        """
        await self._check_existing()
        while True:
            while not self._is_whole:
                await self._try()
            if await self._is_right():
                return
            bodies = self._bodies
            await self._restart(WRONG_CHECKSUM)
            if bodies < 2 or not self._attempts.may_restart():
                raise self._unusable("has a different checksum than promised and was not kept")

    async def _check_existing(self) -> None:
        state, source = self._part.state, self._source
        if state is None or not self._part.written:
            return
        is_other = (
            state.url != bare_url(source.url)
            or (source.size is not None and state.size not in (None, source.size))
            or (source.sha256 is not None and state.sha256 not in (None, source.sha256))
        )
        if is_other:
            await self._restart(CHANGED)
            return
        self._bodies = 2  # their number is unknown
        self._total = state.size if self._total is None else self._total
        self._is_whole = source.sha256 is not None and self._part.written == self._total

    async def _try(self) -> None:
        try:
            await self._request()
        except StartOver as reason:
            if not self._attempts.may_restart():
                raise self._unusable("keeps changing on the server") from reason
            await self._restart(str(reason))
        except AIError as error:
            wait_s = self._attempts.wait_after(error, self._part.written, self._total)
            self._show(f"{_cause(error)}, trying again in {wait_s:g} s", is_jump=True)
            await self._disk.environment.sleep(wait_s)

    async def _request(self) -> None:
        wanted = self._range()
        headers = {}
        if wanted.earlier is not None and wanted.earlier.etag is not None:
            headers = {"range": f"bytes={wanted.offset}-", "if-range": wanted.earlier.etag}
        request = FetchRequest(url=self._source.url, headers=headers, token=self._source.token)
        async with self._fetcher.fetch(request) as response:
            body = interpret(wanted, response)
            await self._begin(body, wanted)
            await self._copy(response, body)
        self._is_whole = True

    def _range(self) -> RangeRequest:
        state, written = self._part.state, self._part.written
        known = RangeRequest(name=self._name, size=self._source.size, sha256=self._source.sha256)
        if state is None or state.etag is None or not written:
            return known
        # Of a complete file the last byte is requested, to learn whether it has changed.
        offset = written if state.size is None else min(written, state.size - 1)
        return replace(known, offset=offset, earlier=state) if offset else known

    async def _begin(self, body: RangeBody, wanted: RangeRequest) -> None:
        if body.note:
            self._note = body.note
        elif self._part.written and not wanted.offset:
            self._note = NO_RANGES
        state = PartState(
            url=bare_url(self._source.url), etag=body.etag, size=body.size, sha256=body.sha256
        )
        await self._disk.run(self._part.begin, state, body.start)
        self._bodies = self._bodies + 1 if body.start else 1
        self._total = body.size
        if body.size is not None:
            self._disk.remaining = body.size - body.start
            await self._disk.require_space(self._disk.remaining)
        self._show(is_jump=True)

    async def _copy(self, response: Fetched, body: RangeBody) -> None:
        pieces: list[bytes] = []
        size, since = 0, time.monotonic()
        most = min(BATCH_BYTES, self._part.max_unsynced_bytes() // 2)
        try:
            async for piece in response.pieces():
                pieces.append(piece)
                size += len(piece)
                if body.size is not None and self._part.written + size > body.size:
                    pieces.clear()
                    await self._restart("")
                    raise self._unusable("is longer than promised and was not kept")
                if size >= most or time.monotonic() - since >= MAX_BATCH_S:
                    batch, pieces = pieces, []
                    await self._store(batch)
                    size, since = 0, time.monotonic()
        finally:
            with anyio.CancelScope(shield=True):
                await self._disk.run(self._save, pieces)
        self._show()
        if body.size is not None and self._part.written < body.size:
            raise AIError(
                ErrorCode.STREAM_INCOMPLETE,
                f"{clean_name(self._name)} was cut off: the connection ended in the middle.",
                hint="What arrived is kept: resume it.",
            )

    async def _store(self, batch: list[bytes]) -> None:
        await self._disk.run(self._part.write, batch)
        if self._total is not None:
            self._disk.remaining = self._total - self._part.written
        self._show()

    def _save(self, pieces: list[bytes]) -> None:
        try:
            self._part.write(pieces)
        finally:  # a full disk has taken a part of it
            self._part.sync()

    async def _is_right(self) -> bool:
        state = self._part.state
        wanted = self._source.sha256 or (state.sha256 if state is not None else None)
        if wanted is None:
            return True
        # Bytes are hashed as they arrive: only those of an earlier run are read again.
        self._show(VERIFYING, is_jump=self._part.hash.covered < self._part.written)
        while not await self._disk.run(self._part.hash_more):
            self._show(VERIFYING)
        return self._part.hash.hexdigest() == wanted

    async def _restart(self, note: str) -> None:
        self._note = note
        self._bodies, self._is_whole = 0, False
        await self._disk.run(self._part.begin, PartState(url=bare_url(self._source.url)), 0)

    def _show(self, note: str | None = None, *, is_jump: bool = False) -> None:
        shown = self._note if note is None else note
        completed, total = self._part.written, self._total
        self._report(Progress(completed=completed, total=total, note=shown, is_jump=is_jump))

    def _unusable(self, what: str) -> AIError:
        return AIError(
            ErrorCode.SERVICE_UNAVAILABLE,
            f"{clean_name(self._name)} {what}.",
            hint="Check whether the file has changed there, or download it from somewhere else.",
            details={"fault": "unusable"},
        )


def checked_source(source: FileSource) -> FileSource:
    """Return a source with a normalized checksum.

    Raises:
        AIError: BAD_REQUEST if it is not a SHA-256 checksum.
    """
    if source.sha256 is None:
        return source
    sha256 = parse_sha256(source.sha256)
    if sha256 is None:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"{clean_name(source.sha256[:80])} is not a SHA-256 checksum.",
            hint="It must be 64 hex digits.",
        )
    return replace(source, sha256=sha256)


def _cause(error: AIError) -> str:
    other = "the server cannot be reached" if error.status is None else "the server is busy"
    return _BROKEN.get(error.code, other)
