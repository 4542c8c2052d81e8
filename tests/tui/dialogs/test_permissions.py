"""What runs without asking, in which mode and after which word."""

import pytest

from ollm_tui.frontend.consent import Permissions
from ollm_tui.protocol.tools import ToolEffect

EFFECTS: tuple[ToolEffect, ...] = ("read", "write", "run", "network")


def test_a_new_chat_asks_for_everything() -> None:
    assert not any(Permissions().allows("clock", effect) for effect in EFFECTS)


def test_the_modes_go_round_and_say_what_they_mean() -> None:
    permissions = Permissions()
    assert "Read-only" in permissions.cycle()
    assert [permissions.allows("x", effect) for effect in EFFECTS] == [True, False, False, False]
    assert "All tools" in permissions.cycle()
    assert all(permissions.allows("x", effect) for effect in EFFECTS)
    assert "needs approval" in permissions.cycle()
    assert not any(permissions.allows("x", effect) for effect in EFFECTS)


@pytest.mark.parametrize("effect", EFFECTS)
def test_a_grant_is_for_one_tool_with_one_effect(effect: ToolEffect) -> None:
    permissions = Permissions()
    permissions.grant("look", effect)
    assert permissions.allows("look", effect)
    assert not permissions.allows("Look", effect)
    assert not any(permissions.allows("look", other) for other in EFFECTS if other != effect)


def test_another_chat_begins_with_nothing_allowed() -> None:
    permissions = Permissions()
    permissions.cycle()
    permissions.cycle()
    permissions.grant("look", "run")
    permissions.forget()
    assert not any(permissions.allows("look", effect) for effect in EFFECTS)
