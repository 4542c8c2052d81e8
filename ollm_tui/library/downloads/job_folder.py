"""Jobs on disk: a small JSON file for each, and a lock file held by the program that runs it.

A kernel lock ends with its process, so the jobs of a killed program are free at once. Everything
here touches the disk: call it in a thread. The exception is `claim`, which takes microseconds and
must run on the event loop: a lock taken in the thread of a cancelled task would never be released.
"""

import json
import logging
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

from ollm_tui.config.paths import private_folder
from ollm_tui.config.private_file import write_private
from ollm_tui.config.regular_file import read_bounded
from ollm_tui.library.downloads.job import Job, JobError
from ollm_tui.library.downloads.job_record import OtherVersion, from_record, same, to_record
from ollm_tui.library.downloads.locks import FileLock, is_claimed, take_claim

ENDING: Final = ".json"
LOCK_ENDING: Final = ".lock"
DAMAGED: Final = ".damaged"
LARGEST_RECORD: Final = 1024 * 1024
MOST_RECORDS: Final = 1000
MOST_ENTRIES: Final = 20_000
"""Of the folder, that are looked at: a record has a lock beside it, and may be set aside."""
_ID: Final = re.compile(r"[0-9a-z-]{1,64}")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundJob:
    """A download as its file says."""

    job: Job
    is_whole: bool = True
    """Whether nothing of its origin was kept back for secrecy."""
    is_held: bool = False
    """Whether somebody has it in hand, this program perhaps."""


class JobFolder:
    """The files of all downloads; the folder is made when the first is written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def all(self) -> list[FoundJob]:
        """Read the downloads, of very many the newest; a damaged one is set aside."""
        return list(self._found())

    def _found(self) -> Iterator[FoundJob]:
        for job_id in self._ids()[-MOST_RECORDS:]:
            found = self.find(job_id)
            if found is not None:
                yield replace(found, is_held=is_claimed(self._file(job_id, LOCK_ENDING)))

    def _ids(self) -> list[str]:
        try:
            with os.scandir(self._folder) as entries:
                names = [entry.name for entry in islice(entries, MOST_ENTRIES)]
        except FileNotFoundError:
            return []
        except OSError as error:
            logger.warning("The folder of downloads cannot be read: %s", error.strerror)
            return []
        stems = [name.removesuffix(ENDING) for name in names if name.endswith(ENDING)]
        return sorted(stem for stem in stems if _ID.fullmatch(stem))

    def find(self, job_id: str) -> FoundJob | None:
        """Read one download, whoever holds it; None when there is none that can be read."""
        path = self._file(job_id, ENDING)
        try:
            job, is_whole = from_record(json.loads(read_bounded(path, LARGEST_RECORD)))
            if job.id != job_id:
                raise ValueError("of another name")  # noqa: TRY301 -- as everything that is wrong
        except FileNotFoundError:
            return None
        except OtherVersion:
            logger.info("The download %s is for another version of this program", job_id)
            return None
        except (OSError, ValueError, RecursionError) as error:
            self._set_aside(path, error)
            return None
        return FoundJob(job=job, is_whole=is_whole)

    def _set_aside(self, path: Path, error: Exception) -> None:
        logger.warning("The download %s cannot be read: %s", path.stem, type(error).__name__)
        if not isinstance(error, OSError):
            try:
                path.replace(path.with_name(path.name + DAMAGED))
            except OSError:
                logger.warning("It cannot be set aside either")

    def keep(self, job: Job) -> None:
        """Keep a download, whole or not at all, for its owner alone.

        Raises:
            OSError: it cannot be kept.
        """
        write_private(self._file(job.id, ENDING), json.dumps(to_record(job)).encode())

    def claim(self, job_id: str) -> FileLock | None:
        """Take a download in hand; None while another program has it.

        Raises:
            OSError: nothing can be written there.
        """
        private_folder(self._folder)
        return take_claim(self._file(job_id, LOCK_ENDING))

    def remove(self, job_id: str) -> None:
        """Forget a download that this program has in hand.

        Raises:
            OSError: it is still there.
        """
        self._file(job_id, ENDING).unlink(missing_ok=True)
        self._file(job_id, LOCK_ENDING).unlink(missing_ok=True)

    def _file(self, job_id: str, ending: str) -> Path:
        return self._folder / f"{job_id}{ending}"


INTERRUPTED: Final = "interrupted"
ADDRESS_LOST: Final = JobError(
    message="Its address has a name, a password or a query, which is not saved.",
    hint="Enter the whole address again to resume.",
)


def as_seen(found: FoundJob, known: Job | None) -> Job:
    """Give how a download stands; `known` is what this program knew of it.

    What ran or waited and is in nobody's hand was interrupted, and waits. An address that was not
    kept whole is that of `known`; without it, there is nothing to ask.
    """
    job = replace(found.job, is_elsewhere=found.is_held)
    if not found.is_whole:
        if known is not None and same(known.origin, job.origin) and known.trouble != ADDRESS_LOST:
            job = replace(job, origin=known.origin)
        elif not found.is_held and job.state not in {"done", "cancelled"}:
            return replace(job, state="failed", note="", trouble=ADDRESS_LOST)
    if not found.is_held and job.state in {"queued", "running"}:
        return replace(job, state="queued", note=INTERRUPTED)
    return job
