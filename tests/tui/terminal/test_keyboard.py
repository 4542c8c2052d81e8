"""What the terminal sends becomes keys and pastes; nothing it sends stops the reading."""

import random
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser
from textual.geometry import Size
from textual.message import Message

from ollm_tui.tui.terminal.keyboard import (
    LATE_REST_S,
    LONE_ESCAPE_S,
    PASTE_LIMIT,
    PASTE_PAUSE_S,
    PASTED_PAUSE_S,
    SEQUENCE_S,
    SLOW_LINE_ESCAPE_S,
    Keyboard,
    TerminalReport,
    is_inside,
)

START, END = b"\x1b[200~", b"\x1b[201~"

HOSTILE = [
    b"\xff\xfe\x80",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\x1b[1114112u",
    b"\x1b[97;99:99:99u",
    b"\x1b[55296u",
    b"\x1b[99999999999999999999u",
    b"\x1b[1;1114112u",
    b"\x1b[97;1;1114112u",
    b"\x1b[97;1;99999999999u",
    b"\x1b[0;0;0u",
    b"\x1b[:::;:::;:::u",
    b"\x1b[<0;0;0M",
    b"\x1b[<999999999;999999999;9M",
    b"\x1b[<-1;-1;-1M",
    b"\x1b[M\x00\x00\x00",
    b"\x1b[48;99999;99999;0;0t",
    b"\x1b[48;0;0;0;0t\x1b[<0;5;5M",
    b"\x1b[48;1;1;99999;99999t",
    b"\x1b[?2026;9$y",
    b"\x1b[?2048;9$y",
    b"\x1b[999999999;999999999R",
    b"\x1b[" + b"9" * 5000 + b"u",
    b"\x1b[" + b";" * 200 + b"m",
    b"\x1b]0;title\x07\x1bP+q\x1b\\",
    b"\x1b" * 300,
    b"\x1b[I\x1b[O" * 2000,
    b"\x00\x01\x02\x03\x1c\x1d\x1e\x1f\x7f",
    b"\x9b31m\x9d0;x\x9c",
    START + b"never closed",
    END * 3,
    START + START + END + END,
]


class Terminal:
    """A keyboard with a clock in the hands of the test."""

    def __init__(self, *, is_slow_line: bool = False) -> None:
        self.keyboard = Keyboard(is_slow_line=is_slow_line)
        self.now = 100.0
        self.messages: list[Message] = []

    def send(self, *parts: bytes) -> None:
        for part in parts:
            self.messages += self.keyboard.feed(part, self.now)

    def wait(self, seconds: float) -> None:
        end = self.now + seconds
        while (deadline := self.keyboard.deadline) is not None and deadline <= end:
            self.now = deadline
            self.messages += self.keyboard.tick(self.now)
        self.now = end

    @property
    def keys(self) -> list[str]:
        return [event.key for event in self.messages if isinstance(event, events.Key)]

    @property
    def pastes(self) -> list[str]:
        return [event.text for event in self.messages if isinstance(event, events.Paste)]


@pytest.fixture
def terminal() -> Terminal:
    return Terminal()


def works(terminal: Terminal) -> bool:
    """A key that comes after some silence arrives as that key."""
    terminal.wait(2 * PASTE_PAUSE_S)
    terminal.messages.clear()
    terminal.send(b"z")
    return terminal.keys == ["z"] and terminal.keyboard.deadline is None


def test_a_lone_escape_is_a_key_after_two_milliseconds_without_another_byte(
    terminal: Terminal,
) -> None:
    terminal.send(b"\x1b")
    assert terminal.keys == []
    assert terminal.keyboard.deadline == pytest.approx(100.0 + LONE_ESCAPE_S)
    terminal.wait(LONE_ESCAPE_S)
    assert terminal.keys == ["escape"]
    assert terminal.keyboard.deadline is None


def drip(terminal: Terminal, data: bytes, gap: float) -> None:
    """Send one byte at a time."""
    for byte in data:
        terminal.send(bytes([byte]))
        terminal.wait(gap)


def test_a_line_that_delivers_a_byte_at_a_time_splits_no_key_after_the_first_reply(
    terminal: Terminal,
) -> None:
    drip(terminal, b"\x1b[?2026;2$y", 0.0019)
    terminal.wait(1.0)
    drip(terminal, b"\x1b[A\x1b[B\x1bOC\x1b[1;5D" * 20, 0.004)
    assert terminal.keys == ["up", "down", "right", "ctrl+left"] * 20
    drip(terminal, b"\x1b", 1.0)
    assert terminal.keys[80:] == ["escape"]


def test_a_line_known_to_be_slow_splits_no_key_from_the_start() -> None:
    terminal = Terminal(is_slow_line=True)
    drip(terminal, b"\x1b[A\x1b[B" * 20, SLOW_LINE_ESCAPE_S * 0.9)
    assert terminal.keys == ["up", "down"] * 20


def test_the_rest_of_a_key_that_comes_late_types_nothing_and_teaches_patience(
    terminal: Terminal,
) -> None:
    drip(terminal, b"\x1b[A\x1b[B\x1bOC", LATE_REST_S * 0.9)
    assert terminal.keys == ["escape", "up", "down", "right"]


def test_a_program_that_was_held_up_splits_no_key() -> None:
    keyboard = Keyboard()
    assert keyboard.feed(b"\x1b", 1.0) == []
    late = 1.0 + 10 * SEQUENCE_S
    assert keyboard.tick(late, has_more=True) == []
    assert [key.key for key in keyboard.feed(b"[A", late) if isinstance(key, events.Key)] == ["up"]


def test_a_bracket_typed_after_escape_is_typed(terminal: Terminal) -> None:
    terminal.send(b"\x1b")
    terminal.wait(2 * LATE_REST_S)
    terminal.send(b"[", b"A")
    assert terminal.keys == ["escape", "left_square_bracket", "A"]


def test_a_terminal_that_tells_escape_apart_waits_for_nothing(terminal: Terminal) -> None:
    terminal.send(b"\x1b[27u")
    assert terminal.keys == ["escape"]
    assert terminal.keyboard.deadline is None


def test_where_escape_sends_a_sequence_of_its_own_a_late_rest_is_no_escape(
    terminal: Terminal,
) -> None:
    terminal.send(b"\x1b[?25u")
    assert terminal.messages == []
    drip(terminal, b"\x1b[A\x1b[27u", SEQUENCE_S * 0.9)
    assert terminal.keys == ["up", "escape"]


def test_a_protocol_that_leaves_escape_alone_changes_nothing(terminal: Terminal) -> None:
    terminal.send(b"\x1b[?0u\x1b")
    terminal.wait(LONE_ESCAPE_S)
    assert terminal.keys == ["escape"]


def test_a_pause_of_the_program_makes_no_later_escape_wait(terminal: Terminal) -> None:
    terminal.send(b"\x1b[")
    terminal.now += SEQUENCE_S / 2
    terminal.messages += terminal.keyboard.feed(b"A", terminal.now, has_waited=False)
    terminal.send(b"\x1b")
    terminal.wait(LONE_ESCAPE_S)
    assert terminal.keys == ["up", "escape"]


def test_who_set_a_longer_escape_delay_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESCDELAY", "100")
    terminal = Terminal()
    terminal.send(b"\x1b")
    terminal.wait(0.09)
    assert terminal.keys == []
    terminal.wait(0.02)
    assert terminal.keys == ["escape"]


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"\x1b[A", ["up"]),
        (b"\x1bOP", ["f1"]),
        (b"\x1b[1;5C", ["ctrl+right"]),
        (b"\x1b[27u", ["escape"]),
        (b"\x1b[13;2u", ["shift+enter"]),
        (b"\x1b\r", ["alt+enter"]),
        (b"\x1b[27;2;13~", ["shift+enter"]),
        (b"\x1b[27;3;13~", ["alt+enter"]),
        (b"\x1b[27;5;13~", ["ctrl+enter"]),
        (b"h\xc3\xa9\xf0\x9f\x98\x80", ["h", "é", "grinning_face"]),
        (b"\r\t\x7f", ["enter", "tab", "backspace"]),
    ],
)
def test_sequences_cut_at_any_byte_are_the_same_keys(data: bytes, keys: Sequence[str]) -> None:
    whole = Terminal()
    whole.send(data)
    whole.wait(1)
    assert whole.keys == list(keys)
    for cut in range(len(data) + 1):
        parts = Terminal()
        parts.send(data[:cut], data[cut:])
        parts.wait(1)
        assert parts.keys == whole.keys


def test_two_escapes_are_two_keys(terminal: Terminal) -> None:
    terminal.send(b"\x1b")
    terminal.wait(0.3)
    terminal.send(b"\x1b")
    terminal.wait(0.3)
    assert terminal.keys == ["escape", "escape"]


def test_a_sequence_that_stops_in_the_middle_is_given_up(terminal: Terminal) -> None:
    terminal.send(b"\x1b[1;")
    assert terminal.keyboard.deadline == pytest.approx(100.0 + SEQUENCE_S)
    assert works(terminal)


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_the_next_key_arrives_after_hostile_bytes(terminal: Terminal, data: bytes) -> None:
    terminal.send(data)
    assert works(terminal)


@pytest.mark.parametrize("data", HOSTILE[4:13], ids=range(4, 13))
def test_a_bad_sequence_costs_no_key_around_it(terminal: Terminal, data: bytes) -> None:
    terminal.send(b"a" + data + b"\x1b[B")
    assert terminal.keys[0] == "a"
    assert terminal.keys[-1] == "down"


@pytest.mark.parametrize(
    "data",
    [
        b"\x1b[" + b"9" * 10_000 + b"u",
        b"\x1b[" + b"9;" * 5000 + b"y",
        b"\x1b[<" + b"9" * 40 + b";1;1M",
        b"\x1b[<0;-99999;99999M",
        b"\x1b[<0;99999999999999999999;9M",
        b"\x1b[?62;22c",
        b"\x1b[1;",
        b"\x1b[1;\xc3\xa9",
        b"\x1bOY",
    ],
)
def test_a_broken_or_unknown_sequence_types_nothing_and_costs_no_key_after_it(data: bytes) -> None:
    for cut in {0, 2, 3, len(data) // 2, len(data) - 1}:
        terminal = Terminal()
        terminal.send(data[:cut], data[cut:] + b"\x1b[B", b"k")
        assert [key for key in terminal.keys if key != "é"] == ["down", "k"]


def test_an_endless_sequence_costs_the_same_for_each_byte(terminal: Terminal) -> None:
    terminal.send(b"\x1b[")
    for _ in range(20_000):
        terminal.send(b"9;")
        assert len(terminal.keyboard._held) < 40
    terminal.send(b"y")
    assert terminal.keys == []
    assert works(terminal)


@pytest.mark.parametrize("start", [b"\x1b]", b"\x1bP", b"\x1bX", b"\x1b^", b"\x1b_"])
@pytest.mark.parametrize(
    "rest",
    [
        b"11;rgb:0000/ffff/0000\x07",
        b"52;c;eXkNCg==\x1b\\",
        b">|terminal y\r\n\x1b\\",
        b"Gi=31;OK\x1b\\",
        b"y" * 70_000 + b"\x1b\\",
        b"cut off\x18",
        b"cut off\x1b[A",
        b"\xc3\xa9\xff\x00\x1b\\",
        b"\x1b\\",
    ],
)
def test_an_answer_of_the_terminal_types_nothing_and_costs_no_key_after_it(
    start: bytes, rest: bytes
) -> None:
    data = start + rest
    for cut in {0, 1, 2, 3, len(data) // 2, len(data) - 2, len(data) - 1}:
        terminal = Terminal()
        terminal.send(b"k", data[:cut], data[cut:] + b"\x1b[B", b"k")
        assert [key for key in terminal.keys if key != "up"] == ["k", "down", "k"]


@pytest.mark.parametrize(
    "data", [b"\x1b(B", b"\x1b)0", b"\x1b(%5", b"\x1b-A", b"\x1b%G", b"\x1b#8", b"\x1b F"]
)
def test_a_choice_of_characters_types_nothing(data: bytes) -> None:
    for cut in {0, 1, len(data)}:
        terminal = Terminal()
        terminal.send(b"k", data[:cut], data[cut:] + b"b\x1b[B", b"B")
        assert terminal.keys == ["k", "b", "down", "B"]


def test_a_choice_of_characters_may_come_in_two_reads(terminal: Terminal) -> None:
    terminal.send(b"\x1b(", b"B")
    assert terminal.keys == []
    assert works(terminal)


def test_what_begins_a_choice_of_characters_is_typed_when_it_comes_alone(
    terminal: Terminal,
) -> None:
    terminal.send(b"\x1b(")
    terminal.wait(LONE_ESCAPE_S)
    terminal.send(b"B")
    assert terminal.keys == ["left_parenthesis", "B"]
    terminal.send(b"\x1b(b")
    terminal.wait(SEQUENCE_S)
    assert terminal.keys == ["left_parenthesis", "B", "left_parenthesis", "b"]


@pytest.mark.parametrize("start", [b"\x1b]", b"\x1bP", b"\x1b_"])
def test_an_answer_without_an_end_is_over_after_a_pause(terminal: Terminal, start: bytes) -> None:
    terminal.send(start)
    for _ in range(20_000):
        terminal.send(b"yes\r")
        assert len(terminal.keyboard._held) < 40
    assert terminal.keys == []
    assert terminal.keyboard.deadline == pytest.approx(100.0 + SEQUENCE_S)
    assert works(terminal)


def test_what_begins_such_an_answer_is_a_key_with_alt_when_it_comes_alone(
    terminal: Terminal,
) -> None:
    terminal.send(b"\x1bP")
    assert terminal.keyboard.deadline == pytest.approx(100.0 + LONE_ESCAPE_S)
    terminal.wait(LONE_ESCAPE_S)
    terminal.send(b"k")
    assert len(terminal.keys) == 2
    assert terminal.keys[0].startswith("alt+")


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"\x1b[7$a", ["shift+home", "a"]),
        (b"\x1b[[Aa", ["f1", "a"]),
        (b"\x1b[Ma", []),
        (b"\x1bOya", ["9", "a"]),
        (b"\x1bOPa", ["f1", "a"]),
        (b"\x1bO5ya", ["a"]),
        (b"\x1bONya", ["y", "a"]),
        (b"\x1b[M !!a", ["a"]),
    ],
)
def test_old_forms_of_sequences_are_still_known(
    terminal: Terminal, data: bytes, keys: list[str]
) -> None:
    terminal.send(data)
    assert terminal.keys == keys


@pytest.mark.parametrize("x", [-99, 0, 1, 80, 81, 9999, 10**9])
@pytest.mark.parametrize("y", [-99, 0, 1, 24, 25, 9999, 10**9])
def test_a_mouse_is_believed_only_inside_the_screen(terminal: Terminal, x: int, y: int) -> None:
    terminal.send(b"\x1b[<0;%d;%dMk" % (x, y))
    received = [message for message in terminal.messages if is_inside(message, Size(80, 24))]
    assert terminal.keys == ["k"]
    assert len(received) == 1 + (1 <= x <= 80 and 1 <= y <= 24)


@pytest.mark.slow
@settings(max_examples=300)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=30),
            st.sampled_from([data[:200] for data in HOSTILE]),
            st.from_regex(rb"\x1b\[[<?>=]?[0-9:;]{0,12}[ -/]?[@-~]", fullmatch=True),
        ),
        max_size=8,
    )
)
def test_no_bytes_in_any_parts_stop_the_reading(parts: list[bytes]) -> None:
    terminal = Terminal()
    terminal.send(*parts)
    assert works(terminal)


def test_two_thousand_random_byte_strings_never_stop_the_reading(terminal: Terminal) -> None:
    seed = 20261121
    chance = random.Random(seed)
    likely = b"\x1b\x1b\x1b[[[?<;:0123456789uMmtRIOP~$y\xc3\xff"
    for number in range(2000):
        pool = likely if number % 2 else bytes(range(256))
        terminal.send(bytes(chance.choices(pool, k=chance.randrange(1, 60))))
        assert works(terminal), f"seed {seed}, string {number}"


def sizes(messages: Iterable[Message]) -> list[tuple[int, int]]:
    return [(m.size.width, m.size.height) for m in messages if isinstance(m, events.Resize)]


def test_only_sizes_that_a_terminal_can_have_are_believed(terminal: Terminal) -> None:
    terminal.send(b"\x1b[48;99999;99999;0;0t\x1b[48;0;80;0;0t\x1b[48;300;1000;3000;9000t")
    assert sizes(terminal.messages) == [(1000, 300)]


def test_of_a_storm_of_focus_changes_the_last_one_counts(terminal: Terminal) -> None:
    terminal.send(b"\x1b[I\x1b[O" * 2000 + b"x")
    assert [type(message) for message in terminal.messages] == [events.AppBlur, events.Key]


def test_a_paste_is_one_text_with_plain_line_ends(terminal: Terminal) -> None:
    terminal.send(START + b"one\rtwo\r\nthree\nf\xc3\xbcnf" + END)
    terminal.wait(PASTED_PAUSE_S)
    assert terminal.pastes == ["one\ntwo\nthree\nfünf"]
    assert terminal.keys == []


def test_a_paste_cut_at_any_byte_is_the_same_text() -> None:
    data = START + b"a\x1b[31mb\x00c" + END + b"\r"
    for cut in range(len(data) + 1):
        terminal = Terminal()
        terminal.send(data[:cut], data[cut:])
        terminal.wait(1)
        assert terminal.pastes == ["a␛[31mbc"]
        assert terminal.keys == ["enter"]


def test_an_end_mark_inside_a_paste_presses_no_key(terminal: Terminal) -> None:
    terminal.send(START + b"safe" + END + b"y\r\x11" + START + b"more" + END, b"y\ry" + END)
    terminal.wait(1)
    assert terminal.keys == []
    assert terminal.pastes == ["safey\n␑morey\ny"]


def test_a_long_text_behind_an_end_mark_presses_no_key_however_slowly_it_comes(
    terminal: Terminal,
) -> None:
    terminal.send(START + b"safe" + END)
    for _ in range(100):
        terminal.send(b"y\r" * 500)
        terminal.wait(0.015)
    terminal.send(END)
    terminal.wait(1)
    assert terminal.keys == []
    assert len(terminal.pastes[0]) == 4 + 100 * 1000


@settings(max_examples=500)
@given(
    st.lists(st.sampled_from([b"y", b"\r", b"\x1b", END, START, b"\x03", b"\xff"]), max_size=12),
    st.integers(0, 60),
)
def test_nothing_in_a_paste_presses_a_key(inside: list[bytes], cut: int) -> None:
    data = START + b"".join(inside) + END
    terminal = Terminal()
    terminal.send(data[:cut], data[cut:])
    terminal.wait(2)
    assert terminal.keys == []
    assert len(terminal.pastes) == 1


def test_a_paste_without_an_end_is_over_after_a_second(terminal: Terminal) -> None:
    terminal.send(START + b"lost")
    terminal.wait(0.99)
    assert terminal.pastes == []
    terminal.wait(0.02)
    assert terminal.pastes == ["lost"]
    assert works(terminal)


def test_typing_does_not_hold_a_paste_without_an_end_open(terminal: Terminal) -> None:
    terminal.send(START + b"lost")
    for _ in range(10):
        terminal.wait(0.2)
        terminal.send(b"k")
    assert terminal.pastes == ["lostkkkk"] or terminal.pastes == ["lostkkkkk"]
    assert terminal.keys


def test_keys_that_never_pause_after_a_paste_are_keys_soon(terminal: Terminal) -> None:
    terminal.send(START + b"text" + END)
    for _ in range(30):
        terminal.wait(0.01)
        terminal.send(b"k")
    assert terminal.pastes == ["text"]
    assert len(terminal.keys) == 30


def test_an_endless_paste_is_handed_over_in_parts_and_never_becomes_keys(
    terminal: Terminal,
) -> None:
    for part in [START, *[b"a" * 2**20] * 40, END]:
        terminal.send(part)
        assert terminal.keyboard._paste_length <= PASTE_LIMIT
    terminal.wait(1)
    assert len(terminal.pastes) == 3
    assert sum(map(len, terminal.pastes)) == 40 * 2**20
    assert terminal.keys == []


@pytest.mark.parametrize("data", ["\x1b[1114112u", "\x1b[97;1;1114112u"])
def test_the_stock_parser_still_raises_so_ours_is_still_needed(data: str) -> None:
    # When this fails Textual has mended its parser (textual#6456): drop what guards against it.
    with pytest.raises((ValueError, OverflowError)):
        list(XTermParser().feed(data))


def test_the_stock_parser_still_loses_the_alt_of_alt_enter() -> None:
    parser = XTermParser()
    list(parser.feed("\x1b\r"))
    parser._timeout_time = 0.0
    assert [event.key for event in parser.tick() if isinstance(event, events.Key)] == ["enter"]


def test_the_stock_parser_still_has_what_ours_reaches_into() -> None:
    parser = XTermParser()
    list(parser.feed("\x1b"))
    assert parser._timeout_time is not None
    parser._timeout_time = 0.0
    assert [event.key for event in parser.tick() if isinstance(event, events.Key)] == ["escape"]


def test_the_stock_parser_still_lets_a_paste_press_keys() -> None:
    messages = list(XTermParser().feed("\x1b[200~a\x1b[201~y\x1b[201~"))
    assert any(isinstance(message, events.Key) for message in messages)


def reports(messages: Iterable[Message]) -> list[tuple[frozenset[int], tuple[int, int] | None]]:
    return [(one.attributes, one.cell) for one in messages if isinstance(one, TerminalReport)]


@pytest.mark.parametrize("cut", range(1, 24))
def test_what_a_terminal_says_of_itself_is_no_key(cut: int) -> None:
    keyboard, data = Keyboard(), b"a\x1b[6;20;10t\x1b[?62;4c\x1b[?cb"
    messages = keyboard.feed(data[:cut], 0.0) + keyboard.feed(data[cut:], 0.0)
    assert reports(messages) == [
        (frozenset(), (10, 20)),
        (frozenset({62, 4}), None),
        (frozenset(), None),
    ]
    keys = [one.key for one in messages if isinstance(one, events.Key)]
    assert keys == ["a", "b"]
