"""A model for drawing is chosen in the picker and on the models screen, and in the settings."""

from pathlib import Path

from tests.support.fake_drawing import FakeSdCpp
from tests.tui.chat.test_drawing import SOON_S, scene
from tests.tui.screens import RealStage, is_ready


async def noted(stage: RealStage, file: Path, line: str | None) -> None:
    """Wait until the settings have a default, or none."""

    def is_written() -> bool:
        settings = file.read_text()
        return "# mine" in settings and (
            "picture" not in settings if not line else line in settings
        )

    await stage.until(test=is_written, within_s=SOON_S)


async def test_a_model_is_chosen_shown_and_given_up(tmp_path: Path) -> None:
    file = tmp_path / "config" / "config.toml"
    async with scene(tmp_path, FakeSdCpp(), "sdcpp", default=False) as played:
        file.write_text(f"# mine\n{file.read_text()}\n")
        assert played.runtime.task_defaults.name("picture") is None
        await played.pilot.press("ctrl+l")
        await played.until("For other tasks", "painter", "drawing", within_s=SOON_S)
        await played.pilot.press(*"painter", "enter")
        await noted(played, file, 'picture = "sd://painter"')
        await played.until("Now using painter for drawing.", within_s=SOON_S)
        assert played.controller.session.model == "openai-compatible://tiny", "it still chats"
        assert played.runtime.task_defaults.models("picture") == ("sd://painter",)
        await played.pilot.press(*"/ima")
        await played.until("With sd://painter: draw a picture", within_s=SOON_S)
        await played.pilot.press("escape", "ctrl+u")

        await played.pilot.press("f3")
        await played.until("image default", within_s=SOON_S)
        await played.pilot.press(*"painter")
        await played.pilot.press("enter")
        await played.until("painter gives no text. F2 lists what it is for.", within_s=SOON_S)
        await played.pilot.press("f2")
        await played.until("Stop using for drawing", within_s=SOON_S)
        await played.pilot.press("enter")
        await noted(played, file, None)
        await played.until("painter is no default now.", within_s=SOON_S)
        await played.pilot.press("f2")
        await played.until("Use for drawing", within_s=SOON_S)
        await played.pilot.press("escape", "escape", "escape")
        await played.until(test=lambda: is_ready(played.chat), within_s=SOON_S)
