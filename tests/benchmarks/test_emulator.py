"""The small emulator shows what a complete one shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.terminal.emulator import Emulator
from tests.support.scrolling_screen import screen_and_stream
from tests.support.styled_terminal import StyledTerminal

pytestmark = pytest.mark.slow

COLUMNS, ROWS = 12, 5
PLACES = st.builds("\x1b[{};{}H".format, st.integers(1, ROWS), st.integers(1, COLUMNS))
EDITS = st.one_of(
    st.text("abc de", min_size=1, max_size=40),
    st.sampled_from(["\b", "\r\n", "\n", "\x1bM", "\x1bD", "\x1b[1;31m", "é"]),
    st.builds("\x1b[{}{}".format, st.integers(0, 7), st.sampled_from("ABCDGXP@LMST")),
    st.builds("\x1b[{}{}".format, st.integers(0, 2), st.sampled_from("JK")),
    st.builds("\x1b7{}\x1b8x".format, PLACES),
    st.builds(
        "\x1b[2;4r\x1b[{};{}H{}\x1b[r".format,
        st.integers(2, 4),
        st.integers(1, COLUMNS),
        st.sampled_from(["\n", "\x1bM", "\x1bD", "\x1b[S", "\x1b[2T", "\x1b[3L", "\x1b[M", "x"]),
    ),
)
# Complete emulators differ in what a full line's last column means, so each edit begins elsewhere.
SEQUENCES = st.builds("{}{}".format, PLACES, EDITS)


@given(st.lists(SEQUENCES, max_size=25), st.integers(1, 6))
def test_it_shows_what_a_complete_emulator_shows(sequences: list[str], cut: int) -> None:
    text = "".join(sequences)
    screen, stream = screen_and_stream(COLUMNS, ROWS)
    stream.feed(text)
    emulator, data = Emulator(COLUMNS, ROWS), text.encode()
    styled = StyledTerminal(COLUMNS, ROWS)
    for at in range(0, len(data), cut):
        emulator.feed(data[at : at + cut])
        styled.feed(data[at : at + cut])
    assert emulator.lines == screen.display
    assert styled.lines == [line.rstrip() for line in screen.display]
    assert styled.unknown == []


def test_a_wide_character_takes_two_columns_and_wraps_whole() -> None:
    emulator = Emulator(5, 2)
    emulator.feed("漢字字e\u0301".encode())
    assert emulator.lines == ["漢字 ", "字e  "]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (b"\x1b[6n", b"\x1b[1;1R"),
        (b"\x1b[?2026$p", b"\x1b[?2026;2$y"),
        (b"\x1b[c", b"\x1b[?62;22c"),
        (b"\x1b]11;?\x1b\\", b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
        (b"\x1b[18t", b"\x1b[8;5;12t"),
    ],
)
def test_it_answers_what_programs_ask(question: bytes, answer: bytes) -> None:
    replies: list[bytes] = []
    Emulator(COLUMNS, ROWS, replies.append).feed(question)
    assert replies == [answer]


def test_a_character_is_repeated() -> None:
    emulator = Emulator(5, 1)
    emulator.feed(b"ab\x1b[2b")
    assert emulator.lines == ["abbb "]


def test_the_normal_screen_comes_back_and_frames_are_counted() -> None:
    emulator = Emulator(COLUMNS, ROWS)
    emulator.feed(b"shell\x1b[?1049h\x1b[?2026happ\x1b[?2026l\x1b[?2026h\x1b[?2026l")
    assert "app" in emulator.text
    assert emulator.frames == 2
    emulator.feed(b"\x1b[?1049l")
    assert "shell" in emulator.text
