"""`SimilarSearch`: messages that mean the same in other words, by a model that makes embeddings."""

import logging
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Final, Protocol, TypeVar

import anyio
from anyio import to_thread

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.store.faults import translated
from ollm_tui.store.files import identity
from ollm_tui.store.search.embedding_queue import (
    VectorWriter,
    WaitingText,
    embedded_counts,
    model_of_vectors,
    waiting_texts,
)
from ollm_tui.store.search.index_file import IndexPlace, NoIndex, check_format, open_for_reading
from ollm_tui.store.search.indexer import locked, writing_vectors
from ollm_tui.store.search.lookup import SearchHit, hits_of, with_tagged_chats
from ollm_tui.store.search.query import SearchQuery
from ollm_tui.store.search.vectors import Score, VectorBlocks, nearest

logger = logging.getLogger(__name__)

T = TypeVar("T")
Report = Callable[[int, int], None]
"""Gets how many messages are done, and of all."""

MIN_TYPED_LENGTH: Final = 3
"""Characters from which on something has a meaning."""
AT_ONCE: Final = 8
"""Texts of one request: few, since an answer may have to wait for it."""
MAX_TEXT_LENGTH: Final = 6000
"""Characters of a message that are embedded; most models read fewer."""
REST: Final = 1.0
"""How long the work rests after a request, in times of what that took."""
LOOK_EVERY_S: Final = 5.0
RETRY_S: Final = 60.0
LOCKED_S: Final = 0.2
LOCKED_LOOKS: Final = 150
NOT_READY: Final = "Similar: no messages yet. They are prepared in the background."
MIN_SHARE: Final = 0.5
"""How similar a message must be, as a share of the most similar one."""
_CANDIDATES: Final = 2000
"""The nearest messages, of which those are shown that the search allows."""
_NO_TEXTS: Final[Sequence[WaitingText]] = ()
_LOOKED_UP: Final = 100


class TextEmbedder(Protocol):
    """Makes embeddings of texts with a model."""

    async def find_model(self) -> str:
        """Return the name of the model, another one if its vectors are others.

        Raises:
            AIError: there is none that may be used.
        """
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float] | None]:
        """Return a vector for each text; None for one that the model does not take.

        Raises:
            AIError: the model cannot be used.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarHit:
    """A message that is similar, and how much: at most 1."""

    hit: SearchHit
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarResults:
    """The most similar messages, the best first."""

    hits: tuple[SimilarHit, ...] = ()
    notice: str | None = None
    """A sentence about what is missing, or None."""


class SimilarSearch:
    """Finds similar messages of one file of chats, and makes their vectors while `keep_up` runs."""

    def __init__(self, chats: Path, embedder: TextEmbedder, *, is_on: bool = True) -> None:
        self._place = IndexPlace(chats)
        self._embedder = embedder
        self._blocks = VectorBlocks()
        self._file: tuple[int, int] | None = None
        self._reading = Lock()
        self._model: str | None = None
        self.is_on = is_on
        """Whether the settings want it."""

    async def keep_up(self, is_busy: Callable[[], bool] = lambda: False) -> None:
        """Make the vectors of all messages, and of those that are saved later, until cancelled.

        Pauses while `is_busy`, and up to `LOOK_EVERY_S` longer. Problems are logged.
        """
        while True:
            pause_s = LOOK_EVERY_S
            try:
                await self._make_vectors(lambda _done, _all: None, is_busy, REST)
            except AIError as error:
                logger.info("No vectors are made for the search: %s", error)
                pause_s = RETRY_S
            await anyio.sleep(pause_s)

    async def update(self, report: Report) -> bool:
        """Make the vectors that are missing; return False if another program is doing that.

        Raises:
            AIError: no model can be used, or the index cannot be written.
        """
        return await self._make_vectors(report, lambda: False, 0)

    async def search(
        self, query: SearchQuery, *, limit: int = 10, without: Collection[str] = ()
    ) -> SimilarResults:
        """Return the messages most similar to the words of a search, of which its facts are true.

        Messages with the ids `without` are left out.

        Raises:
            AIError: no model can be used, or the index cannot be read.
        """
        if len(query.plain) < MIN_TYPED_LENGTH:
            return SimilarResults()
        model = await self._embedder.find_model()
        (vector,) = await self._embedder.embed([query.plain])
        if vector is None:
            return SimilarResults()
        wanted = _Wanted(
            model=model, vector=vector, query=query, limit=limit, without=frozenset(without)
        )
        work = partial(self._search_now, wanted)
        try:
            return await self._in_thread(work, SimilarResults(notice=NOT_READY))
        except anyio.get_cancelled_exc_class():
            wanted.is_cancelled = True
            raise

    # Making vectors

    async def _make_vectors(self, report: Report, is_busy: Callable[[], bool], rest: float) -> bool:
        try:
            with locked(self._place.embedding_lock) as is_ours:
                if is_ours:
                    await self._make_all(report, is_busy, rest)
                return is_ours
        except FileNotFoundError:  # nothing is saved yet
            return True
        except OSError as error:
            raise _not_searched(error) from error

    async def _make_all(self, report: Report, is_busy: Callable[[], bool], rest: float) -> None:
        done, messages = await self._in_thread(embedded_counts, (0, 0))
        if done == messages and self._model is not None:
            return
        model = self._model = await self._embedder.find_model()
        await self._write(partial(_use_model, model))
        while not is_busy() and (texts := await self._in_thread(_take, _NO_TEXTS)):
            began = time.monotonic()
            vectors = await self._embedder.embed([text.text for text in texts])
            await self._write(partial(_store, model, texts, vectors))
            report(*await self._in_thread(embedded_counts, (0, 0)))
            await anyio.sleep(rest * (time.monotonic() - began))

    async def _write(self, work: Callable[[VectorWriter], None]) -> None:
        """Write, as soon as the index is not locked by what keeps its words up to date.

        Raises:
            AIError: it cannot be written.
        """
        for _ in range(LOCKED_LOOKS):
            if await to_thread.run_sync(self._write_now, work):
                return
            await anyio.sleep(LOCKED_S)
        raise AIError(ErrorCode.CONFLICT, "The chats are being indexed.", hint="Try again later.")

    def _write_now(self, work: Callable[[VectorWriter], None]) -> bool:
        try:
            with writing_vectors(self._place) as writer:
                if writer is not None:
                    work(writer)
                return writer is not None
        except sqlite3.Error as error:
            raise translated(error, self._place.index, "changed") from error
        except NoIndex as error:
            raise AIError(ErrorCode.CONFLICT, str(error)) from error
        except OSError as error:
            raise _not_searched(error) from error

    async def _in_thread(self, work: Callable[[sqlite3.Connection], T], default: T) -> T:
        """Read the index in a thread; return the default if there is none yet."""
        return await to_thread.run_sync(self._read, work, default, abandon_on_cancel=True)

    def _read(self, work: Callable[[sqlite3.Connection], T], default: T) -> T:
        try:
            with closing(open_for_reading(self._place.index)) as index:
                check_format(index)
                return work(index)
        except (FileNotFoundError, NoIndex):
            return default
        except OSError as error:
            raise _not_searched(error) from error
        except sqlite3.Error as error:
            raise translated(error, self._place.index, "searched") from error

    # Searching, in a thread

    def _search_now(self, wanted: "_Wanted", index: sqlite3.Connection) -> SimilarResults:
        with self._reading:
            file = identity(self._place.index)
            if file != self._file:
                self._blocks.clear()
                self._file = file
            if model_of_vectors(index) != wanted.model:
                return SimilarResults(notice=NOT_READY)
            scores = nearest(
                index, wanted.vector, self._blocks, wanted.candidates, lambda: wanted.is_cancelled
            )
        wanted.query = with_tagged_chats(wanted.query, self._place.chats)
        done, messages = embedded_counts(index)
        missing = f"Similar: {done / messages:.0%} of the messages." if done < messages else None
        hits = islice(_shown(index, wanted, scores), wanted.limit)
        return SimilarResults(hits=tuple(hits), notice=missing)


@dataclass(slots=True, kw_only=True)
class _Wanted:
    """What is searched, which may be cancelled from outside."""

    model: str
    vector: Sequence[float]
    query: SearchQuery
    limit: int
    without: frozenset[str]
    is_cancelled: bool = False

    @property
    def candidates(self) -> int:
        """How many of the nearest messages are looked at."""
        return self.limit + len(self.without) if self.query.is_plain else _CANDIDATES


def _shown(
    index: sqlite3.Connection, wanted: _Wanted, scores: Sequence[Score]
) -> Iterator[SimilarHit]:
    """Yield those messages that the search allows, the nearest first."""
    least = MIN_SHARE * max(0.0, scores[0][0]) if scores else 0.0
    scores = [score for score in scores if score[0] > least]
    for start in range(0, len(scores), _LOOKED_UP):
        some = scores[start : start + _LOOKED_UP]
        hits = hits_of(index, wanted.query, [number for _, number in some])
        for similarity, number in some:
            hit = hits.get(number)
            if hit is not None and hit.message_id not in wanted.without:
                yield SimilarHit(hit=hit, similarity=similarity)


def _take(index: sqlite3.Connection) -> Sequence[WaitingText]:
    return waiting_texts(index, AT_ONCE, MAX_TEXT_LENGTH)


def _use_model(model: str, writer: VectorWriter) -> None:
    for _removed in writer.use_model(model):
        pass


def _store(
    model: str,
    texts: Sequence[WaitingText],
    vectors: Sequence[Sequence[float] | None],
    writer: VectorWriter,
) -> None:
    writer.store(model, texts, vectors)


def _not_searched(error: OSError) -> AIError:
    reason = error.strerror or str(error)
    return AIError(ErrorCode.ENGINE_ERROR, f"Similar messages cannot be searched: {reason}.")
