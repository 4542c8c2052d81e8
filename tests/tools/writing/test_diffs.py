"""Diffs say all that differs: applied to the old text they give the new one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.tools.define import ToolFailure
from ollm_tui.tools.writing.diffs import MAX_COMPARED, diff_of
from ollm_tui.tools.writing.patches import patched

TEXTS = st.lists(
    st.sampled_from(["a", "b", "", "-- c", "++ d", "@@", "\r", " e"]), max_size=30
).map("\n".join)


@given(TEXTS, TEXTS)
def test_a_diff_is_a_patch(old: str, new: str) -> None:
    diff = diff_of("f", old, new)
    assert (diff.text == "") == (old == new)
    if diff.text and "\r" not in old + new:
        assert patched(old, diff.text) == new


def test_texts_that_are_too_long_to_compare_are_shown_whole() -> None:
    count = int(MAX_COMPARED**0.5) + 2
    old, new = ("".join(f"{mark}{n}\n" for n in range(count)) for mark in "ab")
    diff = diff_of("f", f"same\n{old}end\n", f"same\n{new}end\n")
    assert (diff.added, diff.removed) == (count, count)
    assert diff.text.startswith("--- f\n+++ f\n@@ ")


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ("", "has no hunk"),
        ("@@ -1,1 +1,1 @@\n-nothing\n+x", "Hunk 1 of the patch fits nowhere"),
        ("@@ -9,1 +9,1 @@\n-a\n+x", "fits at 2 places"),
        ("@@ -1,1 +1,1 @@\nodd", "begins with none of"),
        ("@@ -99,0 +99,1 @@\n+x", "behind the end"),
        ("--- a\n+++ a\n@@ -1 +1 @@\n-a\n+b\n--- c\n+++ c\n@@ -1 +1 @@\n-a\n+b", "several files"),
    ],
)
def test_a_patch_that_does_not_fit_is_refused(patch: str, message: str) -> None:
    with pytest.raises(ToolFailure, match=message):
        patched("a\nb\na\n", patch)


def test_a_patch_whose_line_numbers_are_wrong_fits_where_only_it_can() -> None:
    assert patched("a\nb\nc\n", "@@ -7,2 +7,2 @@\n b\n-c\n+d") == "a\nb\nd\n"
