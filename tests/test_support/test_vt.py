"""The tokenizer the terminal tests rely on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.vt import grammar, text_of, tokens, unfinished

SEQUENCES = {
    b"\x1b[2J": {"CSI 2J"},
    b"\x1b[12;40H": {"CSI H"},
    b"\x1b[?1049h": {"CSI ?1049h"},
    b"\x1b[>25u": {"CSI >25u"},
    b"\x1b[?2026$p": {"CSI ?2026$p"},
    b"\x1b[1;38;2;1;2;3;48;5;7m": {"SGR 1", "SGR 38:n", "SGR 48:n"},
    b"\x1b[m": {"SGR 0"},
    b"\x1b]52;c;aGk=\x07": {"OSC 52"},
    b"\x1b]8;;http://x\x1b\\": {"OSC 8"},
    b"\x1bP+q544e\x1b\\": {"DCS"},
    b"\x1b_Gi=1;AA\x1b\\": {"APC"},
    b"\x1b(0": {"ESC (0"},
    b"\x1bc": {"ESC c"},
    b"\x07": {"C0 07"},
    b"\xc2\x9b": {"C1 9b"},
    b"\x1b]never closed": {"broken '\\x1b'"},
    b"\x9b31m": {"broken '\\udc9b'"},
    "wörds 😀".encode(): set(),
}


@pytest.mark.parametrize(("output", "shapes"), SEQUENCES.items())
def test_a_sequence_has_its_shape(output: bytes, shapes: set[str]) -> None:
    assert grammar(b"before" + output + b"after") == shapes


@given(st.lists(st.one_of(st.sampled_from(sorted(SEQUENCES)), st.binary(max_size=9))))
def test_no_byte_is_lost(parts: list[bytes]) -> None:
    output = b"".join(parts)
    found = "".join(token.raw for token in tokens(output))
    assert found.encode("utf-8", "surrogateescape") == output


@pytest.mark.parametrize("sequence", [s for s in SEQUENCES if b"never" not in s and s[0] != 0x9B])
def test_a_cut_sequence_is_known_as_unfinished(sequence: bytes) -> None:
    for cut in range(1, len(sequence)):
        output = b"text" + sequence[:cut]
        start = unfinished(output)
        rest = output[start:] + sequence[cut:]
        assert grammar(output[:start]) | grammar(rest) == grammar(sequence)
    assert unfinished(b"text" + sequence) == 4 + len(sequence)


def test_text_is_what_remains() -> None:
    assert text_of(b"\x1b[1mone\x1b[0m\r\n\x1b]0;no\x07two") == "one\ntwo"
