"""/snippet on the screen."""

from pathlib import Path

import pytest

from ollm_tui.frontend import consent as armed
from tests.tui.screens import staged


@pytest.fixture(autouse=True)
def answers_count_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(armed, "ARMED_AFTER_S", 0.0)


async def test_a_snippet_is_written_inserted_filled_and_removed(
    config: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "snippets"
    async with staged(config, snippets_dir=folder) as stage:
        await stage.ask("/snippet add greet !echo {{name}} and {{other}}")
        assert (folder / "greet.md").read_text() == "!echo {{name}} and {{other}}"
        await stage.ask("/snippet greet")
        composer = stage.chat.composer
        assert composer.draft == "!echo {{name}} and {{other}}"  # nothing runs by itself
        await stage.type("Ann")
        await stage.pilot.press("tab")
        await stage.type("Bo")
        assert composer.draft == "!echo Ann and Bo"
        await stage.pilot.press("ctrl+c")
        await stage.ask("/snippet rm greet")
        assert "Remove this snippet?" in stage.screen_text
        await stage.pilot.press("n")
        await stage.settle()
        assert (folder / "greet.md").exists()
        await stage.ask("/snippet rm greet")
        await stage.pilot.press("y")
        await stage.settle()
        assert not (folder / "greet.md").exists()
        await stage.ask("/snippet greet")
        assert "No snippet “greet”." in stage.shown
