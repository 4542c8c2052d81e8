"""What is typed is drawn before anything else, and keys take effect in the order of typing."""

from pathlib import Path

import pytest
from textual import events
from textual.screen import Screen
from textual.timer import Timer

from tests.tui.screens import staged


async def test_a_letter_is_drawn_without_waiting_for_the_beat_of_the_screen(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged(config) as stage:
        await stage.settle()
        drawn: list[str] = []
        draw = Screen._compositor_refresh

        def note(screen: Screen[object]) -> None:
            drawn.append(stage.chat.composer.draft)
            draw(screen)

        monkeypatch.setattr(Timer, "resume", lambda _timer: None)  # the beat never comes
        monkeypatch.setattr(Screen, "_compositor_refresh", note)
        await stage.pilot.press("a")
        await stage.pilot.press("b")
        monkeypatch.undo()
        assert drawn[-1] == "ab"


async def test_a_key_takes_effect_after_the_letters_before_it(config: Path) -> None:
    async with staged(config) as stage:
        await stage.settle()
        for key in (*"a question", "ctrl+c", *"kept"):
            character = key if len(key) == 1 else None
            stage.app.post_message(events.Key(key, character))
        await stage.settle()
        assert stage.chat.composer.draft == "kept"
