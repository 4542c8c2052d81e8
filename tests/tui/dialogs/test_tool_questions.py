"""How the question of a model and the question for a change of notes look."""

from pathlib import Path

import pytest

from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.tools.memory.edit_notes import EditNotes
from ollm_tui.tools.memory.notes import LastingNotes
from ollm_tui.tools.prepared import UserQuestion
from ollm_tui.tui.dialogs.approve_tool import ApproveTool
from ollm_tui.tui.dialogs.asked_by_model import ModelQuestionDialog
from tests.mcp.test_reading import SCOPE
from tests.tui.screens import Stage, staged
from tests.tui.svg import SvgSnapshot

CHANGE: JsonObject = {
    "action": "replace",
    "number": 2,
    "text": "Speaks German and Dutch, not\u202e French.",
}
QUESTIONS = {
    "choices": UserQuestion(
        "For which of your projects do I write the letter, and how formal should it be?",
        ("The choir, to all members", "The garden, as formal as the last one", "Neither\u200b"),
    ),
    "words": UserQuestion("Which city?", ()),
}


async def armed(stage: Stage, dialog: ModelQuestionDialog | ApproveTool) -> None:
    """Let the person have stopped typing."""
    stage.app.push_screen(dialog)
    await stage.settle()
    dialog._arming._armed_at = 0.0
    dialog._say_when_armed()
    await stage.settle()


@pytest.mark.parametrize("kind", QUESTIONS)
async def test_the_question_of_a_model_looks_as_drawn(
    kind: str, svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        dialog = ModelQuestionDialog(QUESTIONS[kind])
        await armed(stage, dialog)
        if kind == "choices":
            await stage.pilot.press("2")
            await stage.settle()
        svg_snapshot(stage.app)
        await stage.pilot.press("escape")


async def test_a_change_of_notes_looks_as_drawn(svg_snapshot: SvgSnapshot, tmp_path: Path) -> None:
    file = tmp_path / "memory.txt"
    file.write_text("Sings in a choir.\nSpeaks German.\nLikes rain.\n")
    call = ToolCall(id="c1", name="edit_notes", args=CHANGE)
    prepared = await EditNotes(LastingNotes(file)).prepare(CHANGE, SCOPE)
    async with staged(tmp_path / "config.toml") as stage:
        await armed(stage, ApproveTool(call, prepared.effect, preview=prepared.preview))
        svg_snapshot(stage.app)
        await stage.pilot.press("escape")
