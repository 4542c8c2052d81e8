"""A model that writes a file: asked about with the diff, refused, allowed, taken back."""

import json
from pathlib import Path

import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.tui.dialogs.approve_tool import ApproveTool
from tests.support.engine import needs_engine
from tests.support.tiny_gguf import END_TOOL, TEMPLATE, TOOL, write_scripted
from tests.tui.screens import RealStage, staged_for_real

CALL = {
    "name": "edit_file",
    "arguments": {"path": "notes.md", "old_text": "two", "new_text": "2"},
}
WRITES = TEMPLATE.replace(
    "{%- elif tools and 'tool' in last %}{{- '<|say:call|>' }}",
    "{%- elif tools and 'notes' in last %}{{- '<|say:write|>' }}",
)
DIFF = ["--- notes.md", "+++ notes.md", "@@ -1,3 +1,3 @@", " one", "-two", "+2", " three"]


async def question(stage: RealStage, *rows: str) -> ApproveTool:
    await stage.until(test=lambda: isinstance(stage.app.screen, ApproveTool))
    dialog = stage.app.screen
    assert isinstance(dialog, ApproveTool)
    await stage.until("Run edit_file?", *(rows or DIFF))
    await stage.until(test=lambda: dialog.may_consent)
    dialog._arming._armed_at = 0.0
    dialog._say_when_armed()
    await stage.until("N no, with a reason")
    return dialog


@pytest.mark.engine
@needs_engine
async def test_a_change_is_asked_about_refused_made_shown_and_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert WRITES != TEMPLATE
    root, models = tmp_path / "work", tmp_path / "data" / "models"
    root.mkdir()
    models.mkdir(parents=True)
    file = root / "notes.md"
    file.write_text("one\ntwo\nthree\n")
    said = f"{TOOL}\n{json.dumps(CALL)}\n{END_TOOL}"
    write_scripted(models / "writer.gguf", WRITES, after={"<|say:write|>": said})
    monkeypatch.chdir(root)
    flags = Flags(model="embedded://writer", tools=("edit_file",))
    environ = {"OLLAMA_HOST": "http://127.0.0.1:9"}
    async with staged_for_real(tmp_path, environ, flags, size=(100, 40)) as stage:
        await stage.send("Change my notes, please.")
        await question(stage)
        assert file.read_text() == "one\ntwo\nthree\n"
        await stage.pilot.press("N", *"later", "enter")
        await stage.until("denied", "it is sunny there.")
        assert file.read_text() == "one\ntwo\nthree\n"
        assert stage.last_result == "Not run: it was not allowed. later"

        await stage.until(test=lambda: not stage.controller.queue.is_busy)
        await stage.send("Change my notes now.")
        await question(stage)
        await stage.pilot.press("y")
        await stage.until("✓", "-two", "+2")
        assert file.read_text() == "one\n2\nthree\n"

        await stage.until(test=lambda: not stage.controller.queue.is_busy)
        await stage.send("/diff")
        await stage.until("+++ notes.md")
        await stage.send("/undo")
        await stage.until("notes.md was restored.")
        assert file.read_text() == "one\ntwo\nthree\n"
        await stage.send("/diff")
        await stage.until("Tools have changed no files in this chat.")
