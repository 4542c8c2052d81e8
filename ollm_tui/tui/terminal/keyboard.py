"""Turn the bytes a terminal sends into Textual's messages, whatever the bytes are.

Wraps Textual's parser, which raises on some sequences and then is dead, waits long for the rest of
a lone Esc, and swallows every key after a paste that is never closed. Does no input or output and
has no clock of its own: `feed` and `tick` take the time, `deadline` is when to call `tick`.

    keys  --start mark-->  paste  --end mark-->  pasted  --pause-->  keys
                             |-- pause without an end marker ----------^

`pasted` exists because a text may contain the end mark: the terminal sends the last one, so all
that arrives in one go up to the last mark is text. Nothing in a paste can therefore press a key.
"""

import codecs
import logging
import os
import re
from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import Final

from textual import constants, events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.geometry import Size
from textual.message import Message

from ollm_tui.decode.clean import clean

logger = logging.getLogger(__name__)

_ESCAPE: Final = "\x1b"
KEY_PROTOCOL: Final = f"{_ESCAPE}[?u"
"""Asks for the flags of the kitty keyboard protocol; a terminal without it says nothing."""
LONE_ESCAPE_S: Final = 0.002
"""How long a lone Esc may be the start of a sequence: a terminal writes all of one at once."""
SLOW_LINE_ESCAPE_S: Final = 0.02
"""The same over a line that may deliver a sequence in pieces, such as SSH or a serial port."""
GAP_FACTOR: Final = 4
"""How many times the longest gap seen inside a sequence a lone Esc waits for the next byte."""
LATE_REST_S: Final = 0.05
"""The rest of a sequence that comes this soon after its Esc was taken for a key still ends it."""
SEQUENCE_S: Final = 0.1
"""How long a sequence that has begun may stay unfinished."""
PASTE_PAUSE_S: Final = 1.0
"""After this silence a paste without an end marker is over."""
PASTED_PAUSE_S: Final = 0.02
"""After this silence an end mark was the last one."""
PASTED_LIMIT_S: Final = 0.1
"""At the latest then, so that keys that never pause are not taken for text."""
PASTE_LIMIT: Final = 16 * 2**20
"""A paste of more characters than this is handed over in parts."""
TYPED_BYTES: Final = 32
"""A read of at most this size after a pause is a key press, not more of a paste."""
MAX_WIDTH, TALLEST = 2000, 1000

_LATE_REST: Final = ("[", "O")
_ALT_ENTER: Final = "\x1b\r"
_SEQUENCES: Final = re.compile(f"(?={_ESCAPE})")
_CONTROL_SEQUENCE: Final = re.compile(rf"{_ESCAPE}\[[ -?]*")
_INSIDE: Final = rf"[^\x07\x18\x1a{_ESCAPE}]"
_STRING: Final = re.compile(
    rf"{_ESCAPE}[]PX^_](?:{_INSIDE}++(?:[\x07\x18\x1a]|{_ESCAPE}\\|(?={_ESCAPE})|\Z)"
    rf"|\x07|{_ESCAPE}\\)"
)
"""An OSC, DCS, SOS, PM or APC string, such as an answer about colours; alone it is an Alt key."""
_BEGUN_STRING: Final = re.compile(rf"({_ESCAPE}[]PX^_])({_INSIDE})?{_INSIDE}*+({_ESCAPE}?)\Z")
_DESIGNATION: Final = re.compile(rf"{_ESCAPE}[ -/]{{1,2}}[0-Z]")
"""A choice of characters, such as `ESC ( B`; a small letter after it is typed after an Alt key."""
_BEGUN_DESIGNATION: Final = re.compile(rf"{_ESCAPE}[ -/]{{1,2}}")
_NO_KEYS: Final = re.compile(f"{_STRING.pattern}|{_DESIGNATION.pattern}")
_BARELY_BEGUN: Final = re.compile(
    rf"{_ESCAPE}|{_ESCAPE}[]PX^_O]{_ESCAPE}?|{_BEGUN_DESIGNATION.pattern}"
)
_SS3: Final = f"{_ESCAPE}O"
_BEGUN_CONSOLE_KEY: Final = re.compile(rf"{_SS3}[0-9;]*")
_CONSOLE_KEY: Final = re.compile(rf"{_SS3}[0-9;]*[A-Za-z]")
"""A key of an old terminal; of one that is not known, the parser would type the letter."""
_ATTRIBUTES: Final = re.compile(rf"{_ESCAPE}\[\?([0-9;]*)c")
_PROTOCOL: Final = re.compile(rf"{_ESCAPE}\[\?([0-9]{{1,4}})u")
"""The answer to `KEY_PROTOCOL`."""
_UNMISTAKABLE_ESCAPE: Final = 1 | 8
"""The flags with which Esc sends a whole sequence."""
_CELL: Final = re.compile(rf"{_ESCAPE}\[6;([0-9]{{1,4}});([0-9]{{1,4}})t")
_MAX_SEQUENCE_LENGTH: Final = 32
"""Textual's parser would turn a longer one into letters; no known sequence is as long."""
_MORE_AFTER: Final = MappingProxyType({f"{_ESCAPE}[M": 3, f"{_ESCAPE}[[": 1})
"""Old forms with characters after the end of a sequence: a mouse, F keys of a console."""
_PARSER_ERRORS: Final = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError),
    *(RuntimeError, TypeError, ValueError),
)
"""What Textual's parser raises at numbers out of range and states it does not expect."""


class TerminalReport(Message, bubble=False):
    """What a terminal says about itself, if it is asked: its attributes, or the size of a cell."""

    def __init__(self, attributes: frozenset[int], cell: tuple[int, int] | None = None) -> None:
        super().__init__()
        self.attributes = attributes
        self.cell = cell
        """Width and height in pixels."""


class _EscapeWait:
    """How long a lone Esc is held back, which grows with the gaps that the line shows."""

    def __init__(self, is_slow_line: bool) -> None:
        # ESCDELAY sets a longer wait for all programs
        self._least = constants.ESCAPE_DELAY if "ESCDELAY" in os.environ else 0.0
        wait = SLOW_LINE_ESCAPE_S if is_slow_line else LONE_ESCAPE_S
        self.lone_s = max(wait, self._least)
        self.sequence_s = max(SEQUENCE_S, self._least)
        self._told_at: float | None = None

    def note_protocol(self) -> None:
        """Note that the Esc key sends a sequence of its own: a lone Esc begins another one."""
        self.lone_s = self.sequence_s

    def note_gap(self, seconds: float) -> None:
        """Note how long a sequence stood still before it went on."""
        self.lone_s = min(max(self.lone_s, GAP_FACTOR * seconds), self.sequence_s)

    def note_emitted(self, now: float) -> None:
        """Note that a lone Esc was taken for a key."""
        self._told_at = now

    def is_late_rest(self, text: str, now: float) -> bool:
        """Whether a text goes on with the Esc that was taken for a key too soon."""
        told_at, self._told_at = self._told_at, None
        is_rest = told_at is not None and now - told_at <= LATE_REST_S
        if not is_rest or not text.startswith(_LATE_REST):
            return False
        self.lone_s = self.sequence_s
        return True


class Keyboard:
    """A parser of terminal input that cannot die, hang or be held open by a paste.

    Args:
        debug: let Textual's parser log what it reads.
        is_slow_line: whether sequences may arrive in pieces from the start.
    """

    def __init__(self, debug: bool = False, *, is_slow_line: bool = False) -> None:
        self._debug = debug
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._parser = XTermParser(debug)
        self._wait = _EscapeWait(is_slow_line)
        self._held = ""
        self._paste: list[str] | None = None
        self._paste_length = 0
        self._pasted_at: float | None = None
        self._last_read = 0.0
        self.deadline: float | None = None

    def feed(self, data: bytes, now: float, *, has_waited: bool = True) -> list[Message]:
        """Return the messages that the bytes complete.

        `has_waited` is whether nothing was there to be read before; else the pause since the last
        bytes was the program's, and tells nothing about the line.
        """
        text = self._decoder.decode(data)
        if self._paste is None:
            messages = self._keys(self._begun(text, now, has_waited) + text, now)
        else:
            messages = self._collect(text, len(data) <= TYPED_BYTES, now)
        self._last_read = now
        if self.deadline is None and self._decoder.getstate()[0]:
            self.deadline = now + self._wait.sequence_s
        return list(_without_duplicates(messages))

    def _begun(self, text: str, now: float, has_waited: bool) -> str:
        """Return what a text goes on with, and learn from it how the line delivers sequences."""
        if self._held and not text.startswith(_ESCAPE):
            self._wait.note_gap(now - self._last_read if has_waited else 0.0)
        elif self._wait.is_late_rest(text, now):
            return _ESCAPE
        return self._held

    def tick(self, now: float, *, has_more: bool = False) -> list[Message]:
        """Return the messages that a pause completes: an Esc, a sequence or a paste.

        `has_more` is whether bytes wait to be read. Then a sequence goes on: it was the program
        that paused, which a busy machine has held up.
        """
        if self.deadline is None or now < self.deadline:
            return []
        if has_more and self._paste is None:
            return []
        self.deadline = None
        cut_character = self._decoder.decode(b"", final=True)
        if self._paste is not None:
            self._paste.append(cut_character)
            return list(_without_duplicates(self._end_paste(now)))
        held, self._held = self._held, ""
        if held == _ESCAPE:
            self._wait.note_emitted(now)
        return [*self._parse(held + cut_character), *self._give_up()]

    def _keys(self, text: str, now: float) -> list[Message]:
        before, mark, pasted = text.partition(BRACKETED_PASTE_START)
        if mark:
            self._held = ""
            messages = [*self._parse(before), *self._give_up()]
            self._paste, self._paste_length, self._pasted_at = [], 0, None
            return messages + self._collect(pasted, False, now)
        text, self._held = _without_unfinished(text)
        messages = list(self._parse(text))
        if _BARELY_BEGUN.fullmatch(self._held):
            self.deadline = now + self._wait.lone_s
        elif self._held or self._is_waiting:
            self.deadline = now + self._wait.sequence_s
        else:
            self.deadline = None
        return messages

    def _collect(self, text: str, is_typed: bool, now: float) -> list[Message]:
        assert self._paste is not None
        # an end mark may be split, so it is searched across the last two parts
        recent = (self._paste.pop() if self._paste else "") + text
        self._paste.append(recent)
        self._paste_length += len(text)
        if self._pasted_at is None and BRACKETED_PASTE_END in recent:
            self._pasted_at = now
        elif len(recent) > len(BRACKETED_PASTE_END):
            cut = len(recent) - len(BRACKETED_PASTE_END)
            self._paste[-1:] = [recent[:cut], recent[cut:]]
        is_more = not is_typed or now - self._last_read < SEQUENCE_S
        if self._pasted_at is not None:
            self._pasted_at = self._pasted_at if is_typed else now
            self.deadline = min(now + PASTED_PAUSE_S, self._pasted_at + PASTED_LIMIT_S)
        elif is_more or self.deadline is None:
            self.deadline = now + PASTE_PAUSE_S
        return self._hand_over_part()

    def _hand_over_part(self) -> list[Message]:
        if self._paste is None or self._paste_length <= PASTE_LIMIT or self._pasted_at is not None:
            return []
        part, self._paste = "".join(self._paste[:-1]), self._paste[-1:]
        self._paste_length = 0
        return [_paste_event(part)]

    def _end_paste(self, now: float) -> list[Message]:
        whole = "".join(self._paste or ())
        text, mark, rest = whole.rpartition(BRACKETED_PASTE_END)
        if not mark:
            text, rest = whole, ""
        self._paste = self._pasted_at = None
        return [_paste_event(text), *self._keys(rest, now)]

    def _parse(self, text: str) -> Iterator[Message]:
        """Feed the parser one sequence at a time, so that a bad one affects no other."""
        parts = list(filter(None, _SEQUENCES.split(_NO_KEYS.sub("", text))))
        for number, part in enumerate(parts, 1):
            if part.startswith(_ALT_ENTER):
                # Textual's parser loses the Alt, and a newline would send the message
                yield events.Key("alt+enter", None)
                yield from self._feed(part.removeprefix(_ALT_ENTER))
                continue
            length = _sequence_length(part)
            if flags := _PROTOCOL.fullmatch(part[:length]):
                if int(flags[1]) & _UNMISTAKABLE_ESCAPE:
                    self._wait.note_protocol()
                yield from self._feed(part[length:])
                continue
            if report := _report(part[:length]):
                yield report
                yield from self._feed(part[length:])
                continue
            if length <= _MAX_SEQUENCE_LENGTH and not part.startswith(_SS3):
                yield from self._feed(part[:length])
            may_go_on = number == len(parts) and not _is_complete(part[:length], part[length:])
            if length and self._is_waiting and not may_go_on:
                # the parser would take the next keys for more of it, and then emit all as letters
                self._reset_parser("unknown sequence")
            yield from self._feed(part[length:])

    @property
    def _is_waiting(self) -> bool:
        return self._parser._timeout_time is not None

    def _feed(self, text: str) -> Iterator[Message]:
        try:
            yield from map(_with_enter_named, self._parser.feed(text)) if text else ()
        except _PARSER_ERRORS as error:
            self._reset_parser(type(error).__name__)

    def _give_up(self) -> list[Message]:
        """End the sequence that the parser has begun."""
        if not self._is_waiting:
            return []
        self._parser._timeout_time = 0.0
        try:
            return list(self._parser.tick())
        except _PARSER_ERRORS as error:
            self._reset_parser(type(error).__name__)
            return []

    def _reset_parser(self, reason: str) -> None:
        logger.warning("terminal input not understood: %s", reason)
        old, self._parser = self._parser, XTermParser(self._debug)
        self._parser.terminal_size = old.terminal_size
        self._parser.terminal_pixel_size = old.terminal_pixel_size
        self._parser.mouse_pixels = old.mouse_pixels


def _without_unfinished(text: str) -> tuple[str, str]:
    """Split off an unfinished sequence or string; of a long one only its beginning."""
    start = max(text.rfind(_ESCAPE), 0)
    # the last Esc may begin the end of a string
    string = _BEGUN_STRING.search(text, max(text.rfind(_ESCAPE, 0, start), 0))
    if string is not None:
        return text[: string.start()], "".join(string.groups(""))
    tail = text[start:]
    patterns = (_CONTROL_SEQUENCE, _BEGUN_CONSOLE_KEY, _BEGUN_DESIGNATION)
    begun = any(pattern.fullmatch(tail) for pattern in patterns)
    if tail != _ESCAPE and (not begun or tail in ANSI_SEQUENCES_KEYS):
        return text, ""
    return text[:start], tail[: _MAX_SEQUENCE_LENGTH + 1]


def _report(sequence: str) -> TerminalReport | None:
    if attributes := _ATTRIBUTES.fullmatch(sequence):
        return TerminalReport(frozenset(map(int, filter(None, attributes[1].split(";")))))
    if cell := _CELL.fullmatch(sequence):
        return TerminalReport(frozenset(), (int(cell[2]), int(cell[1])))
    return None


def _sequence_length(part: str) -> int:
    """Return the length of the control sequence at the start of a text, or 0."""
    if key := _CONSOLE_KEY.match(part):
        return 0 if key[0] in ANSI_SEQUENCES_KEYS else key.end()
    begun = _CONTROL_SEQUENCE.match(part)
    if begun is None:
        return 0
    end = begun.end()
    # rxvt ends some keys at a byte where other sequences go on
    if begun[0] in ANSI_SEQUENCES_KEYS or not _ends_sequence(part[end : end + 1]):
        return end
    return end + 1 + _MORE_AFTER.get(part[: end + 1], 0)


def _is_complete(sequence: str, rest: str) -> bool:
    if rest or len(sequence) < 3:
        return bool(rest)
    return _ends_sequence(sequence[-1]) and sequence[:3] not in _MORE_AFTER


def _ends_sequence(character: str) -> bool:
    return "@" <= character <= "~"


def is_inside(message: Message, size: Size) -> bool:
    """Return False for a mouse outside the screen, which would take the focus away."""
    if not isinstance(message, events.MouseEvent):
        return True
    return 0 <= message.screen_x < size.width and 0 <= message.screen_y < size.height


def _with_enter_named(message: Message) -> Message:
    """Name Enter in xterm's modifyOtherKeys form; the stock parser leaves its code, and no Alt."""
    if not isinstance(message, events.Key) or not message.key.endswith("\r"):
        return message
    modifiers = message.key.removesuffix("\r") or "alt+"
    return events.Key(f"{modifiers}enter", None)


def _paste_event(text: str) -> events.Paste:
    for stray in (BRACKETED_PASTE_START, BRACKETED_PASTE_END):
        text = text.replace(stray, "")
    # terminals send a carriage return for a line end of the text
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    return events.Paste(clean(text))


def _without_duplicates(messages: Iterable[Message]) -> Iterator[Message]:
    """Drop impossible sizes, and all but the last focus change of one read."""
    wanted = [message for message in messages if not _is_implausible(message)]
    focus = [
        index
        for index, message in enumerate(wanted)
        if isinstance(message, events.AppFocus | events.AppBlur)
    ]
    superseded = frozenset(focus[:-1])
    return (message for index, message in enumerate(wanted) if index not in superseded)


def _is_implausible(message: Message) -> bool:
    if not isinstance(message, events.Resize):
        return False
    width, height = message.size
    return not (0 < width <= MAX_WIDTH and 0 < height <= TALLEST)
