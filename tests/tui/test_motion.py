"""Without animations nothing moves by itself, from the start or from the change of the setting."""

from pathlib import Path

from textual.widgets import Input, TextArea

from ollm_tui.config.setting_fields import SettingField
from ollm_tui.tui.app import OllmApp
from ollm_tui.tui.settings.edit_dialog import EditSetting
from tests.tui.screens import Stage, services, staged
from tests.tui.scripted import ScriptedRuntime
from tests.tui.size_scenes import SCENES, every_runtime

FIELD = SettingField(("model",), "Model.", "text")


def still(stage: Stage) -> bool:
    """Whether there are fields on the screen, and no cursor blinks."""
    fields = [*stage.app.screen.query(Input), *stage.app.screen.query(TextArea)]
    return bool(fields) and not any(one.cursor_blink for one in fields)


async def test_no_cursor_blinks_and_nothing_is_scrolled_step_by_step(tmp_path: Path) -> None:
    app = OllmApp(services(ScriptedRuntime(), tmp_path / "config.toml"), is_animated=False)
    assert app.animation_level == "none"
    async with staged(tmp_path / "config.toml", every_runtime()) as stage:
        stage.app.animation_level = "none"
        await stage.pilot.press("ctrl+p")
        await stage.settle()
        assert still(stage)
        await stage.pilot.press("escape")
        await SCENES["messages"](stage)
        view = stage.chat.transcript
        view.scroll_home()
        await stage.pilot.pause()
        assert view.scroll_offset.y == 0
        assert not stage.app.animator.is_being_animated(view, "scroll_y")
        stage.app.push_screen(EditSetting(FIELD, "draft"))
        await stage.settle()
        assert still(stage)
