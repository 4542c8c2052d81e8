"""Find where a JSON value that arrives in pieces ends, reading each character once.

What is between the brackets is not checked for being JSON.
"""

from ollm_tui.lazy import lazy_re

_MARK = lazy_re(r"[\"'{}\[\]\\]")


class JsonSpan:
    """Follow one object or array; ``quotes`` are the characters that begin a string."""

    def __init__(self, quotes: str = '"') -> None:
        self._quotes = quotes
        self._level = 0
        self._quote = ""
        self._escaped = False
        self.closed = False

    @property
    def in_string(self) -> bool:
        """Whether the text so far ends inside a string."""
        return bool(self._quote)

    def feed(self, text: str, at: int = 0, end: int | None = None) -> int:
        """Return the position up to which this piece of the text belongs to the value."""
        end = len(text) if end is None else end
        after_escape = at + 1 if self._escaped and at < end else at
        self._escaped = self._escaped and at >= end
        for mark in _MARK.finditer(text, at, end):
            if self.closed:
                break
            if mark.start() < after_escape:
                continue
            if mark[0] == "\\":
                after_escape = mark.end() + 1
                self._escaped = after_escape > end
            elif self._follow(mark[0]):
                return mark.end()
        return at if self.closed else end

    def _follow(self, mark: str) -> bool:
        if self._quote:
            self._quote = "" if mark == self._quote else self._quote
        elif mark in self._quotes:
            self._quote = mark
        elif mark in "{[":
            self._level += 1
        elif mark in "}]" and self._level:
            self._level -= 1
            self.closed = not self._level
        return self.closed


def first_value(text: str, quotes: str = '"') -> str | None:
    """Return the value at the start of a text, or None if it does not end."""
    span = JsonSpan(quotes)
    end = span.feed(text)
    return text[:end] if span.closed else None


_OPENING = lazy_re(r'[{\["]')


class JsonExtent:
    """Whether an object has been closed, judged anew with each piece: `{}{` is open again.

    So is `{}"`: a piece may have been lost, and what follows may be inside a string.
    """

    def __init__(self) -> None:
        self._span = JsonSpan()

    @property
    def closed(self) -> bool:
        """Whether an object began and every bracket is closed."""
        return self._span.closed

    def feed(self, text: str) -> None:
        """Follow the next piece of the text."""
        at = 0
        while at < len(text):
            if self._span.closed:
                opening = _OPENING.search(text, at)
                if opening is None:
                    return
                self._span, at = JsonSpan(), opening.start()
            at = self._span.feed(text, at)
