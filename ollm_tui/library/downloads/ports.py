"""What a front end may ask of the downloads."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from ollm_tui.library.downloads.job import Job, Origin


class Downloads(Protocol):
    """The queue of downloads of this person; it goes on whatever the screen shows.

    A deed on a job that is elsewhere raises CONFLICT; one on a job that there is not does nothing.
    """

    def jobs(self) -> Sequence[Job]:
        """Give all that is known, the oldest first."""
        ...

    async def add(self, origin: Origin) -> Job:
        """Put a download at the end of the queue.

        One of the same that has not ended is given as it is; one that has failed begins again.

        Raises:
            AIError: it cannot be downloaded: a refused name, a provider that cannot pull, ...
        """
        ...

    async def pause(self, job_id: str) -> None:
        """Stop one and keep what has come; one that has ended or is paused stays as it is.

        Raises:
            AIError: CONFLICT, another running program has it in hand.
        """
        ...

    async def resume(self, job_id: str) -> None:
        """Let a paused or failed one go on where it stopped.

        Raises:
            AIError: CONFLICT, as above; BAD_REQUEST, its address was not kept whole.
        """
        ...

    async def cancel(self, job_id: str) -> None:
        """Stop one for good and remove what has come; returns when that is done.

        Raises:
            AIError: CONFLICT, as above, or what has come cannot be removed.
        """
        ...

    async def dismiss(self, job_id: str) -> None:
        """Remove a finished download from the list; its files stay. No change tells of that.

        Raises:
            AIError: CONFLICT, as above.
        """
        ...

    def changes(self) -> AbstractAsyncContextManager[AsyncIterator[Job]]:
        """Give each job as it changes, at most a few times a second each.

        A reader that is slow gets the newest state of each job, never all states between.
        """
        ...
