"""Who asks, when, how often, and what happens when nobody can answer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from textual import events
from textual.app import App
from textual.pilot import Pilot

from ollm_tui.frontend.consent import HELD_S
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.tools import Approval, ToolCall, ToolEffect, ToolOutput, ToolSchema
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.runner import ToolRunner
from ollm_tui.tui.dialogs.approve_tool import ApproveTool, Decision
from ollm_tui.tui.dialogs.approver import ScreenApprover


class SomeTool:
    timeout_s = 5.0

    def __init__(self, name: str, effect: ToolEffect = "write") -> None:
        self.schema = ToolSchema(name=name)
        self.effect = effect
        self.runs = 0

    async def run(self, args: JsonObject) -> ToolOutput:
        self.runs += 1
        return ToolOutput("done")


class Stage:
    def __init__(self, app: App[None], pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot
        self.approver = ScreenApprover()
        self.approver.attach(app)
        self.answers: list[Approval] = []

    async def ask(self, name: str, effect: ToolEffect = "write") -> None:
        call = ToolCall(id=f"c{len(self.answers)}", name=name, args={"path": "x"})
        self.answers.append(await self.approver.approve(call, SomeTool(name, effect)))

    async def dialog(self) -> ApproveTool:
        with anyio.fail_after(5):
            while not isinstance(self.app.screen, ApproveTool):
                await self.pilot.pause()
        assert isinstance(self.app.screen, ApproveTool)
        return self.app.screen

    async def decide(self, decision: Decision) -> None:
        dialog = await self.dialog()
        dialog._decide(decision)
        with anyio.fail_after(5):
            while self.app.screen is dialog:
                await self.pilot.pause()

    @property
    def open_dialogs(self) -> int:
        return sum(isinstance(screen, ApproveTool) for screen in self.app.screen_stack)


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    app = App[None]()
    async with app.run_test() as pilot:
        yield Stage(app, pilot)


async def test_calls_side_by_side_are_asked_one_after_another() -> None:
    async with staged() as stage, anyio.create_task_group() as group:
        for name in ("one", "two", "three"):
            group.start_soon(stage.ask, name)
        for decision in (Decision("once"), Decision("no"), Decision("once")):
            await stage.dialog()
            assert stage.open_dialogs == 1
            await stage.decide(decision)
    assert [answer.allowed for answer in stage.answers] == [True, False, True]


async def test_a_word_for_the_session_covers_the_calls_that_wait_of_that_tool_only() -> None:
    async with staged() as stage, anyio.create_task_group() as group:
        for name in ("same", "same", "other"):
            group.start_soon(stage.ask, name)
        await stage.decide(Decision("session"))
        dialog = await stage.dialog()
        assert dialog._tool == "other"
        await stage.decide(Decision("no", "Not that."))
    assert stage.answers == [Approval(True), Approval(True), Approval(False, "Not that.")]


async def test_it_is_noticed_when_a_question_opens_and_closes() -> None:
    received: list[bool] = []
    async with staged() as stage, anyio.create_task_group() as group:
        stage.approver.attach(stage.app, received.append)
        group.start_soon(stage.ask, "one")
        await stage.dialog()
        assert received == [True]
        await stage.decide(Decision("once"))
    assert received == [True, False]


async def test_it_is_noticed_when_a_question_is_cancelled_alone() -> None:
    received: list[bool] = []
    async with staged() as stage, anyio.create_task_group() as group:
        stage.approver.attach(stage.app, received.append)
        group.start_soon(stage.ask, "one")
        await stage.dialog()
        group.cancel_scope.cancel()
    assert received == [True, False]


async def test_the_mode_is_asked_before_the_person() -> None:
    async with staged() as stage:
        stage.approver.permissions.cycle()
        await stage.ask("look", "read")
        stage.approver.permissions.cycle()
        await stage.ask("shell", "run")
        assert stage.answers == [Approval(True)] * 2
        assert stage.open_dialogs == 0


async def test_a_stop_closes_the_dialog_and_lets_the_next_be_asked() -> None:
    async with staged() as stage:
        async with anyio.create_task_group() as group:
            group.start_soon(stage.ask, "one")
            await stage.dialog()
            group.cancel_scope.cancel()
        await stage.pilot.pause()
        await stage.pilot.pause()
        assert (stage.answers, stage.open_dialogs) == ([], 0)
        async with anyio.create_task_group() as group:
            group.start_soon(stage.ask, "two")
            await stage.decide(Decision("once"))
        assert stage.answers == [Approval(True)]


async def test_a_stop_before_the_dialog_is_there_leaves_none_behind() -> None:
    async with staged() as stage:
        async with anyio.create_task_group() as group:
            group.start_soon(stage.ask, "one")
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        for _turn in range(5):
            await stage.pilot.pause()
        assert stage.open_dialogs == 0


async def test_a_dialog_whose_parts_are_gone_already_has_nothing_more_to_say() -> None:
    async with staged() as stage, anyio.create_task_group() as group:
        group.start_soon(stage.ask, "one")
        dialog = await stage.dialog()
        await dialog.remove_children()
        dialog._shown()
        await stage.pilot.pause()
        await stage.decide(Decision("no"))
    assert stage.answers == [Approval(False)]


async def test_a_tool_that_was_stopped_while_asked_for_never_runs() -> None:
    tool = SomeTool("shell", "run")
    async with staged() as stage:
        runner = ToolRunner(ToolRegistry([tool]), stage.approver)
        async with anyio.create_task_group() as group:
            group.start_soon(runner.offer(["shell"]).run, ToolCall(id="1", name="shell", args={}))
            await stage.dialog()
            group.cancel_scope.cancel()
        found = runner.result_of("1")
        assert found is not None
        assert (found.content, tool.runs) == ("Stopped by the user.", 0)


async def test_closing_the_app_refuses_what_is_open() -> None:
    answers = []
    async with anyio.create_task_group() as group:
        async with staged() as stage:
            group.start_soon(stage.ask, "one")
            await stage.dialog()
        answers = stage.answers
    assert [answer.allowed for answer in answers] == [False]


async def test_without_a_screen_the_answer_is_no() -> None:
    approver = ScreenApprover()
    answer = await approver.approve(ToolCall(id="1", name="x", args={}), SomeTool("x"))
    assert answer == Approval(False, "There is no screen to ask on.")


async def test_a_key_that_is_held_answers_one_question() -> None:
    """It comes again after a pause that is longer than what a dialog waits for otherwise."""
    async with staged() as stage, anyio.create_task_group() as group:
        group.start_soon(stage.ask, "one")
        group.start_soon(stage.ask, "two")
        await stage.decide(Decision("once"))
        second = await stage.dialog()
        answered = stage.approver._last_answer
        assert answered is not None

        async def press(after: float) -> None:
            key = events.Key("y", "y")
            key.time = answered + after
            second.post_message(key)
            await stage.pilot.pause()

        await stage.pilot.pause()
        for after in (0.25, 0.5, 0.66, 0.7, 0.74, 0.78):
            await press(after)
        assert second._decision == Decision("no")
        assert stage.app.screen is second
        await press(0.78 + HELD_S)
    assert [answer.allowed for answer in stage.answers] == [True, True]
