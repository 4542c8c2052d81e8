"""Follow a text that has begun like a call, and notice where it can be one no longer."""

import re

from ollm_tui.decode.json_span import JsonSpan

_WORD = re.compile(r"\S")


class CallBody:
    """JSON values in a row, or elements, of which only the end mark tells that they are over."""

    def __init__(self, *, is_json: bool) -> None:
        self._is_json = is_json
        self._span = JsonSpan()
        self._begun = False
        self._parts: list[str] = []

    @property
    def text(self) -> str:
        """All that was taken."""
        return "".join(self._parts)

    @property
    def in_string(self) -> bool:
        """Whether an end mark here would be part of an argument."""
        return self._span.in_string

    def take(self, text: str, at: int, end: int) -> int:
        """Take what belongs to the call; less than up to ``end`` means that it is none."""
        place = self._follow(text, at, end) if self._is_json else end
        self._parts.append(text[at:place])
        return place

    def _follow(self, text: str, at: int, end: int) -> int:
        while at < end:
            if not self._begun:
                word = _WORD.search(text, at, end)
                if word is None:
                    return end
                at = word.start()
                if word[0] not in "{[":
                    return at
                self._span = JsonSpan()
                self._begun = True
            at = self._span.feed(text, at, end)
            self._begun = not self._span.closed
        return at
