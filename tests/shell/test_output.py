"""What is kept of an output of any length."""

from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.shell.output import KeptOutput, plain_text


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(1, 30), st.integers(1, 30))
def test_the_beginning_and_the_end_are_kept_and_all_of_it_is_counted(
    pieces: list[bytes], head: int, tail: int
) -> None:
    kept = KeptOutput(head, tail)
    for piece in pieces:
        kept.feed(piece)
    whole = b"".join(pieces)
    assert kept.size == len(whole)
    if len(whole) <= head + tail:
        assert kept.text() == plain_text(whole)
    else:
        assert " left out …]" in kept.text()
        assert len(kept._head) + len(kept._tail) <= head + 2 * tail + max(map(len, pieces))


def test_a_cut_is_made_between_lines_and_says_how_much_is_missing() -> None:
    kept = KeptOutput(100, 100)
    lines = [f"line {number:04}" for number in range(1000)]
    kept.feed("\n".join(lines).encode())
    text = kept.text()
    assert text.startswith("line 0000\n")
    assert text.endswith("line 0999")
    middle = [line for line in text.splitlines() if line and not line.startswith("line ")]
    assert middle == ["[… 10 kB left out …]"]
    assert all(line in lines for line in text.splitlines() if line.startswith("line "))


def test_colours_and_redrawn_lines_are_left_out_and_broken_text_is_not_lost() -> None:
    assert plain_text(b"\x1b[1;31mred\x1b[0m\r\n10 %\r50 %\r100 %\nend") == "red\n100 %\nend"
    assert plain_text(b"\x1b]0;title\x07a\xffb\x1b") == "a\ufffdb\x1b"
