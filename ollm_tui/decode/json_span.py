"""Find where a JSON value that arrives in pieces ends.

States and transitions: outside strings, an opening bracket goes one level down and a closing one
up; a quote leads into a string, and the next unescaped quote of the same kind out of it. The value
ends where the level is back at zero. Each character is read once; what is between the brackets
is not checked for being JSON.
"""

import re

_MARK = re.compile(r"[\"'{}\[\]\\]")


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
        elif mark in "}]":
            self._level -= 1
            self.closed = self._level <= 0
        return self.closed


def first_value(text: str, quotes: str = '"') -> str | None:
    """Return the value at the start of a text, or None if it does not end."""
    span = JsonSpan(quotes)
    end = span.feed(text)
    return text[:end] if span.closed else None


_EXTENT_MARK = re.compile(r'\\.|["{}\[\]]', re.DOTALL)


class JsonExtent:
    """Whether an object has been closed, judged anew with each piece: `{}{` is open again."""

    def __init__(self) -> None:
        self._level = 0
        self._began = False
        self._in_string = False
        self._escape = ""

    @property
    def closed(self) -> bool:
        """Whether an object began and every bracket is closed."""
        return self._began and self._level <= 0 and not self._in_string

    def feed(self, text: str) -> None:
        """Follow the next piece of the text."""
        text = self._escape + text
        self._escape = ""
        end = 0
        for mark in _EXTENT_MARK.finditer(text):
            end = mark.end()
            self._follow(mark[0])
        if text.endswith("\\") and end < len(text):
            self._escape = "\\"

    def _follow(self, mark: str) -> None:
        if mark == '"':
            self._in_string = not self._in_string
        elif self._in_string or mark.startswith("\\"):
            return
        elif mark in "{[":
            self._began = True
            self._level += 1
        else:
            self._level -= 1
