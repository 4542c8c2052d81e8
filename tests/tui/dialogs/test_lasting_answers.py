"""Which answers a question offers beside yes and no: what a permission covers, what none does."""

from functools import partial
from pathlib import Path

import pytest

from ollm_tui.frontend.consent import ARMED_AFTER_S
from ollm_tui.frontend.grants import FolderGrants
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.tools import CallPreview, ToolCall, ToolEffect, ToolOutput, ToolSchema
from ollm_tui.shell.words import plain_words
from ollm_tui.tui.dialogs.approve_tool import ApproveTool
from ollm_tui.tui.dialogs.approver import ScreenApprover
from tests.tui.dialogs.asking import DialogStage, typist

PROTECTED = CallPreview("Change .bashrc", (("diff", "+x"),), is_diff=True, may_last=False)


def command(text: str) -> CallPreview:
    return CallPreview(
        "Not contained.", (("command", text),), is_command=True, argv=plain_words(text)
    )


@pytest.mark.parametrize(
    ("effect", "preview", "keeps", "offered"),
    [
        ("run", command("git status"), True, "aA"),
        ("run", command("git status"), False, "a"),
        ("run", command("git status; x"), True, ""),
        ("write", PROTECTED, True, ""),
        ("write", None, True, "aA"),
    ],
)
async def test_only_what_a_permission_may_cover_is_offered(
    effect: ToolEffect, preview: CallPreview | None, keeps: bool, offered: str
) -> None:
    for key in "aA":
        async with typist() as (app, pilot):
            call = ToolCall(id="c", name="shell", args={"command": "x"})
            dialog = ApproveTool(call, effect, clock=partial(getattr, app, "now"), preview=preview)
            dialog.keeps = keeps
            app.push_screen(dialog)
            await pilot.pause()
            await pilot.pause()
            stage = DialogStage(app, pilot, dialog)
            await stage.wait(ARMED_AFTER_S)
            assert ("in this folder" in stage.shown) == ("A" in offered)
            await stage.press(key)
            assert (stage.decision is not None) == (key in offered)
            if stage.decision is None:
                await stage.wait(ARMED_AFTER_S)
                await stage.press("n")
            assert stage.decision is not None


class Prepared:
    schema, timeout_s = ToolSchema(name="shell"), 5.0
    effect: ToolEffect = "run"

    def __init__(self, text: str) -> None:
        self.preview = command(text)

    async def run(self, args: JsonObject) -> ToolOutput:
        return ToolOutput("ran")


async def test_a_permission_for_the_folder_answers_the_next_window(tmp_path: Path) -> None:
    first, second = ScreenApprover(), ScreenApprover()
    for one in (first, second):
        one.permissions.folder = FolderGrants(tmp_path / "permissions.json", Path("/srv/notes"))
    call = ToolCall(id="c", name="shell", args={"command": "make build"})
    await first.permissions.keep("shell", "run", command("make build"))
    assert (await second.approve(call, Prepared("make build"))).allowed
    refused = await second.approve(call, Prepared("make build; x"))
    assert (refused.allowed, refused.reason) == (False, "There is no screen to ask on.")
