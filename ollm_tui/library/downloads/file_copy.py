"""Copies one file in slices, each forced to the disk, and gives it its name in one step.

A copy lies under a name of its own until it is whole; that name says of which file in which state
it is a copy, so that a later run goes on with it, and begins anew when the file has changed.
Everything here touches the disk: call it in a thread.
"""

import hashlib
import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ollm_tui.config.regular_file import open_binary, open_regular
from ollm_tui.decode.clean import clean_name

SLICE: Final = 8 * 1024 * 1024


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
        descriptor = open_regular(self.part, os.O_WRONLY | os.O_CREAT, follows_links=False)
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
        with ExitStack() as held:
            source = held.enter_context(open_binary(self.source))
            part = open_regular(self.part, os.O_RDWR, follows_links=False)
            held.callback(os.close, part)
            piece = os.pread(source.fileno(), min(SLICE, self.size - done), done)
            if not piece:
                raise OSError(f"{clean_name(self.source.name)} became shorter while it was copied")
            place, left = done, memoryview(piece)
            while left:
                written = os.pwrite(part, left, place)
                place, left = place + written, left[written:]
            os.fsync(part)
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
