"""One run of a transfer, from what is on disk to a file whose checksum is right.

States: requesting (with the offset and the ETag of what is there), copying the body, waiting after
a broken connection before the next request, restarting when what is there cannot be used, and
verifying the checksum. It ends when the checksum is right, or with an `AIError`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import anyio

from ollm_tui.decode.clean import clean_name
from ollm_tui.library.downloads.file_io import FileIO
from ollm_tui.library.downloads.part_file import (
    PartFile,
    PartState,
)
from ollm_tui.library.downloads.range_response import (
    CHANGED,
    NO_RANGES,
    AskAnew,
    Asked,
    Body,
    sum_of,
    understand,
)
from ollm_tui.library.urls import (
    bare_url,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.fetch import Fetched, Fetcher, FetchRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a file comes from, and what it must be as far as that is known."""

    url: str = field(repr=False)
    """May hold a name, a password and a query; none of them is stored or shown."""
    size: int | None = None
    """Bytes."""
    sha256: str | None = None
    """64 hex digits."""
    token: str | None = field(default=None, repr=False)
    """Sent to the origin of `url` alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """How far a transfer is."""

    completed: int
    """Bytes that are there; less than before when it had to start again."""
    total: int | None
    note: str = ""
    """What happens, or what has happened last that a person may want to know."""
    is_waiting: bool = False
    """Whether nothing comes until the next try: there is no speed to speak of."""


MOST_VAIN: Final = 5
"""So many tries in a row may bring nothing."""
MOST_ANEW: Final = 3
FIRST_WAIT_S: Final = 1.0
LONGEST_WAIT_S: Final = 30.0
LONGEST_ASKED_WAIT_S: Final = 60.0
"""What a server asks for beyond this is left to a person."""
LEAST_PROGRESS_BYTES: Final = 1024 * 1024
LEAST_PROGRESS_PART: Final = 100
"""Less than this part of a file, or less than the bytes above, is no progress: it has an end."""


class Attempts:
    """The tries of one run."""

    def __init__(self, written: int) -> None:
        self._mark = written
        self._vain = 0
        self._anew = 0

    def wait_after(self, error: AIError, written: int, size: int | None) -> float:
        """Give how many seconds to wait before the next try.

        Raises:
            AIError: the one given, when there is no use in another try.
        """
        asked = error.details.get("retry_after_s")
        asked_s = float(asked) if isinstance(asked, int | float) else 0.0
        if not _may_pass(error) or asked_s > LONGEST_ASKED_WAIT_S:
            raise error
        least = LEAST_PROGRESS_BYTES
        if size is not None:
            least = max(1, min(least, size // LEAST_PROGRESS_PART))
        if written >= self._mark + least:
            self._mark, self._vain = written, 0
        self._vain += 1
        if self._vain >= MOST_VAIN:
            raise error
        return max(asked_s, min(LONGEST_WAIT_S, FIRST_WAIT_S * float(1 << (self._vain - 1))))

    def may_begin_anew(self) -> bool:
        """Whether a file that changes all the time may be begun once more; counts."""
        self._anew += 1
        return self._anew <= MOST_ANEW


def _may_pass(error: AIError) -> bool:
    return error.retryable or error.code in (ErrorCode.STREAM_INCOMPLETE, ErrorCode.TIMEOUT)


BATCH_BYTES: Final = 1024 * 1024
"""What is in memory at most, besides what the fetcher has read ahead."""
LONGEST_BATCH_S: Final = 0.2
"""A slow server's bytes are written, and told, after so long at the latest."""
CHECKING: Final = "verifying the checksum"
WRONG: Final = "its checksum was wrong, starting over"


class TransferRun:
    """Bring one file to its end, in `part`."""

    def __init__(
        self,
        fetcher: Fetcher,
        source: Source,
        part: PartFile,
        disk: FileIO,
        report: Callable[[Step], None],
    ) -> None:
        self._fetcher = fetcher
        self._source = source
        self._name = disk.target.name
        self._part = part
        self._disk = disk
        self._report = report
        self._attempts = Attempts(part.written)
        self._bodies = 0
        """Answers that the bytes which are there came with."""
        self._total = source.size
        self._note = ""
        self._is_whole = False

    async def finish(self) -> None:
        """Fetch what is missing, and check it.

        Raises:
            AIError: it cannot be had, or its sum is wrong even when it comes in one piece.
        """
        await self._take_up()
        while True:
            while not self._is_whole:
                await self._try()
            if await self._is_right():
                return
            bodies = self._bodies
            await self._begin_anew(WRONG)
            if bodies < 2 or not self._attempts.may_begin_anew():
                raise self._trouble("has a different checksum than promised and was not kept")

    async def _take_up(self) -> None:
        """Look whether what is there belongs to this file."""
        state, source = self._part.state, self._source
        if state is None or not self._part.written:
            return
        is_other = (
            state.url != bare_url(source.url)
            or (source.size is not None and state.size not in (None, source.size))
            or (source.sha256 is not None and state.sha256 not in (None, source.sha256))
        )
        if is_other:
            await self._begin_anew(CHANGED)
            return
        self._bodies = 2  # nobody knows how many it took
        self._total = state.size if self._total is None else self._total
        self._is_whole = source.sha256 is not None and self._part.written == self._total

    async def _try(self) -> None:
        try:
            await self._ask()
        except AskAnew as anew:
            if not self._attempts.may_begin_anew():
                raise self._trouble("keeps changing on the server") from anew
            await self._begin_anew(str(anew))
        except AIError as error:
            wait_s = self._attempts.wait_after(error, self._part.written, self._total)
            self._tell(f"{_cause(error)}, trying again in {wait_s:g} s", is_waiting=True)
            await self._disk.pause(wait_s)

    async def _ask(self) -> None:
        asked = self._asked()
        headers = {}
        if asked.earlier is not None and asked.earlier.etag is not None:
            headers = {"range": f"bytes={asked.offset}-", "if-range": asked.earlier.etag}
        request = FetchRequest(url=self._source.url, headers=headers, token=self._source.token)
        async with self._fetcher.fetch(request) as answer:
            body = understand(asked, answer)
            await self._begin(body, asked)
            await self._copy(answer, body)
        self._is_whole = True

    def _asked(self) -> Asked:
        state, written = self._part.state, self._part.written
        known = Asked(name=self._name, size=self._source.size, sha256=self._source.sha256)
        if state is None or state.etag is None or not written:
            return known
        # Of a file that is all there the last byte is asked for: to hear whether it has changed.
        offset = written if state.size is None else min(written, state.size - 1)
        return replace(known, offset=offset, earlier=state) if offset else known

    async def _begin(self, body: Body, asked: Asked) -> None:
        if body.note:
            self._note = body.note
        elif self._part.written and not asked.offset:
            self._note = NO_RANGES
        state = PartState(
            url=bare_url(self._source.url), etag=body.etag, size=body.size, sha256=body.sha256
        )
        await self._disk.run(self._part.begin, state, body.start)
        self._bodies = self._bodies + 1 if body.start else 1
        self._total = body.size
        if body.size is not None:
            self._disk.missing = body.size - body.start
            await self._disk.need(self._disk.missing)
        self._tell()

    async def _copy(self, answer: Fetched, body: Body) -> None:
        gathered: list[bytes] = []
        size, since = 0, time.monotonic()
        most = min(BATCH_BYTES, self._part.unsaved_bytes() // 2)
        try:
            async for piece in answer.pieces():
                gathered.append(piece)
                size += len(piece)
                if body.size is not None and self._part.written + size > body.size:
                    gathered.clear()
                    await self._begin_anew("")
                    raise self._trouble("is longer than promised and was not kept")
                if size >= most or time.monotonic() - since >= LONGEST_BATCH_S:
                    batch, gathered = gathered, []
                    await self._store(batch)
                    size, since = 0, time.monotonic()
        finally:
            with anyio.CancelScope(shield=True):
                await self._disk.run(self._save, gathered)
        self._tell()
        if body.size is not None and self._part.written < body.size:
            raise AIError(
                ErrorCode.STREAM_INCOMPLETE,
                f"{clean_name(self._name)} was cut off: the connection ended in the middle.",
                hint="What arrived is kept: resume it.",
            )

    async def _store(self, batch: list[bytes]) -> None:
        await self._disk.run(self._part.write, batch)
        if self._total is not None:
            self._disk.missing = self._total - self._part.written
        self._tell()

    def _save(self, gathered: list[bytes]) -> None:
        try:
            self._part.write(gathered)
        finally:  # on a full disk a part of it was written
            self._part.settle()

    async def _is_right(self) -> bool:
        """Sum up what is there, as far as that was not done on the way."""
        state = self._part.state
        wanted = self._source.sha256 or (state.sha256 if state is not None else None)
        if wanted is None:
            return True
        self._tell(CHECKING)
        while not await self._disk.run(self._part.read_on):
            self._tell(CHECKING)
        return self._part.sum.hexdigest() == wanted

    async def _begin_anew(self, note: str) -> None:
        self._note = note
        self._bodies, self._is_whole = 0, False
        await self._disk.run(self._part.begin, PartState(url=bare_url(self._source.url)), 0)

    def _tell(self, note: str | None = None, *, is_waiting: bool = False) -> None:
        shown = self._note if note is None else note
        written, total = self._part.written, self._total
        self._report(Step(completed=written, total=total, note=shown, is_waiting=is_waiting))

    def _trouble(self, what: str) -> AIError:
        return AIError(
            ErrorCode.SERVICE_UNAVAILABLE,
            f"{clean_name(self._name)} {what}.",
            hint="Look whether the file has changed there, or download it from somewhere else.",
            details={"fault": "unusable"},
        )


def checked(source: Source) -> Source:
    """Give a source whose sum is written as sums are compared.

    Raises:
        AIError: BAD_REQUEST for what is not a SHA-256 checksum.
    """
    if source.sha256 is None:
        return source
    sha256 = sum_of(source.sha256)
    if sha256 is None:
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"{clean_name(source.sha256[:80])} is not a SHA-256 checksum.",
            hint="It must be 64 hex digits.",
        )
    return replace(source, sha256=sha256)


def _cause(error: AIError) -> str:
    match error.code:
        case ErrorCode.STREAM_INCOMPLETE:
            return "the connection broke"
        case ErrorCode.TIMEOUT:
            return "the server stopped sending"
        case _:
            return "the server cannot be reached" if error.status is None else "the server is busy"
