"""Copies one file in slices, each forced to the disk, and gives it its name in one step.

A copy lies under a name of its own until it is whole; that name says of which file in which state
it is a copy, so that a later run goes on with it, and begins anew when the file has changed.
Everything here touches the disk: call it in a thread.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ollm_tui.decode.clean import clean_name

SLICE: Final = 8 * 1024 * 1024
_PRIVATE: Final = 0o600


@dataclass(frozen=True, slots=True)
class FileCopy:
    """One file and its place."""

    source: Path
    target: Path
    size: int
    modified_ns: int

    @property
    def part(self) -> Path:
        """Where it is while it is not whole."""
        return self.target.with_name(f"{self._parts}{self.size:x}-{self.modified_ns:x}.part")

    @property
    def _parts(self) -> str:
        """How names of parts begin, of whatever state; the target's own may be too long for it."""
        name = self.target.name.encode("utf-8", "surrogatepass")
        return f".copy-{hashlib.sha256(name).hexdigest()[:16]}-"

    def is_there(self) -> bool:
        """Whether an earlier run has made this copy.

        Raises:
            FileExistsError: another file has its place.
        """
        try:
            status = self.target.stat()
        except FileNotFoundError:
            return False
        if (status.st_size, status.st_mtime_ns) != (self.size, self.modified_ns):
            raise FileExistsError("another file is there")
        return True

    def begin(self) -> int:
        """Give how much an earlier run has copied, in whole slices; copies of other states go."""
        for left in self.target.parent.glob(f"{self._parts}*.part"):
            if left != self.part:
                left.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(self.part, flags, _PRIVATE)
        try:
            done = min(os.fstat(descriptor).st_size, self.size) // SLICE * SLICE
            os.ftruncate(descriptor, done)
        finally:
            os.close(descriptor)
        return done

    def copy_slice(self, done: int) -> int:
        """Copy a little more behind `done` bytes, and give how many there are then.

        Raises:
            OSError: it cannot be read or written, or became shorter.
        """
        with self.source.open("rb") as source, self.part.open("r+b") as part:
            piece = os.pread(source.fileno(), min(SLICE, self.size - done), done)
            if not piece:
                raise OSError(f"{clean_name(self.source.name)} became shorter while it was copied")
            place, left = done, memoryview(piece)
            while left:
                written = os.pwrite(part.fileno(), left, place)
                place, left = place + written, left[written:]
            os.fsync(part.fileno())
        return done + len(piece)

    def put(self) -> None:
        """Give the whole copy its name.

        Raises:
            FileExistsError: another file has taken its place meanwhile.
            OSError: the file has changed meanwhile.
        """
        status = self.source.stat()
        if (status.st_size, status.st_mtime_ns) != (self.size, self.modified_ns):
            self.part.unlink(missing_ok=True)
            raise OSError(f"{clean_name(self.source.name)} changed while it was copied")
        if os.path.lexists(self.target):
            raise FileExistsError("another file of that name has come meanwhile")
        os.utime(self.part, ns=(self.modified_ns, self.modified_ns))
        self.part.replace(self.target)
