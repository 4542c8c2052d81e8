"""Tools on the screen: their rows, asking before they run, going on, and what the status says."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from ollm_tui.chat.conversation import Conversation
from ollm_tui.protocol.chat_events import ContextWarning, Finish, ToolCallResult, ToolCallStart
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.tools import (
    Approval,
    ToolCall,
    ToolEffect,
    ToolOutput,
    ToolResult,
    ToolSchema,
)
from ollm_tui.runtime.tools.toolbox import OfferedTool
from ollm_tui.tui.dialogs.approve_tool import ApproveTool
from tests.tui.screens import Stage, staged
from tests.tui.scripted import CallClock, ScriptedClient, ScriptedRuntime, finish, text
from tests.tui.svg import SIZES, SvgSnapshot

LISTING = "\n".join(f"notes/{number}.md" for number in range(30))


def call(number: int, name: str = "read_file", path: str = "notes/optics.md") -> ToolCall:
    return ToolCall(id=f"c{number}", name=name, args={"path": path})


def begun(one: ToolCall) -> ToolCallStart:
    return ToolCallStart(call=one, turn=1, block=f"tool-{one.id}")


def ended(
    one: ToolCall, content: str, *, is_error: bool = False, is_denied: bool = False
) -> ToolCallResult:
    result = ToolResult(
        call_id=one.id,
        name=one.name,
        content=content,
        is_error=is_error,
        interruption="denied" if is_denied else None,
    )
    return ToolCallResult(call=one, result=result, turn=1, block=f"tool-{one.id}")


class Shell:
    schema = ToolSchema(name="shell")
    timeout_s = 5.0
    effect: ToolEffect = "run"

    async def run(self, args: JsonObject) -> ToolOutput:
        return ToolOutput("ran")


async def tools_ran(stage: Stage) -> None:
    await stage.ask("Why is the sky blue?")
    controller = stage.controller
    tools = controller.presenter.tools
    tools.clock, tools.answered_at = CallClock(tools), lambda _id: None
    one, two = call(1), call(2, "list_directory", "notes")
    three, four = call(3, "web_fetch", "https://en.wikipedia.org/wiki/Sky"), call(4, "shell", "ls")
    stage.client.give(
        text("I look it up."),
        begun(one),
        ended(one, "Short waves scatter most.\nLong ones hardly."),
        begun(two),
        ended(two, LISTING),
        begun(three),
        ended(three, "The host was not found.\nTry again later.", is_error=True),
        begun(four),
        ended(four, "Not run: it was not allowed.", is_denied=True),
    )
    await stage.settle()


async def test_each_call_is_a_row_that_opens_only_when_it_failed(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", size=(100, 40)) as stage:
        await tools_ran(stage)
        rows = [line.split() for line in stage.screen_text.split("\n") if "⚙" in line]
        assert rows == [
            ["⚙", "read_file", "notes/optics.md", "✓", "0.4", "s"],
            ["⚙", "list_directory", "notes", "✓", "0.4", "s"],
            ["⚙", "web_fetch", "en.wikipedia.org/wiki/Sky", "✗", "failed", "0.4", "s"],
            ["⚙", "shell", "ls", "⊘", "denied"],
        ]
        assert "The host was not found." in stage.screen_text
        assert "Short waves" not in stage.screen_text
        assert "waiting" in stage.screen_text


async def test_ctrl_o_shows_what_all_tools_gave_and_folds_it_again(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", size=(100, 60)) as stage:
        await tools_ran(stage)
        await stage.pilot.press("ctrl+o")
        await stage.settle()
        for words in ("Short waves", "notes/29.md", "The host was not found."):
            assert words in stage.screen_text
        await stage.pilot.press("ctrl+o")
        await stage.settle()
        assert "The host was not found." not in stage.screen_text


async def test_ctrl_o_without_tools_says_so_and_unfolds_a_paste_on_one(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        await stage.pilot.press("ctrl+o")
        assert "No tool calls yet" in stage.screen_text
        stage.chat.composer.insert_pasted("line\n" * 50)
        await stage.settle()
        assert "Pasted text" in stage.chat.composer.text
        stage.chat.composer.move_cursor((0, 3))
        await stage.pilot.press("ctrl+o")
        await stage.settle()
        assert "Pasted text" not in stage.chat.composer.text


async def test_a_click_on_a_row_opens_and_folds_it(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", size=(100, 60)) as stage:
        await tools_ran(stage)
        view = stage.chat.transcript
        lines = stage.screen_text.split("\n")
        row = next(number for number, line in enumerate(lines) if "read_file" in line)
        for is_open in (True, False):
            await stage.pilot.click(offset=(6, row))
            await stage.settle()
            assert ("Short waves" in stage.screen_text) is is_open
            # not the second click of a double click
            stage.app._click_chain_last_time = None
        assert view.text_selection is None


async def test_a_stop_ends_the_running_row(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        await stage.ask("why?")
        stage.client.give(begun(call(1)))
        await stage.settle()
        assert "running tools" in stage.screen_text
        await stage.pilot.press("escape")
        await stage.settle()
        assert "■ stopped" in stage.screen_text


async def test_a_tool_asks_and_y_lets_it_run(tmp_path: Path) -> None:
    answers: list[Approval] = []
    async with staged(tmp_path / "config.toml") as stage, anyio.create_task_group() as group:

        async def approve() -> None:
            answers.append(await stage.chat.services.approver.approve(call(1, "shell"), Shell()))

        group.start_soon(approve)
        with anyio.fail_after(5):
            while not isinstance(stage.app.screen, ApproveTool):
                await stage.pilot.pause()
            while "y once" not in stage.screen_text:
                await stage.pilot.pause()
            await stage.pilot.press("y")
    assert answers == [Approval(allowed=True)]


async def test_the_status_counts_tools_and_says_when_they_do_not_ask(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", ScriptedRuntime()) as stage:
        assert "tools" not in stage.screen_text.split("\n")[-1]
        await stage.type("/tools on")
        await stage.pilot.press("enter")
        await stage.settle()
        for words in (
            "tools 4 ",
            "tools 4, auto-approve reads",
            "tools 4, auto-approve all",
            "tools 4 ",
        ):
            assert words in stage.screen_text.split("\n")[-1]
            await stage.pilot.press("shift+tab")
            await stage.settle()


async def test_a_new_chat_keeps_the_tools_and_forgets_what_was_allowed(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", ScriptedRuntime()) as stage:
        stage.client.conversation.tools = ("read_file",)
        await stage.pilot.press("shift+tab", "shift+tab")
        permissions = stage.chat.services.approver.permissions
        permissions.grant("shell", "run")
        await stage.pilot.press("ctrl+n")
        await stage.settle()
        assert permissions.mode == "ask"
        assert not permissions.allows("shell", "run")
        assert stage.client.conversation.tools == ("read_file",)


async def test_g_lets_the_model_go_on_after_its_turns_ran_out(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        await stage.ask("why?")
        stage.client.give(Finish(reason="max_turns", turn=10))
        await stage.settle()
        assert (
            "The limit of 10 turns with tools was reached; the model wants to continue."
            in stage.screen_text
        )
        await stage.pilot.press("g")
        await stage.settle()
        assert "The model wants to continue with tools" in stage.screen_text
        await stage.pilot.press("g")
        await stage.settle()
        assert (stage.client.went_on, stage.chat.composer.text) == (1, "")
        stage.client.give(text("Done.", "answer-9"), finish())
        await stage.settle()
        assert "Done." in stage.shown
        await stage.pilot.press("g")
        assert (stage.client.went_on, stage.chat.composer.text) == (1, "g")


async def test_the_status_says_that_nothing_contains_commands(tmp_path: Path) -> None:
    tools = (OfferedTool("clock", "read", ""), OfferedTool("shell", "run", "", "not contained"))
    async with staged(tmp_path / "config.toml", ScriptedRuntime(all_tools=tools)) as stage:
        for on, status in (
            (("clock", "shell"), "tools 2, not contained"),
            (("clock",), "tools 1 "),
        ):
            stage.client.conversation.tools = on
            stage.controller.status.show_tools()
            await stage.settle()
            assert status in f"{stage.screen_text} "
        assert "contained" not in stage.screen_text


async def test_a_letter_in_a_draft_never_lets_it_go_on(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        await stage.ask("why?")
        stage.client.give(Finish(reason="max_turns", turn=10))
        await stage.settle()
        await stage.type("ag")
        assert (stage.client.went_on, stage.chat.composer.text) == (0, "ag")


async def test_a_context_warning_is_reported_once_and_fills_the_meter(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", ScriptedRuntime()) as stage:
        await stage.ask("why?")
        for used in (3800, 4000):
            stage.client.give(ContextWarning(used=used, limit=4096, estimated=False, turn=1))
        await stage.settle()
        assert stage.shown.count("The chat uses") == 1
        assert "ctx 4.0k/4k ▮▮▮▮▮▮▮▮" in stage.screen_text


def from_before() -> ScriptedClient:
    messages = [Message("user", "From before"), Message("assistant", "Yes.")]
    return ScriptedClient(Conversation(model="local://gemma3:4b", messages=messages))


async def test_a_chat_that_goes_on_from_before_is_there_at_once(tmp_path: Path) -> None:
    runtime = ScriptedRuntime(make_client=from_before)
    async with staged(tmp_path / "config.toml", runtime) as stage:
        assert "From before" in stage.shown
        assert stage.client.conversation.model == "local://gemma3:4b"
        assert "Chatting with" not in stage.shown


@dataclass
class AsksForWindows(ScriptedRuntime):
    """A runtime whose models are known once they are asked for."""

    window: int | None = 32768

    async def model_info(self, ref: ModelRef) -> ModelInfo | None:
        if self.window is None:
            raise AIError(ErrorCode.BAD_REQUEST, f"There is no provider {ref.provider}.")
        return ModelInfo(name=ref.model, context=self.window)


async def test_a_chat_from_before_has_a_window_and_no_count_yet(tmp_path: Path) -> None:
    runtime = AsksForWindows(make_client=from_before, histories={"c1": [Message("user", "Old")]})
    async with staged(tmp_path / "config.toml", runtime) as stage:
        assert "ctx ?/32k" in stage.screen_text
        stage.controller.session.window = None
        await stage.controller.history.open("c1")
        await stage.settle()
        assert "Old" in stage.shown
        assert "ctx ?/32k" in stage.screen_text
        runtime.make_client = ScriptedClient
        await stage.pilot.press("ctrl+n")
        await stage.settle()
        assert "ctx 0/32k" in stage.screen_text


async def test_a_chat_whose_provider_is_gone_opens_all_the_same(tmp_path: Path) -> None:
    runtime = AsksForWindows(make_client=from_before, window=None)
    async with staged(tmp_path / "config.toml", runtime) as stage:
        assert "From before" in stage.shown
        assert "ready" in stage.screen_text
        assert "ctx" not in stage.screen_text


async def state_rows(stage: Stage) -> None:
    await tools_ran(stage)


async def state_open(stage: Stage) -> None:
    await tools_ran(stage)
    await stage.pilot.press("ctrl+o")


async def state_turns(stage: Stage) -> None:
    await tools_ran(stage)
    stage.client.conversation.tools = ("read_file", "list_directory", "web_fetch", "shell")
    stage.client.give(Finish(reason="max_turns", turn=10))


async def state_limit(stage: Stage) -> None:
    await state_turns(stage)
    await stage.settle()
    await stage.pilot.press("g")


async def state_warned(stage: Stage) -> None:
    await stage.ask("Why is the sky blue?")
    stage.client.give(ContextWarning(used=3900, limit=4096, estimated=True, turn=1))
    await stage.pilot.press("shift+tab")


async def state_listed(stage: Stage) -> None:
    await stage.type("/tools")
    await stage.pilot.press("escape", "enter")


async def state_asked(stage: Stage) -> None:
    await tools_ran(stage)
    args: JsonObject = {
        "path": "notes/optics.md",
        "content": "\n".join(f"line {number} of the note" for number in range(30)),
        "append": True,
    }
    dialog = ApproveTool(ToolCall(id="x", name="write_file", args=args), "write")
    stage.app.push_screen(dialog)
    await stage.settle()
    dialog._arming._armed_at = 0.0
    dialog._say_when_armed()


STATES: Mapping[str, Callable[[Stage], Awaitable[None]]] = {
    "rows": state_rows,
    "open": state_open,
    "turns": state_turns,
    "limit": state_limit,
    "warned": state_warned,
    "listed": state_listed,
    "asked": state_asked,
}


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("state", STATES)
async def test_it_looks_as_drawn(
    state: str, size: tuple[int, int], svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", ScriptedRuntime(), size=size) as stage:
        await STATES[state](stage)
        await stage.settle()
        # the running clock of a state stands still
        stage.chat.status._clock = lambda: stage.chat.status._since
        stage.chat.status._tick()
        await stage.settle()
        svg_snapshot(stage.app)
