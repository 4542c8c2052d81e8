"""Jobs on disk: a small JSON file for each, and a lock file held by the program that runs it.

A kernel lock ends with its process, so the jobs of a killed program are free at once. Everything
here touches the disk: call it in a thread. The exception is `lock`, which takes microseconds and
must run on the event loop: a lock taken in the thread of a cancelled task would never be released.
"""

import json
import logging
import os
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

from ollm_tui.config.paths import private_folder
from ollm_tui.config.private_file import is_named, open_lock, try_lock, write_private
from ollm_tui.config.regular_file import open_regular, read_bounded
from ollm_tui.dataclass import dataclass
from ollm_tui.lazy import lazy_re
from ollm_tui.library.downloads.job import Job, JobError
from ollm_tui.library.downloads.job_record import (
    UnsupportedFormat,
    from_record,
    same_origin,
    to_record,
)

RECORD_ENDING: Final = ".json"
LOCK_ENDING: Final = ".lock"
DAMAGED_ENDING: Final = ".damaged"
MAX_RECORD_BYTES: Final = 1024 * 1024
MAX_RECORDS: Final = 1000
MAX_ENTRIES: Final = 20_000
"""Directory entries that are read: each record has a lock file and perhaps a damaged copy."""
_ID: Final = lazy_re(r"[0-9a-z-]{1,64}")

INTERRUPTED: Final = "interrupted"
ADDRESS_LOST: Final = JobError(
    message="Its address has a name, a password or a query, which is not saved.",
    hint="Enter the whole address again to resume.",
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredJob:
    """A job as its file describes it."""

    job: Job
    is_whole: bool = True
    """Whether the whole origin was stored, with nothing left out as a possible secret."""
    is_held: bool = False
    """Whether a program holds its lock, perhaps this one."""


class FileLock:
    """A lock of the kernel, held until `release` or the end of the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Release the lock; a second call is a no-op."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class JobFolder:
    """The files of all jobs; the folder is created with the first one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load_all(self) -> list[StoredJob]:
        """Return the jobs, at most the newest MAX_RECORDS; a damaged file is set aside."""
        return [
            replace(stored, is_held=is_locked(self._file(job_id, LOCK_ENDING)))
            for job_id in self._ids()[-MAX_RECORDS:]
            if (stored := self.load(job_id)) is not None
        ]

    def _ids(self) -> list[str]:
        try:
            with os.scandir(self._folder) as entries:
                names = [entry.name for entry in islice(entries, MAX_ENTRIES)]
        except FileNotFoundError:
            return []
        except OSError as error:
            logger.warning("The folder of downloads cannot be read: %s", error.strerror)
            return []
        stems = [name.removesuffix(RECORD_ENDING) for name in names if name.endswith(RECORD_ENDING)]
        return sorted(stem for stem in stems if _ID.fullmatch(stem))

    def load(self, job_id: str) -> StoredJob | None:
        """Return one job, whichever program holds it, or None if it cannot be read."""
        path = self._file(job_id, RECORD_ENDING)
        try:
            job, is_whole = from_record(json.loads(read_bounded(path, MAX_RECORD_BYTES)))
            if job.id != job_id:
                raise ValueError("of another name")  # noqa: TRY301 -- as any other damage
        except FileNotFoundError:
            return None
        except UnsupportedFormat:
            logger.info("The download %s is for another version of this program", job_id)
            return None
        except (OSError, ValueError, OverflowError, RecursionError) as error:
            self._set_aside(path, error)
            return None
        return StoredJob(job=job, is_whole=is_whole)

    def _set_aside(self, path: Path, error: Exception) -> None:
        logger.warning("The download %s cannot be read: %s", path.stem, type(error).__name__)
        if not isinstance(error, OSError):
            try:
                path.replace(path.with_name(path.name + DAMAGED_ENDING))
            except OSError:
                logger.warning("It cannot be set aside either")

    def save(self, job: Job) -> None:
        """Store a job in one step, readable by its owner only.

        Raises:
            OSError: it cannot be written.
        """
        write_private(self._file(job.id, RECORD_ENDING), json.dumps(to_record(job)).encode())

    def lock(self, job_id: str) -> FileLock | None:
        """Take the lock of a job; None while another holder has it, even one that only tests it.

        Raises:
            OSError: the folder cannot be written to.
        """
        path = private_folder(self._folder) / f"{job_id}{LOCK_ENDING}"
        descriptor = open_lock(path)
        if try_lock(descriptor) and is_named(descriptor, path):
            return FileLock(descriptor)
        os.close(descriptor)
        return None

    def remove(self, job_id: str) -> None:
        """Delete the files of a job whose lock this program holds.

        Raises:
            OSError: they are still there.
        """
        self._file(job_id, RECORD_ENDING).unlink(missing_ok=True)
        self._file(job_id, LOCK_ENDING).unlink(missing_ok=True)

    def _file(self, job_id: str, ending: str) -> Path:
        return self._folder / f"{job_id}{ending}"


def is_locked(path: Path) -> bool:
    """Whether a lock is held; creates no file."""
    try:
        descriptor = open_regular(path, os.O_RDWR, follows_links=False)
    except OSError:
        return False
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)


def recovered_job(stored: StoredJob, known: Job | None) -> Job:
    """Return a stored job as it stands now; `known` is what this program knew of it.

    A queued or running job that no program holds was interrupted, and is queued again. An address
    that was not stored whole is taken from `known`; without it the job has failed.
    """
    job = replace(stored.job, is_elsewhere=stored.is_held)
    if not stored.is_whole:
        is_same = known is not None and same_origin(known.origin, job.origin)
        if known is not None and is_same and known.error != ADDRESS_LOST:
            job = replace(job, origin=known.origin)
        elif not stored.is_held and job.state not in {"done", "cancelled"}:
            return replace(job, state="failed", note="", error=ADDRESS_LOST)
    if not stored.is_held and job.state in {"queued", "running"}:
        return replace(job, state="queued", note=INTERRUPTED)
    return job
