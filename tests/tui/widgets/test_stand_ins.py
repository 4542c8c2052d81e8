from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from ollm_tui.tui.widgets.stand_ins import from_editor, has_reserved_characters, to_editor, to_signs


def test_every_control_character_is_held_as_one_cell_and_given_back() -> None:
    for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), 0xE0041):
        if chr(code) in "\r\n\t":
            continue
        held = to_editor(chr(code))
        assert from_editor(held) == chr(code)
        assert held.splitlines() == [held]
        assert cell_len(to_signs(held)) == cell_len(held) == 1
        assert to_signs(held).isprintable()


def test_line_ends_become_line_feeds() -> None:
    assert to_editor("a\r\nb\rc\n\td") == "a\nb\nc\n\td"


def test_half_characters_are_replaced() -> None:
    assert to_editor("a\ud800b") == "a\ufffdb"


@settings(max_examples=300)
@given(st.text(st.characters(codec="utf-8"), max_size=80))
def test_any_text_comes_back_as_it_was(text: str) -> None:
    text = text.replace("\r", "")
    held = to_editor(text)
    shown = to_signs(held)
    assert len(shown) == len(text)
    assert all(line.splitlines() in ([line], []) for line in held.split("\n"))
    if not has_reserved_characters(text):
        assert from_editor(held) == text
