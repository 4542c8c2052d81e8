"""Find the tool calls that a model printed as text instead of calling.

Text is a call only if the whole answer is nothing else, or if it is in a known tool tag, and
if its name and arguments fit an offered tool. Everything else comes out as it was written.

States and transitions:

* ``LEAD``: before the first word. What begins like a JSON call, fenced or not, leads to ``BODY``;
  anything else to ``TEXT``.
* ``TEXT``: answer. A tool tag outside code leads to ``HEAD``.
* ``HEAD``: after a tool tag. What begins like a call leads to ``BODY``; else the tag was text.
* ``BODY``: what may be a call. Its end mark leads to ``AFTER``, of a fence to ``TAIL``. The first
  character that cannot belong to a call makes all of it text.
* ``TAIL``: after the fence of a whole answer. Any word makes all of it text.
* ``AFTER``: after a call. White space between calls and at the end is dropped.

The end of the answer ends a call without an end marker too, unless the answer was cut.
What has become text is not searched again, so no character is read more than twice.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias, assert_never

from ollm_tui.decode.json_span import JsonSpan
from ollm_tui.decode.leaked_forms import (
    FENCE,
    TOOL_TAGS,
    Read,
    ToolTag,
    body_beginnings,
    json_beginnings,
    read_calls,
)
from ollm_tui.decode.stream_search import TagSearch
from ollm_tui.decode.thinking import TextPiece
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.tools import ToolSchema

_WORD = re.compile(r"\S")
_VALUE = re.compile(r"[{\[]")


class CallBody:
    """The text of a possible call: JSON values in a row, or elements up to the end mark.

    JSON ends at the first character that cannot belong to a call.
    """

    def __init__(self, *, is_json: bool) -> None:
        self._is_json = is_json
        self._span = JsonSpan()
        self._begun = False
        self._parts: list[str] = []

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._parts)

    @property
    def in_string(self) -> bool:
        """Whether an end mark here would be part of an argument."""
        return self._span.in_string

    def take(self, text: str, at: int, end: int) -> int:
        """Take what belongs to the call, and return its end; before ``end`` it is not a call."""
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


@dataclass(frozen=True, slots=True)
class LeakedCall:
    """A call in the text that fits an offered tool."""

    name: str
    args: JsonObject


LeakedPiece: TypeAlias = TextPiece | LeakedCall


class _State(Enum):
    LEAD = auto()
    TEXT = auto()
    HEAD = auto()
    BODY = auto()
    TAIL = auto()
    AFTER = auto()


class LeakedCallDetector:
    """Turn chunks of an answer, without its thinking, into text and calls.

    ``fits`` tells whether a tool accepts the arguments. Without offered tools all is text.
    """

    def __init__(
        self, offered: Iterable[ToolSchema], fits: Callable[[str, JsonObject], bool]
    ) -> None:
        self._offered = {tool.name: tool for tool in offered}
        self._fits = fits
        self._whole_answer = json_beginnings(self._offered)
        self._in_tag = body_beginnings(self._offered)
        self._tags = {tag.start: tag for tag in TOOL_TAGS}
        self._starts = TagSearch((*self._tags, FENCE))
        self._state = _State.LEAD
        self._held = ""
        self._blanks: list[str] = []
        self._tag: ToolTag | None = None
        self._opening = ""
        self._ends = TagSearch(())
        self._body = CallBody(is_json=True)
        self._closing: list[str] = []
        self._in_fence = False
        self._last = ""
        self._pieces: list[LeakedPiece] = []

    def feed(self, chunk: str) -> list[LeakedPiece]:
        """Return the pieces that are certain after this chunk."""
        if not self._offered:
            return [TextPiece(chunk)] if chunk else []
        self._run(chunk, final=False)
        return self._take()

    def finish(self, *, complete: bool = True) -> list[LeakedPiece]:
        """Return what was held back; an unfinished call of a cut answer is text."""
        self._run("", final=True)
        match self._state:
            case _State.LEAD:
                self._say_blanks()
            case _State.HEAD:
                self._say(self._opening)
            case _State.BODY | _State.TAIL:
                self._end_call(self._calls(self._body.text) if complete else None)
            case _State.TEXT | _State.AFTER:
                pass
            case unreachable:
                assert_never(unreachable)
        return self._take()

    def _run(self, chunk: str, *, final: bool) -> None:
        text, at = self._held + chunk, 0
        while at < len(text):
            before = at, self._state
            at = self._step(text, at, final=final)
            if before == (at, self._state):
                break
        self._held = text[at:]

    def _step(self, text: str, at: int, *, final: bool) -> int:
        match self._state:
            case _State.LEAD | _State.AFTER | _State.TAIL:
                return self._step_over_blanks(text, at, final=final)
            case _State.TEXT:
                return self._step_in_text(text, at, final=final)
            case _State.HEAD:
                return self._step_in_head(text, at, final=final)
            case _State.BODY:
                return self._step_in_body(text, at, final=final)
            case unreachable:
                assert_never(unreachable)

    def _step_over_blanks(self, text: str, at: int, *, final: bool) -> int:
        word = _WORD.search(text, at)
        start = word.start() if word else len(text)
        if start > at:
            (self._closing if self._state is _State.TAIL else self._blanks).append(text[at:start])
            return start
        match self._state:
            case _State.TAIL:
                self._end_call(None)
                return at
            case _State.AFTER:
                return self._step_after_call(text, at, final=final)
            case _:
                return self._step_in_lead(text, at, final=final)

    def _step_in_lead(self, text: str, at: int, *, final: bool) -> int:
        begins = self._whole_answer.test(text, at, final=final)
        if begins is None:
            return at
        if not begins:
            self._say_blanks()
            self._state = _State.TEXT
            return at
        value = _VALUE.search(text, at)
        start = value.start() if value else len(text)
        self._tag = None
        self._open("".join(self._blanks) + text[at:start], (FENCE,) if start > at else ())
        self._blanks.clear()
        return start

    def _step_after_call(self, text: str, at: int, *, final: bool) -> int:
        end = self._starts.match(text, at, final=final)
        if end is None:
            return at
        if text[at:end] in self._tags:
            self._blanks.clear()
        self._say_blanks()
        self._state = _State.TEXT
        return at

    def _step_in_text(self, text: str, at: int, *, final: bool) -> int:
        start, end = self._starts.search(text, at, final=final)
        self._say(text[at:start])
        mark = text[start:end]
        tag = self._tags.get(mark)
        if tag is None or self._in_fence or self._last == "`":
            self._say(mark)
            if mark == FENCE:
                self._in_fence = not self._in_fence
                self._last = ""
            return end
        self._tag = tag
        self._opening = "" if tag.in_call else mark
        self._state = _State.HEAD
        return start if tag.in_call else end

    def _step_in_head(self, text: str, at: int, *, final: bool) -> int:
        begins = self._in_tag.test(text, at, final=final)
        if begins is None or self._tag is None:
            return at
        if begins:
            self._open(self._opening, self._tag.ends)
            word = _WORD.search(text, at)
            self._body = CallBody(is_json=word is not None and word[0] in "{[")
            return at
        end = at + len(self._tag.start) if self._tag.in_call else at
        self._say(self._opening + text[at:end])
        self._state = _State.TEXT
        return end

    def _step_in_body(self, text: str, at: int, *, final: bool) -> int:
        start, end = self._ends.search(text, at, final=final)
        place = self._body.take(text, at, start)
        if place < start:
            self._end_call(None)
            return place
        if end > start and self._body.in_string:
            return self._body.take(text, start, end)
        if end > start:
            self._close(text[start:end])
        return end

    def _open(self, opening: str, ends: tuple[str, ...]) -> None:
        self._opening = opening
        self._ends = TagSearch(ends)
        self._body = CallBody(is_json=True)
        self._closing = []
        self._state = _State.BODY

    def _close(self, mark: str) -> None:
        self._closing.append(mark)
        if self._tag is None:
            self._state = _State.TAIL
        else:
            self._end_call(self._calls(self._body.text + (mark if self._tag.in_call else "")))

    def _calls(self, text: str) -> list[Read] | None:
        whole_answer = self._tag is None
        calls = read_calls(text, self._offered, arguments_needed=whole_answer)
        fit = all(name in self._offered and self._fits(name, args) for name, args in calls or ())
        return calls if fit else None

    def _end_call(self, calls: list[Read] | None) -> None:
        if calls is None:
            text = self._opening + self._body.text + "".join(self._closing)
            self._in_fence ^= text.count(FENCE) % 2 == 1
            self._say(text)
            self._state = _State.TEXT
        else:
            self._pieces += [LeakedCall(name, args) for name, args in calls]
            self._state = _State.AFTER

    def _say_blanks(self) -> None:
        self._say("".join(self._blanks))
        self._blanks.clear()

    def _say(self, text: str) -> None:
        if text:
            self._last = text[-1]
            self._pieces.append(TextPiece(text))

    def _take(self) -> list[LeakedPiece]:
        pieces, self._pieces = self._pieces, []
        return pieces
