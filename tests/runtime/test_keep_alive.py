"""Lengths of time as people type them."""

import pytest

from ollm_tui.protocol.errors import AIError
from ollm_tui.runtime.manager import read_keep_alive


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("10m", "10m"),
        (" 1H30m ", "1h30m"),
        ("1.5h", "1.5h"),
        ("90", 90),
        ("0.5", 0.5),
        ("-1", -1),
        ("forever", -1),
    ],
)
def test_a_length_of_time_is_sent_as_engines_read_it(typed: str, sent: str | float) -> None:
    assert read_keep_alive(typed) == sent


@pytest.mark.parametrize("typed", ["", "soon", "10 minutes", "1d", "-5m", "1e9", "٣m", "10m\n5"])
def test_what_is_no_length_of_time_is_refused(typed: str) -> None:
    with pytest.raises(AIError, match="not a valid duration") as caught:
        read_keep_alive(typed)
    assert "10m" in str(caught.value.hint)


@pytest.mark.parametrize("typed", ["0", "0s", "-0", "0h0m"])
def test_no_time_at_all_is_no_load(typed: str) -> None:
    with pytest.raises(AIError, match="would unload"):
        read_keep_alive(typed)
