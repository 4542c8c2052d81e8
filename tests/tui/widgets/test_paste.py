import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.tui.widgets.paste import FOLD_OVER_CHARACTERS, PasteStore


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("short", "short"),
        ("line\n" * 20, "line\n" * 20),
        ("line\n" * 21, "[Pasted text #1 · 21 lines]"),
        ("line\n" * 1234, "[Pasted text #1 · 1,234 lines]"),
        ("x" * FOLD_OVER_CHARACTERS, "x" * FOLD_OVER_CHARACTERS),
        ("x" * 12345, "[Pasted text #1 · 12,345 characters]"),
        ("\U0010fe01", "[Pasted text #1 · 1 character]"),
    ],
)
def test_a_text_is_folded_when_it_is_long_or_cannot_be_held(text: str, folded: str) -> None:
    store = PasteStore()
    assert store.fold(text) == folded
    assert store.unfold(folded) == text


def test_pastes_are_numbered_and_unfold_to_their_own_texts() -> None:
    store = PasteStore()
    first, second = store.fold("a\n" * 30), store.fold("b\n" * 30)
    assert store.unfold(f"{second} and {first}") == "b\n" * 30 + " and " + "a\n" * 30


def test_a_token_inside_a_paste_stays_text() -> None:
    store = PasteStore()
    first = store.fold("a\n" * 30)
    second = store.fold(f"{first}\n" * 30)
    assert store.unfold(second) == f"{first}\n" * 30


def test_a_token_written_by_hand_is_text() -> None:
    store = PasteStore()
    store.fold("a\n" * 30)
    for written in ("[Pasted text #2 · 30 lines]", "[Pasted text #1 · 31 lines]"):
        assert store.unfold(written) == written
        assert store.spans(written) == []


@given(st.text(), st.text(), st.text(min_size=1))
def test_unfolding_gives_the_pasted_text_in_its_place(before: str, after: str, text: str) -> None:
    store = PasteStore()
    token = store.fold(text, always=True)
    if "[Pasted" not in before + after:
        assert store.unfold(before + token + after) == before + text + after
