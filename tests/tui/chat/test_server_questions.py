"""Requests of MCP servers on the screen: shown in full, refused by default, answered once."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio
import pytest

from ollm_tui.config.tables.mcp_servers import McpServerSettings
from ollm_tui.frontend import consent
from ollm_tui.mcp.known_tools import KnownTools
from ollm_tui.mcp.listing import ToolDefinition, ToolList
from ollm_tui.mcp.requests import (
    AddressRequest,
    ClientSide,
    FormRequest,
    SamplingAnswer,
    SamplingRequest,
)
from ollm_tui.mcp.server import McpServer
from ollm_tui.mcp.tool import McpTool
from ollm_tui.protocol.forms import FieldOption, FormField
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.tui.chat.server_questions import ServerQuestions
from ollm_tui.tui.dialogs.approve_request import ApproveRequest
from ollm_tui.tui.dialogs.approve_tool import ApproveTool
from tests.mcp.test_reading import SCOPE
from tests.tui.chat.test_servers import with_server
from tests.tui.screens import RealStage, Stage, staged
from tests.tui.svg import SvgSnapshot

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject

SAMPLED = SamplingRequest(
    "weather\u200b",
    (Message("user", "Summarise the report.\u202e\nIt will rain."),),
    200,
    "You are terse.",
    0.2,
)
FORM = FormRequest(
    "weather",
    "Which city\x1b[2J?",
    (
        FormField("city", about="Where you\u200b are.", is_required=True),
        FormField(
            "unit", "choice", options=(FieldOption("c", "Celsius"), FieldOption("f", "Fahrenheit"))
        ),
        FormField("daily", "boolean", default=True),
    ),
)
PAGE = AddressRequest("weather", "Sign in.", "http://bank.example@\u0430pple.example:8443/login")


@pytest.fixture(autouse=True)
def answers_count_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consent, "ARMED_AFTER_S", 0.0)
    monkeypatch.setattr(consent, "HELD_S", 0.0)


class Answers:
    """Requests as a server sends them, in front of the app."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.asked: list[tuple[str, SamplingRequest]] = []
        self.results: list[Any] = []
        self.shown = ""
        client = ClientSide(complete=self._complete)
        controller = stage.controller
        self.questions = ServerQuestions(
            controller.session,
            client,
            controller._parts.services.approver,
            stage.opener,
            controller.say,
        )

    async def _complete(self, model: str, request: SamplingRequest) -> SamplingAnswer:
        self.asked.append((model, request))
        return SamplingAnswer("Rain.", model)

    async def run(self, work: Callable[[], Awaitable[Any]]) -> None:
        self.results.append(await work())

    async def dialog(self, title: str, *, reads: bool = True) -> ApproveRequest:
        with anyio.fail_after(10):
            while not (
                isinstance(self.stage.app.screen, ApproveRequest)
                and title in self.stage.screen_text
            ):
                await self.stage.pilot.pause()
        dialog = self.stage.app.screen
        assert isinstance(dialog, ApproveRequest)
        await self.stage.settle()
        dialog._arming._armed_at = 0.0
        dialog._say_when_armed()
        self.shown = self.stage.screen_text
        with anyio.fail_after(10):
            while reads and not dialog.may_consent:
                await self.stage.pilot.press("pagedown")
                await self.stage.settle()
                self.shown += self.stage.screen_text
        await self.stage.settle()
        return dialog


@asynccontextmanager
async def asking(
    folder: Path, ask: Callable[[ServerQuestions], Awaitable[Any]]
) -> AsyncIterator[Answers]:
    async with staged(folder / "config.toml") as stage:
        answers = Answers(stage)
        async with anyio.create_task_group() as group:
            group.start_soon(answers.run, lambda: ask(answers.questions))
            yield answers
            with anyio.fail_after(10):
                while not answers.results:
                    await stage.pilot.pause()
            group.cancel_scope.cancel()


async def test_a_sampling_request_is_asked_about_and_so_is_its_answer(tmp_path: Path) -> None:
    async with asking(tmp_path, lambda one: one.sample(SAMPLED)) as answers:
        await answers.dialog("Let your model answer the MCP server weather⟦U+200B⟧?")
        model = str(answers.stage.controller.session.model)
        for words in (model, "at most 200 tokens · temperature 0.2", "You are terse.", "⟦U+202E⟧"):
            assert words in answers.shown
        assert answers.asked == []
        await answers.stage.pilot.press("y")
        await answers.dialog("Send this answer to the MCP server")
        assert answers.asked == [(model, SAMPLED)]
        assert "Rain." in answers.stage.screen_text
        await answers.stage.pilot.press("y")
    assert answers.results == [SamplingAnswer("Rain.", model)]


@pytest.mark.parametrize("key", ["n", "escape"])
async def test_a_refused_request_asks_no_model(tmp_path: Path, key: str) -> None:
    async with asking(tmp_path, lambda one: one.sample(SAMPLED)) as answers:
        await answers.dialog("Let your model answer")
        await answers.stage.pilot.press("a", "enter", key)
    assert (answers.results, answers.asked) == ([None], [])


async def test_a_refused_answer_is_not_handed_over(tmp_path: Path) -> None:
    async with asking(tmp_path, lambda one: one.sample(SAMPLED)) as answers:
        await answers.dialog("Let your model answer")
        await answers.stage.pilot.press("y")
        await answers.dialog("Send this answer")
        await answers.stage.pilot.press("n")
    assert answers.results == [None]


async def test_a_form_is_filled_field_by_field_and_sent_after_a_last_look(tmp_path: Path) -> None:
    async with asking(tmp_path, lambda one: one.fill(FORM)) as answers:
        stage = answers.stage
        await answers.dialog("The MCP server weather asks you something.")
        assert "Which city⟦U+001B⟧[2J?" in answers.shown
        await stage.pilot.press("y")
        await until(stage, "For the MCP server weather · 1 of 3", "Where you⟦U+200B⟧ are.")
        await stage.pilot.press("enter")
        await until(stage, "A value is required.")
        await stage.pilot.press(*"Oslo", "enter")
        await until(stage, "2 of 3", "Fahrenheit")
        await stage.pilot.press("down", "enter")
        await until(stage, "3 of 3", "leave it out")
        await stage.pilot.press("enter")
        await answers.dialog("Send this to the MCP server weather?")
        for words in ("▌ Oslo", "▌ f", "▌ yes"):
            assert words in answers.shown
        await stage.pilot.press("y")
    assert answers.results == [("accept", {"city": "Oslo", "unit": "f", "daily": True})]


@pytest.mark.parametrize(("key", "action"), [("n", "decline"), ("escape", "cancel")])
async def test_a_form_is_declined_or_closed(tmp_path: Path, key: str, action: str) -> None:
    async with asking(tmp_path, lambda one: one.fill(FORM)) as answers:
        await answers.dialog("asks you something")
        await answers.stage.pilot.press(key)
    assert answers.results == [(action, {})]


async def test_a_form_that_is_left_sends_nothing(tmp_path: Path) -> None:
    async with asking(tmp_path, lambda one: one.fill(FORM)) as answers:
        await answers.dialog("asks you something")
        await answers.stage.pilot.press("y")
        await until(answers.stage, "1 of 3")
        await answers.stage.pilot.press("escape")
    assert answers.results == [("cancel", {})]


async def test_a_page_is_shown_with_its_real_host_and_opened_after_a_yes(tmp_path: Path) -> None:
    async with asking(tmp_path, lambda one: one.open_page(PAGE)) as answers:
        await answers.dialog("wants you to open a page")
        for words in ("xn--pple-43d.example:8443", "look-alike", "bank.example", "not encrypted"):
            assert words in answers.shown
        assert answers.stage.opener.opened == []
        await answers.stage.pilot.press("y")
    assert answers.results == ["accept"]
    assert len(answers.stage.opener.opened) == 1


async def test_an_address_that_is_no_page_is_declined_with_a_sentence(tmp_path: Path) -> None:
    page = AddressRequest("weather", "", "file:///etc/passwd")
    async with asking(tmp_path, lambda one: one.open_page(page)) as answers:
        await until(answers.stage, "wanted a page opened", "Only http, https")
    assert answers.results == ["decline"]
    assert answers.stage.opener.opened == []


async def test_a_request_that_is_cancelled_closes_its_question(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        answers = Answers(stage)
        async with anyio.create_task_group() as group:
            group.start_soon(answers.run, lambda: answers.questions.fill(FORM))
            await answers.dialog("asks you something")
            await stage.pilot.press("y")
            await until(stage, "1 of 3")
            group.cancel_scope.cancel()
        await stage.settle()
        assert stage.app.screen is stage.chat
        assert answers.results == []


async def until(stage: Stage, *words: str) -> None:
    with anyio.fail_after(10):
        while not all(word in stage.screen_text for word in words):
            await stage.pilot.pause()


async def test_a_server_that_asks_in_a_call_is_answered_in_the_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with with_server(tmp_path, "requests", "elicitation = true\n", "s2") as stage:
        assert stage.runtime.mcp is not None
        server = stage.runtime.mcp.all["box"]
        outputs: list[str] = []

        async def call() -> None:
            outputs.append((await server.call(server.listed.tools[0], {"text": "hi"})).content)

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await press(stage, "The MCP server box asks you something.", "y")
            await stage.until("For the MCP server box · 1 of 2")
            await stage.pilot.press("down", "enter")
            await stage.until("2 of 2")
            await stage.pilot.press("enter")
            await press(stage, "Send this to the MCP server box?", "y")
        assert outputs == ["hi"]
    lines = (tmp_path / "record").read_text().splitlines()
    answers = [json.loads(line) for line in lines if '"id":"s2"' in line]
    assert answers[0]["result"] == {"action": "accept", "content": {"colour": "blue"}}


async def press(stage: RealStage, title: str, key: str) -> None:
    await stage.until(title, test=lambda: isinstance(stage.app.screen, ApproveTool))
    dialog = cast("ApproveTool", stage.app.screen)
    await stage.pilot.pause()
    dialog._arming._armed_at = 0.0
    dialog._say_when_armed()
    while not dialog.may_consent:
        await stage.pilot.press("pagedown")
    await stage.pilot.press(key)


ASKS: Mapping[str, Callable[[ServerQuestions], Awaitable[Any]]] = {
    "sampling": lambda one: one.sample(SAMPLED),
    "form": lambda one: one.fill(FORM),
    "page": lambda one: one.open_page(PAGE),
}


@pytest.mark.parametrize("kind", ASKS)
async def test_it_looks_as_drawn(kind: str, tmp_path: Path, svg_snapshot: SvgSnapshot) -> None:
    async with asking(tmp_path, ASKS[kind]) as answers:
        await answers.dialog("MCP server", reads=False)
        svg_snapshot(answers.stage.app)
        await answers.stage.pilot.press("escape")


async def test_the_fields_of_a_form_look_as_drawn(
    tmp_path: Path, svg_snapshot: SvgSnapshot
) -> None:
    async with asking(tmp_path, lambda one: one.fill(FORM)) as answers:
        stage = answers.stage
        await answers.dialog("The MCP server weather asks you something.")
        await stage.pilot.press("y")
        await until(stage, "1 of 3")
        await stage.pilot.press("enter")
        await until(stage, "A value is required.")
        await stage.settle()
        svg_snapshot(stage.app)
        await stage.pilot.press(*"Oslo", "enter")
        await until(stage, "2 of 3")
        await stage.settle()
        svg_snapshot(stage.app)
        await stage.pilot.press("enter")
        await until(stage, "3 of 3")
        await stage.pilot.press("enter")
        await answers.dialog("Send this to the MCP server weather?")
        svg_snapshot(stage.app)
        await stage.pilot.press("escape")


async def test_the_question_for_a_tool_looks_as_drawn(
    tmp_path: Path, svg_snapshot: SvgSnapshot
) -> None:
    schema: JsonObject = {"type": "object", "properties": {"zone": {"type": "string"}}}
    definition = ToolDefinition("now", "Tell the time.\u200b", schema)
    server = McpServer("time", "time", McpServerSettings(command="x"))
    server.listed = ToolList((definition,))
    server._connection = cast("Any", object())
    tool = McpTool("time__now", server, definition, KnownTools(tmp_path / "known.json"))
    call = await tool.prepare({"zone": "Europe/Oslo"}, SCOPE)
    asked = ToolCall(id="c1", name="time__now", args={"zone": "Europe/Oslo"})
    async with staged(tmp_path / "config.toml") as stage:
        dialog = ApproveTool(asked, call.effect, preview=call.preview)
        stage.app.push_screen(dialog)
        await stage.settle()
        dialog._arming._armed_at = 0.0
        dialog._say_when_armed()
        await stage.settle()
        svg_snapshot(stage.app)
