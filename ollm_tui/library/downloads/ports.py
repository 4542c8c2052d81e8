"""What a front end may ask of the downloads."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from ollm_tui.library.downloads.job import Job, Origin


class Downloads(Protocol):
    """The queue of downloads of this person; it goes on whatever the screen shows."""

    def jobs(self) -> Sequence[Job]:
        """Give all that is known, the oldest first."""
        ...

    async def add(self, origin: Origin) -> Job:
        """Put a download at the end of the queue; one of the same that has not ended is given.

        Raises:
            AIError: it cannot be fetched at all: a refused name, a provider that cannot pull, ...
        """
        ...

    async def pause(self, job_id: str) -> None:
        """Stop one and keep what has come; one that has ended or is paused stays as it is."""
        ...

    async def resume(self, job_id: str) -> None:
        """Let a paused or failed one go on where it stopped."""
        ...

    async def cancel(self, job_id: str) -> None:
        """Stop one for good and remove what has come; returns when that is done."""
        ...

    async def dismiss(self, job_id: str) -> None:
        """Take one that has ended off the list; its files stay."""
        ...

    def changes(self) -> AbstractAsyncContextManager[AsyncIterator[Job]]:
        """Give each job as it changes, at most a few times a second each.

        A reader that is slow gets the newest state of each job, never all states between.
        """
        ...
