import sys

import pytest

from ollm_tui.tui.terminal.guard import SWITCH_S, prompt_threads


def test_the_interval_is_short_inside_and_as_before_outside() -> None:
    before = sys.getswitchinterval()
    with prompt_threads():
        assert abs(sys.getswitchinterval() - SWITCH_S) < 1e-6
    assert sys.getswitchinterval() == before


def test_it_is_as_before_after_an_error() -> None:
    before = sys.getswitchinterval()
    with pytest.raises(RuntimeError), prompt_threads():
        raise RuntimeError("x")
    assert sys.getswitchinterval() == before
