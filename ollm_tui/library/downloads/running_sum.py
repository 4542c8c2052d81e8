"""The SHA-256 of a file that is being written: made on the way where it can be, read where not."""

import hashlib
import os
from typing import Final

SLICE_BYTES: Final = 8 * 1024 * 1024
_PIECE_BYTES: Final = 1024 * 1024


class RunningSum:
    """The sum of the first `covered` bytes of a file."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.covered = 0

    def add(self, data: bytes, at: int) -> None:
        """Take bytes that were written at `at`; they count if nothing before them is missing."""
        if at == self.covered:
            self._digest.update(data)
            self.covered += len(data)

    def cut(self, length: int) -> None:
        """The file was cut to a length; a sum cannot be taken back, so it may begin anew."""
        if length < self.covered:
            self._digest, self.covered = hashlib.sha256(), 0

    def catch_up(self, descriptor: int, length: int) -> bool:
        """Read some of what is not covered; gives whether `length` bytes are covered now.

        Raises:
            OSError: the file cannot be read, or is shorter.
        """
        end = min(length, self.covered + SLICE_BYTES)
        while self.covered < end:
            piece = os.pread(descriptor, min(_PIECE_BYTES, end - self.covered), self.covered)
            if not piece:
                raise OSError("the file has become shorter")
            self.add(piece, self.covered)
        return self.covered >= length

    def hexdigest(self) -> str:
        """Give the sum of what is covered."""
        return self._digest.hexdigest()
