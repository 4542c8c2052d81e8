"""How often a broken connection is tried again: only while more comes, and never in haste."""

from typing import Final

from ollm_tui.protocol.errors import AIError, ErrorCode

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
