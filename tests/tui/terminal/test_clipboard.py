"""What goes to a clipboard, and what to a file of its own."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.clean import clean
from ollm_tui.tui.terminal.copying import (
    cleaned,
    fits_a_terminal,
    joined_lines,
    pieces,
    write_copy,
)


async def gathered(parts: Iterable[str | None]) -> str:
    return "".join([part async for part in cleaned(parts)])


@pytest.mark.parametrize(
    ("text", "fits"),
    [("x" * 75_000, True), ("x" * 75_001, False), ("é" * 37_500, True), ("é" * 37_501, False)],
)
def test_the_bound_counts_what_is_really_sent(text: str, fits: bool) -> None:
    assert fits_a_terminal(text) is fits


def test_what_cannot_be_encoded_is_counted_all_the_same() -> None:
    assert fits_a_terminal("\ud800")


@given(st.text(max_size=40), st.integers(1, 5))
async def test_cleaning_in_parts_is_cleaning_the_whole(text: str, size: int) -> None:
    parts = [text[start : start + size] for start in range(0, len(text), size)]
    assert await gathered(parts) == clean(text)


async def test_pieces_and_lines_are_the_whole_text() -> None:
    long = "line \x1b\n" * 40_000
    assert await gathered(pieces(long)) == clean(long)
    assert await gathered(joined_lines(["a", None, "", "b"])) == "a\n\nb"


def test_a_file_is_private_and_none_is_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "copies"
    paths = [write_copy(folder, f"text {number}\r\n\ud800") for number in range(3)]
    assert len(set(paths)) == 3
    for number, path in enumerate(paths):
        assert path.read_bytes() == f"text {number}\r\n?".encode()
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.suffix == ".txt"
    assert folder.stat().st_mode & 0o777 == 0o700
