"""Brings the chats of files into the store, some at a time, each of them whole or not at all."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import Final, Protocol

from anyio import to_thread

from ollm_tui.dataclass import dataclass, field
from ollm_tui.exchange.json_items import Problem
from ollm_tui.exchange.reading import ImportFile, Outcome
from ollm_tui.protocol.blocks import MEDIA
from ollm_tui.store.records import Added, ChatRecord

MAX_AT_ONCE: Final = 64
_SECONDS_AT_ONCE: Final = 0.25
_MESSAGES_AT_ONCE: Final = 2_000
_BYTES_AT_ONCE: Final = 32 * 1024 * 1024
"""Of pictures and the like, which are most of what is in memory."""


class Store(Protocol):
    """Where the chats go."""

    async def add(self, records: Sequence[ChatRecord]) -> list[Added]:
        """Add chats in one transaction."""


@dataclass(slots=True)
class ImportResult:
    """What became of the chats so far."""

    chats: int = 0
    """Number of new chats."""
    continued: int = 0
    """Number of chats that were there, and got more messages."""
    unchanged: int = 0
    """Number of chats that were there with all their messages."""
    messages: int = 0
    problems: list[tuple[Path, str]] = field(default_factory=list)
    """Files with a sentence on what could not be read."""

    def count(self, added: Added) -> None:
        """Count one chat."""
        self.messages += added.messages
        self.chats += added.is_new
        self.continued += not added.is_new and added.messages > 0
        self.unchanged += not added.is_new and not added.messages


Progress = Callable[[ImportFile, ImportResult], None]


async def import_files(
    paths: Sequence[Path], store: Store, report: Progress, result: ImportResult
) -> None:
    """Import files one after the other; `result` has what was done, also if it is stopped.

    A chat is there whole once it is counted. A stopped import can be repeated: what is there
    already is not added again.

    Raises:
        AIError: the store cannot be written.
    """
    for path in paths:
        file = ImportFile(path)
        outcomes = file.chats()
        while True:
            some, is_end = await to_thread.run_sync(_take, outcomes)
            records = [one for one in some if isinstance(one, ChatRecord)]
            result.problems += [(path, one.text) for one in some if isinstance(one, Problem)]
            for added in await store.add(records) if records else ():
                result.count(added)
            report(file, result)
            if is_end:
                break


def _take(outcomes: Iterator[Outcome]) -> tuple[list[Outcome], bool]:
    """Return the next few chats, and whether they are the last ones. Blocks for a moment."""
    some: list[Outcome] = []
    messages = size = 0
    until = monotonic() + _SECONDS_AT_ONCE
    for outcome in outcomes:
        some.append(outcome)
        if isinstance(outcome, ChatRecord):
            messages += len(outcome.messages)
            size += _media_size(outcome)
        is_much = messages > _MESSAGES_AT_ONCE or size > _BYTES_AT_ONCE
        if len(some) >= MAX_AT_ONCE or is_much or monotonic() > until:
            return some, False
    return some, True


def _media_size(record: ChatRecord) -> int:
    blocks = (block for one in record.messages for block in one.message.content)
    return sum(len(block.data or b"") for block in blocks if isinstance(block, MEDIA))
