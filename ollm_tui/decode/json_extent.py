"""Tell whether a JSON object that arrives in pieces has been closed.

States and transitions: outside strings, ``{`` and ``[`` go one level down and ``}`` and ``]`` one
up; a quote leads into a string and the next unescaped quote out of it. The object is closed when
the level is back at zero outside a string. Each character is looked at once.
"""

import re

_MARK = re.compile(r'\\.|["{}\[\]]', re.DOTALL)


class JsonExtent:
    """Follows one object; the text is not checked for being JSON otherwise."""

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
        for mark in _MARK.finditer(text):
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
