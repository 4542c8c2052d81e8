"""The output of a command: its beginning and its end are kept, what is between them is counted."""

from typing import Final

from ollm_tui.decode.counted import size_text
from ollm_tui.lazy import lazy_re

HEAD_BYTES: Final = 12_000
TAIL_BYTES: Final = 20_000
_LINE_END_WITHIN: Final = 2_000
"""How far a cut is moved to the end of a line."""
_ESCAPE: Final = lazy_re(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")


class KeptOutput:
    """Takes any amount of output in bounded memory."""

    def __init__(self, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        self._head_limit, self._tail_limit = head, tail
        self._head = bytearray()
        self._tail = bytearray()
        self.size = 0
        """Bytes so far."""

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self.size += len(data)
        room = self._head_limit - len(self._head)
        self._head += data[:room]
        self._tail += data[max(0, room) :]
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: -self._tail_limit]

    def text(self) -> str:
        """Return what is kept, with a line in the place of what is not."""
        head, tail = bytes(self._head), bytes(self._tail[-self._tail_limit :])
        if len(head) + len(tail) == self.size:
            return plain_text(head + tail)
        end = head.rfind(b"\n", len(head) - _LINE_END_WITHIN) + 1
        start = tail.find(b"\n", 0, _LINE_END_WITHIN) + 1
        head, tail = head[: end or len(head)], tail[start:]
        left_out = size_text(self.size - len(head) - len(tail))
        return f"{plain_text(head).rstrip()}\n\n[… {left_out} left out …]\n\n{plain_text(tail)}"

    def ending(self, most: int) -> str:
        """Return the last bytes as text, to show a command at work."""
        data = bytes(self._head) + bytes(self._tail) if len(self._tail) < most else self._tail
        return plain_text(bytes(data[-most:]))


def plain_text(data: bytes) -> str:
    """Return output as a screen would show it in the end: no colours, no lines that were redrawn.

    What is not UTF-8 becomes U+FFFD. Progress bars, for example, are one line that is redrawn with
    carriage returns: only its end counts.
    """
    text = _ESCAPE.sub("", data.decode("utf-8", "replace").replace("\r\n", "\n"))
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
