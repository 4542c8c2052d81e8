"""Find the tool calls that a model printed as text instead of calling.

What has become text is not searched again, so no character is read more than twice.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.call_bodies import Read, is_json_start, read_calls
from ollm_tui.decode.json_span import JsonSpan
from ollm_tui.decode.leaked_forms import (
    FENCE,
    TOOL_TAGS,
    USUAL_STARTS,
    ToolTag,
    answer_beginnings,
    body_beginnings,
)
from ollm_tui.decode.stream_search import Scanner, TagSearch, word_start
from ollm_tui.decode.think_pieces import TextPiece
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.tools import ToolSchema

_VALUE = lazy_re(r"[{\[]")
_BEFORE_VALUES = "{[`"
"""What calls begin with that are JSON or a list."""
_NAME = lazy_re(r"[\w.:-]{1,100}")


class CallBody:
    """The text of a possible call: JSON values in a row, or elements up to the end mark.

    JSON ends at the first character that cannot belong to a call.
    """

    def __init__(self, *, is_json: bool, quotes: str = '"') -> None:
        self._is_json = is_json
        self._quotes = quotes
        self._span = JsonSpan(quotes)
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
                at = word_start(text, at, end)
                if at == end or text[at] not in "{[":
                    return at
                self._span = JsonSpan(self._quotes)
                self._begun = True
            at = self._span.feed(text, at, end)
            self._begun = not self._span.closed
        return at


@dataclass(frozen=True, slots=True)
class LeakedCall:
    """A call in the text; one that fits an offered tool, if there is a tool of its name."""

    name: str
    args: JsonObject


LeakedPiece: TypeAlias = TextPiece | LeakedCall


class LeakedCallDetector:
    """Turn chunks of an answer, without its thinking, into text and calls.

    ``fits`` tells whether a tool accepts the arguments. ``own_tags`` are those of the model's
    family, beside the usual ones. A whole call between such tags counts even if no tool has its
    name, so that the model is told. Without offered tools all is text.
    """

    def __init__(
        self,
        offered: Iterable[ToolSchema],
        fits: Callable[[str, JsonObject], bool],
        own_tags: Iterable[ToolTag] = (),
    ) -> None:
        self._offered = {tool.name: tool for tool in offered}
        self._fits = fits
        own = tuple(own_tags)
        self._whole_answer = answer_beginnings(self._offered, own)
        self._list = next((tag for tag in own if tag.is_whole_answer), None)
        self._recipients = next((tag for tag in own if tag.text_name), None)
        tagged = [tag for tag in (*TOOL_TAGS, *own) if not tag.is_whole_answer]
        self._tags = {tag.start: tag for tag in tagged}
        self._in_tag = body_beginnings(self._offered, tagged)
        self._in_own_tag = body_beginnings(None, [tag for tag in own if _is_exclusive(tag)])
        self._starts = TagSearch((*self._tags, FENCE))
        self._scanner = Scanner(self._in_lead)
        self._blanks: list[str] = []
        self._tag: ToolTag | None = None
        self._lacks_start = False
        """Whether the prompt has the tag of the call already."""
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
        self._scanner.feed(chunk)
        return self._take()

    def finish(self, *, complete: bool = True) -> list[LeakedPiece]:
        """Return what was held back; an unfinished call of a cut answer is text."""
        self._scanner.feed("", final=True)
        step = self._scanner.step
        if step == self._in_lead:
            self._say_blanks()
        elif step == self._in_head:
            self._say(self._opening)
        elif step in (self._in_body, self._in_tail):
            self._end_call(self._calls(self._body.text) if complete else None)
        return self._take()

    def _in_lead(self, text: str, at: int, final: bool) -> int:
        """Before the first word: what begins like a JSON call, fenced or not, may be one."""
        if (start := word_start(text, at)) > at:
            self._blanks.append(text[at:start])
            return start
        begins = self._whole_answer.test(text, at, final=final)
        if begins is None:
            return at
        if not begins:
            self._say_blanks()
            self._scanner.step = self._in_text
            return at
        if self._recipients is not None and text[at] not in _BEFORE_VALUES:
            return self._begin_for_recipient(self._recipients, text, at)
        value = _VALUE.search(text, at)
        start = value.start() if value else len(text)
        self._tag = None if is_json_start(text, start) else self._list
        self._open("".join(self._blanks) + text[at:start], (FENCE,) if start > at else ())
        if self._tag is not None:
            self._body = CallBody(is_json=True, quotes="\"'")
        self._blanks.clear()
        return start

    def _begin_for_recipient(self, tag: ToolTag, text: str, at: int) -> int:
        """Read an answer whose first recipient stands behind a tag of the prompt."""
        self._blanks.clear()
        if text.startswith(tag.text_mark, at):
            self._scanner.step = self._in_text
            return at + len(tag.text_mark)
        self._tag, self._lacks_start = tag, True
        self._open("", tag.ends)
        self._body = CallBody(is_json=False)
        return at

    def _in_tail(self, text: str, at: int, _final: bool) -> int:
        """After the fence of a whole answer: any word makes all of it text."""
        if (start := word_start(text, at)) > at:
            self._closing.append(text[at:start])
        else:
            self._end_call(None)
        return start

    def _after_call(self, text: str, at: int, final: bool) -> int:
        """Drop white space between calls and at the end."""
        if (start := word_start(text, at)) > at:
            self._blanks.append(text[at:start])
            return start
        end = self._starts.match(text, at, final=final)
        if end is None:
            return at
        if text[at:end] in self._tags:
            self._blanks.clear()
        self._say_blanks()
        self._scanner.step = self._in_text
        return at

    def _in_text(self, text: str, at: int, final: bool) -> int:
        """Read the answer up to a tool tag outside code."""
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
        self._scanner.step = self._in_head
        return start if tag.in_call else end

    def _in_head(self, text: str, at: int, final: bool) -> int:
        """After a tool tag: if no call begins here, the tag was text."""
        if self._tag is None:
            return at
        beginnings = self._in_own_tag if _is_exclusive(self._tag) else self._in_tag
        begins = beginnings.test(text, at, final=final)
        if begins is None:
            return at
        mark = self._tag.start + self._tag.text_mark
        if begins and self._tag.text_name and text.startswith(mark, at):
            self._last = ""
            self._scanner.step = self._in_text
            return at + len(mark)
        if begins:
            self._open(self._opening, self._tag.ends)
            self._body = CallBody(is_json=is_json_start(text, word_start(text, at)))
            return at
        end = at + len(self._tag.start) if self._tag.in_call else at
        self._say(self._opening + text[at:end])
        self._scanner.step = self._in_text
        return end

    def _in_body(self, text: str, at: int, final: bool) -> int:
        """Read what may be a call, up to its end mark or what cannot belong to one."""
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
        self._scanner.step = self._in_body

    def _close(self, mark: str) -> None:
        self._closing.append(mark)
        if self._tag is None:
            self._scanner.step = self._in_tail
        else:
            self._end_call(self._calls(self._body.text + (mark if self._tag.in_call else "")))

    def _calls(self, text: str) -> list[Read] | None:
        whole_answer = self._tag is None
        if self._lacks_start and self._tag is not None:
            text, self._lacks_start = self._tag.call_start + text, False
        calls = read_calls(text, self._offered, arguments_needed=whole_answer, tag=self._tag)
        return calls if all(self._counts(name, args) for name, args in calls or ()) else None

    def _counts(self, name: str, args: JsonObject) -> bool:
        if name in self._offered:
            return self._fits(name, args)
        return _is_exclusive(self._tag) and _NAME.fullmatch(name) is not None

    def _end_call(self, calls: list[Read] | None) -> None:
        if calls is None:
            text = self._opening + self._body.text + "".join(self._closing)
            self._in_fence ^= text.count(FENCE) % 2 == 1
            self._say(text)
            self._scanner.step = self._in_text
        else:
            self._pieces += [LeakedCall(name, args) for name, args in calls]
            self._scanner.step = self._after_call

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


def _is_exclusive(tag: ToolTag | None) -> bool:
    """Whether a form belongs to one family, and its tags to nothing but calls."""
    return tag is not None and tag.start not in USUAL_STARTS and bool(tag.ends)
