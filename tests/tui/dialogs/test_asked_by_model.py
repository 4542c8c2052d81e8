"""A question of the model on the screen: no approval, no answer by accident, Esc is none."""

from pathlib import Path

import anyio
import pytest
from textual.widgets import Input

from ollm_tui.config.flags import Flags
from ollm_tui.frontend.consent import ARMED_AFTER_S
from ollm_tui.linear.approver import LinearApprover
from ollm_tui.protocol.tools import Approval, ToolCall
from ollm_tui.tools.ask_person import AskUser, PreparedQuestion
from ollm_tui.tools.prepared import UserQuestion
from ollm_tui.tui.dialogs.approve_tool import ApproveTool
from ollm_tui.tui.dialogs.approver import ScreenApprover
from ollm_tui.tui.dialogs.asked_by_model import ModelQuestionDialog
from tests.linear.test_questions import Answered, Typist
from tests.support.engine import needs_engine
from tests.support.tools import ScriptedTool
from tests.tui.chat.test_web_tools import write_model
from tests.tui.dialogs.asking import typist
from tests.tui.screens import staged_for_real

QUESTION = UserQuestion("Which city?\x1b[31m\u202e", ("Wien", "Oslo"))
CALL = ToolCall(id="c1", name="ask_person", args={"question": "Which city?"})


async def test_it_looks_like_no_approval_and_a_paused_typist_answers() -> None:
    async with typist() as (app, pilot):
        dialog = ModelQuestionDialog(QUESTION, clock=lambda: app.now)
        app.push_screen(dialog)
        await pilot.pause()
        await pilot.pause()
        field = dialog.query_one("#answer", Input)
        await pilot.press("y", "enter")  # still typing elsewhere
        assert field.disabled
        assert dialog.is_active
        app.now += 10 * ARMED_AFTER_S
        dialog._arming._armed_at = 0.0
        dialog._say_when_armed()
        await pilot.pause()
        shown = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        for words in (
            "The model has a question",
            "It allows nothing",
            "1. Wien",
            "2. Oslo",
            "type the number",
        ):
            assert words in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "Run " not in shown
        await pilot.press("enter")  # nothing typed is no answer yet
        assert dialog.is_active
        await pilot.press(*"2", "enter")
        with anyio.fail_after(5):
            assert await dialog.typed() == "2"


async def test_escape_is_no_answer_at_any_time() -> None:
    async with typist() as (app, pilot):
        dialog = ModelQuestionDialog(QUESTION, clock=lambda: app.now)
        app.push_screen(dialog)
        await pilot.pause()
        await pilot.press("escape")
        with anyio.fail_after(5):
            assert await dialog.typed() is None


async def test_it_waits_in_one_queue_with_approvals_and_no_mode_answers_it() -> None:
    async with typist() as (app, pilot):
        approver = ScreenApprover()
        approver.attach(app)
        approver.permissions.mode = "all"
        question = PreparedQuestion(QUESTION)
        given: dict[str, Approval] = {}

        async def ask() -> None:
            given["question"] = await approver.approve(CALL, question)

        async def approve() -> None:
            approver.permissions.mode = "ask"
            tool = ScriptedTool("shell", effect="run")
            given["tool"] = await approver.approve(ToolCall(id="c2", name="shell", args={}), tool)

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            with anyio.fail_after(10):
                while not isinstance(app.screen, ModelQuestionDialog):
                    await pilot.pause()
                group.start_soon(approve)
                await pilot.pause()
                assert isinstance(app.screen, ModelQuestionDialog)
                await pilot.press("escape")
                while not isinstance(app.screen, ApproveTool):
                    await pilot.pause()
                await pilot.press("escape")
        assert (given["question"].allowed, given["tool"].allowed) == (True, False)
        result = await question.run({})
        assert result.content.startswith("The person gave no answer.")


async def test_without_a_screen_nobody_is_asked() -> None:
    approval = await ScreenApprover().approve(CALL, PreparedQuestion(QUESTION))
    assert (approval.allowed, approval.reason) == (False, "There is no screen to ask on.")


@pytest.mark.parametrize(
    ("typed", "content"),
    [("2", "The person answered: Oslo"), ("", "The person gave no answer."), (None, "The person")],
)
async def test_a_screen_reader_hears_it_and_a_line_answers(typed: str | None, content: str) -> None:
    terminal = Typist(typed)
    question = PreparedQuestion(QUESTION)
    await LinearApprover(Answered(terminal), terminal.say).approve(CALL, question)
    assert terminal.heard[0].startswith("The model has a question, which allows nothing: Which")
    assert "\x1b" not in terminal.heard[0]
    assert terminal.heard[1:3] == ["1. Wien", "2. Oslo"]
    assert (await question.run({})).content.startswith(content)


@pytest.mark.engine
@needs_engine
async def test_a_model_asks_and_reads_the_answer(tmp_path: Path) -> None:
    write_model(tmp_path, AskUser.schema.name, question="Which page do you mean?")
    flags = Flags(model="embedded://reader", tools=("ask_person",))
    async with staged_for_real(tmp_path, {"OLLAMA_HOST": "http://127.0.0.1:9"}, flags) as stage:
        await stage.send("Read the page, please.")
        await stage.until("The model has a question", "Which page do you mean?")
        dialog = stage.app.screen
        assert isinstance(dialog, ModelQuestionDialog)
        dialog._arming._armed_at = 0.0
        dialog._say_when_armed()
        await stage.until("Enter answers")
        await stage.pilot.press(*"first", "enter")
        await stage.until("ask_person", "✓", "it is sunny there.")
        assert stage.last_result == "The person answered: first"
