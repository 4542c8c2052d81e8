"""Tools from the model's wish to the person's word, in the app, with the real chat behind it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import Tool
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    ProviderEvent,
    TextDelta,
    ToolCallEvent,
)
from ollm_tui.protocol.tools import Approval, ToolCall
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.runtime.tools.toolbox import OfferedTool
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.runner import ToolRunner
from ollm_tui.tui.dialogs.approve_tool import ApproveTool
from tests.chat.test_tools_in_chat import Turns
from tests.support.tools import ScriptedTool
from tests.tui.screens import Stage, staged
from tests.tui.scripted import ScriptedRuntime

Script = list[ProviderEvent | anyio.Event | Exception]


def wants(*names: str) -> Script:
    """Ask for tools, with the same ids every time, as some servers do."""
    calls = [ToolCall(id=f"c{at}", name=name, args={}) for at, name in enumerate(names)]
    return [*map(ToolCallEvent, calls), Finish("tool_calls")]


def says(words: str) -> Script:
    return [TextDelta(words), Finish("stop")]


FAILS: Script = [ErrorEvent(AIError(ErrorCode.STREAM_INCOMPLETE, "The server broke."))]


class Asker:
    """The approver of the app, which is there only when the app is."""

    stage: "Table"

    async def approve(self, call: ToolCall, tool: Tool) -> Approval:
        return await self.stage.chat.services.approver.approve(call, tool)


class Table(Stage):
    """An app whose chat has two tools, and a server that says what the test wants."""

    def __init__(self, stage: Stage, provider: Turns, tools: Sequence[ScriptedTool]) -> None:
        super().__init__(stage.app, stage.pilot, stage.runtime, stage.opener)
        self.provider = provider
        self.clock, self.shell = tools

    @property
    def conversation(self) -> Conversation:
        return self.controller.session.client.conversation

    @property
    def runs(self) -> tuple[int, int]:
        return len(self.clock.calls), len(self.shell.calls)

    @property
    def results(self) -> list[str]:
        return [message.text for message in self.conversation.messages if message.role == "tool"]

    async def until(self, words: str) -> None:
        """Wait until the newest rows of the chat say so."""
        with anyio.fail_after(10):
            while words not in self.shown:
                await self.pilot.pause()
        await self.settle()

    async def question(self) -> ApproveTool:
        """Wait for a question and let it be armed."""
        with anyio.fail_after(10):
            while not isinstance(self.app.screen, ApproveTool):
                await self.pilot.pause()
            while not self.app.screen.query("#about"):
                await self.pilot.pause()
        dialog = self.app.screen
        assert isinstance(dialog, ApproveTool)
        await self.settle()
        dialog._arming._armed_at = 0.0
        dialog._say_when_armed()
        await self.settle()
        return dialog

    async def decide(self, key: str) -> None:
        dialog = await self.question()
        await self.pilot.press(key)
        with anyio.fail_after(10):
            while self.app.screen is dialog:
                await self.pilot.pause()
        await self.settle()


@asynccontextmanager
async def table(
    folder: Path, *scripts: Script, on: Sequence[str] = ("clock", "shell")
) -> AsyncIterator[Table]:
    provider, asker = Turns(*scripts), Asker()
    provider.name = "local"
    tools = ScriptedTool("clock"), ScriptedTool("shell", effect="run")

    def make() -> ChatClient:
        registry = ProviderRegistry()
        registry.register(provider)
        runner = ToolRunner(ToolRegistry(tools), asker)
        parts = ChatParts(router=Router(registry, ModelCatalog(registry)), tools=runner)
        return ChatClient(parts, Conversation(model="local://qwen3:8b", tools=tuple(on)))

    runtime = ScriptedRuntime(
        make_client=make,  # type: ignore[arg-type]  # the real one in place of the scripted one
        all_tools=(OfferedTool("clock", "read", ""), OfferedTool("shell", "run", "")),
    )
    async with staged(folder / "config.toml", runtime) as stage:
        asker.stage = seated = Table(stage, provider, tools)
        yield seated


def bar(stage: Stage) -> str:
    return stage.screen_text.split("\n")[-1]


@pytest.mark.parametrize(
    ("typed", "on", "reply"),
    [
        ("on", ("clock", "shell"), "may call clock, shell"),
        ("ALL", ("clock", "shell"), "may call clock, shell"),
        ("off", (), "Tools are off from the next prompt."),
        ("none", (), "Tools are off from the next prompt."),
        ("Shell", ("shell",), "may call shell"),
        ("shell,clock", ("clock", "shell"), "may call clock, shell"),
        ("shel", ("clock",), "Did you mean shell?"),
        ("off clock", ("clock",), "Write /tools off alone"),
        ("", ("clock",), "on   clock"),
    ],
)
async def test_tools_are_switched_by_a_command(
    typed: str, on: tuple[str, ...], reply: str, tmp_path: Path
) -> None:
    async with table(tmp_path, says("Hello."), on=("clock",)) as stage:
        stage.chat.composer.insert(f"/tools {typed}")
        await stage.settle()
        await stage.pilot.press(*(["escape"] if stage.chat.composer.has_menu else []), "enter")
        await stage.until(reply)
        assert stage.conversation.tools == on
        assert f"tools {len(on)}" in bar(stage) if on else "tools" not in bar(stage)
        await stage.ask("hi")
        await stage.until("Hello.")
        assert [tool.name for tool in stage.provider.requests[0].tools or ()] == list(on)


async def test_a_switch_in_the_middle_of_an_answer_counts_from_the_next_prompt_on(
    tmp_path: Path,
) -> None:
    gate = anyio.Event()
    first: Script = [TextDelta("Let me look."), gate, *wants("clock")]
    async with table(tmp_path, first, says("It is noon."), wants("clock"), says("Late.")) as stage:
        await stage.ask("what time?")
        await stage.until("Let me look.")
        await stage.ask("/tools off")
        await stage.until("Tools are off from the next prompt.")
        gate.set()
        await stage.decide("y")
        await stage.until("It is noon.")
        assert stage.runs == (1, 0)
        await stage.ask("and now?")
        with anyio.fail_after(10):
            while len(stage.results) < 2:
                await stage.pilot.pause()
        assert stage.runs == (1, 0)
        assert stage.results[-1] == "Not run: no tools are offered. Answer without them."


async def test_a_command_typed_at_an_open_question_changes_and_allows_nothing(
    tmp_path: Path,
) -> None:
    async with table(tmp_path, wants("shell"), says("Done.")) as stage:
        await stage.ask("run it")
        await stage.question()
        await stage.pilot.press(*"/tools", "space", *"all", "enter")
        assert isinstance(stage.app.screen, ApproveTool)
        assert stage.conversation.tools == ("clock", "shell")
        assert stage.chat.composer.text == ""
        assert stage.runs == (0, 0)
        await stage.pilot.press("escape")
        await stage.until("Done.")
        assert stage.results == ["Not run: it was not allowed."]


async def test_what_is_switched_off_after_an_error_is_not_offered_to_the_retry(
    tmp_path: Path,
) -> None:
    async with table(tmp_path, FAILS, wants("shell"), says("Done.")) as stage:
        await stage.ask("run it")
        await stage.until("The server broke.")
        await stage.ask("/tools clock")
        await stage.until("may call clock")
        await stage.pilot.press("r")
        await stage.until("Done.")
        assert stage.runs == (0, 0)
        assert stage.results == ["Not run: the tool 'shell' is not offered. Offered: clock."]


async def test_a_retry_asks_again_though_the_call_has_the_same_id(tmp_path: Path) -> None:
    scripts = (wants("shell"), FAILS, wants("shell"), says("Done."))
    async with table(tmp_path, *scripts) as stage:
        await stage.ask("run it")
        await stage.decide("y")
        await stage.until("The server broke.")
        assert stage.runs == (0, 1)
        await stage.pilot.press("r")
        await stage.decide("n")
        await stage.until("Done.")
        assert stage.runs == (0, 1)
        assert stage.results[-1] == "Not run: it was not allowed."


@pytest.mark.parametrize("again", ["/retry", "edit"])
async def test_an_answer_made_anew_asks_again(again: str, tmp_path: Path) -> None:
    scripts = (wants("shell"), says("One."), wants("shell"), says("Two."))
    async with table(tmp_path, *scripts) as stage:
        await stage.ask("run it")
        await stage.decide("y")
        await stage.until("One.")
        if again == "edit":
            await stage.pilot.press("escape", "escape")
            await stage.settle()
            await stage.pilot.press("enter")
        else:
            await stage.ask(again)
        await stage.question()
        assert stage.runs == (0, 1)
        await stage.decide("y")
        await stage.until("Two.")
        assert stage.runs == (0, 2)


async def test_refused_and_asked_for_again_is_asked_about_again(tmp_path: Path) -> None:
    async with table(tmp_path, wants("shell"), wants("shell"), says("Done.")) as stage:
        await stage.ask("run it")
        await stage.decide("n")
        await stage.decide("y")
        await stage.until("Done.")
        assert stage.runs == (0, 1)
        assert stage.results == ["Not run: it was not allowed.", "done"]
        rows = [line for line in stage.screen_text.split("\n") if "⚙" in line]
        assert ["denied" in row for row in rows] == [True, False]


async def test_allowed_for_the_chat_is_one_tool_and_no_other_chat(tmp_path: Path) -> None:
    scripts = (wants("clock"), wants("clock", "shell"), says("One."), wants("clock"), says("Two."))
    async with table(tmp_path, *scripts) as stage:
        await stage.ask("go")
        await stage.decide("a")
        assert (await stage.question())._tool == "shell"
        assert stage.runs == (2, 0)
        await stage.decide("n")
        await stage.until("One.")
        await stage.pilot.press("ctrl+n")
        await stage.settle()
        await stage.ask("go")
        assert (await stage.question())._tool == "clock"
        assert stage.runs == (2, 0)


async def test_a_stop_ends_all_questions(tmp_path: Path) -> None:
    async with table(tmp_path, wants("shell", "clock"), says("Done.")) as stage:
        await stage.ask("go")
        await stage.question()
        stage.chat.action_stop()
        await stage.until("Stopped")
        assert stage.app.screen is stage.chat
        assert stage.runs == (0, 0)
        assert stage.results == ["Stopped by the user."] * 2


async def test_the_app_ends_over_an_open_question_as_over_anything_else(tmp_path: Path) -> None:
    async with table(tmp_path, wants("shell"), says("Done.")) as stage:
        await stage.ask("run it")
        await stage.question()
    assert stage.app._exception is None
    assert stage.runs == (0, 0)
    assert len(stage.provider.requests) == 1


async def test_tools_that_are_gone_are_named_and_not_counted(tmp_path: Path) -> None:
    async with table(tmp_path, says("Hello."), on=("clock", "web_fetch")) as stage:
        assert "tools 1 " in bar(stage)
        runtime = stage.runtime
        assert isinstance(runtime, ScriptedRuntime)
        runtime.histories["old"] = []
        controller = stage.controller
        await controller.history.open("old")  # it had read_file
        await stage.until("no longer available: read_file.")
        assert "tools" not in bar(stage)
