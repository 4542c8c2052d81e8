"""Making room: a summary or leaving messages out, shown before it counts, kept as a branch."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.widgets import TextArea

from ollm_tui.config.flags import Flags
from ollm_tui.protocol.message import is_compaction
from ollm_tui.tui.chat.compacting.context import ContextFull
from ollm_tui.tui.chat.compacting.dialogs import CompactionQuestion, EditSummary, SummaryWriting
from ollm_tui.tui.dialogs import Passage
from tests.support.fake_ollama import Json, OllamaServer
from tests.support.http_server import Received, Reply, serve
from tests.tui.chat.test_chat_tree import LEFT, RIGHT, ask, press, settled, texts
from tests.tui.screens import RealStage, staged, staged_for_real
from tests.tui.scripted import ScriptedRuntime
from tests.tui.svg import SIZES, SvgSnapshot


class Summarizing(OllamaServer):
    """Answers a request for a summary with this prompt's script."""

    def __init__(self, script: str) -> None:
        super().__init__()
        self.script = script
        self.asked: list[list[dict[str, str]]] = []

    async def chat(self, name: str, body: Json, reply: Reply) -> object:
        messages = body.get("messages")
        if isinstance(messages, list) and messages:
            self.asked.append(messages)
            if messages[0]["content"].startswith("You summarise"):
                body = {**body, "messages": [{"role": "user", "content": self.script}]}
        return await super().chat(name, body, reply)


@asynccontextmanager
async def chatting(
    folder: Path, script: str = "echo They counted.", *, go_on: bool = False, settings: str = ""
) -> AsyncIterator[tuple[RealStage, Summarizing]]:
    server = Summarizing(script)

    async def handle(request: Received, reply: Reply) -> None:
        await server(request, reply)

    (folder / "config").mkdir(exist_ok=True)
    (folder / "config" / "config.toml").write_text(settings, encoding="utf-8")
    async with serve(handle) as served:
        environ, flags = {"OLLAMA_HOST": served.url}, Flags(model="local://tiny")
        flags = Flags(goes_on=True) if go_on else flags
        async with staged_for_real(folder, environ, flags) as stage:
            yield stage, server


async def question(stage: RealStage) -> CompactionQuestion:
    """Wait for the question, and for it to listen."""
    await stage.until(test=lambda: isinstance(stage.app.screen, CompactionQuestion))
    dialog = stage.app.screen
    assert isinstance(dialog, CompactionQuestion)
    await stage.until(test=lambda: dialog.is_read)
    dialog._arming._armed_at = 0.0
    return dialog


async def three_questions(stage: RealStage, more: str = "") -> None:
    for word in ("one", "two", "three"):
        await ask(stage, f"echo {word}{more}")


async def test_a_summary_is_read_first_and_the_old_branch_can_be_walked_back_to(
    tmp_path: Path,
) -> None:
    async with chatting(tmp_path) as (stage, server):
        await three_questions(stage)
        before = texts(stage)
        await stage.send("/compact the numbers")
        await question(stage)
        for words in ("Use this summary?", "They counted.", "The oldest 4 messages are no longer"):
            assert words in stage.screen_text
        assert "Above all, keep: the numbers" in server.asked[-1][0]["content"]
        assert texts(stage) == before, "nothing counts yet"
        await stage.pilot.press("y")
        await settled(stage, lambda: len(texts(stage)) == 7)
        await stage.until("summary of the 4 messages above", f"{LEFT}2/2{RIGHT}")
        await ask(stage, "echo four")
        sent = [message["content"] for message in server.asked[-1]]
        assert sent[0].endswith("They counted.\n\necho three")
        assert sent[1:] == ["three", "echo four"]
    async with chatting(tmp_path, go_on=True) as (stage, _server):
        await stage.until("summary of the 4 messages above", "echo four")
        stage.chat.transcript.cursor_mode.put_on(stage.controller.messages.block_of(4) or "")
        stage.chat.set_focus(stage.chat.transcript)
        await press(stage, "left")
        await stage.until(f"{LEFT}1/2{RIGHT}")
        assert texts(stage) == before


async def test_a_summary_is_changed_or_refused(tmp_path: Path) -> None:
    async with chatting(tmp_path) as (stage, _server):
        await three_questions(stage)
        before = texts(stage)
        await stage.send("/compact")
        await question(stage)
        await stage.pilot.press("n")
        await settled(stage)
        assert texts(stage) == before
        await stage.send("/compact")
        await question(stage)
        await stage.pilot.press("e")
        await stage.until(test=lambda: isinstance(stage.app.screen, EditSummary))
        stage.app.screen.query_one(TextArea).insert(" Or not.")
        await stage.pilot.press("enter")
        await question(stage)
        await stage.pilot.press("y")
        await settled(stage, lambda: len(texts(stage)) == 7)
        assert texts(stage)[4].endswith("They counted. Or not.")


async def test_where_the_model_fails_the_oldest_messages_can_be_left_out(tmp_path: Path) -> None:
    async with chatting(tmp_path, "echo") as (stage, _server):
        await three_questions(stage)
        await stage.send("/compact")
        await question(stage)
        assert "The model wrote an empty summary." in stage.screen_text
        await stage.pilot.press("l")
        await stage.until("Leave these messages out?", "You: echo one")
        await question(stage)
        await stage.pilot.press("y")
        await settled(stage, lambda: len(texts(stage)) == 7)
        await stage.until("The 4 messages above are no longer sent.")
        assert texts(stage)[4] == "[4 messages before this were left out to make room.]"


async def test_esc_stops_the_summary_at_once_and_changes_nothing(tmp_path: Path) -> None:
    async with chatting(tmp_path, "stall") as (stage, _server):
        await three_questions(stage)
        before = texts(stage)
        await stage.send("/compact")
        await stage.until(test=lambda: isinstance(stage.app.screen, SummaryWriting))
        await stage.until("Summarising the older messages")
        await stage.pilot.press("escape")
        await settled(stage)
        await stage.until("Stopped. The chat is as it was.")
        assert texts(stage) == before
        await ask(stage, "echo four")
        assert texts(stage)[-1] == "four"


async def test_at_the_limit_it_is_offered_and_the_prompt_is_asked_again(tmp_path: Path) -> None:
    settings = '[models."local://tiny:latest"]\ncontext = 500\n'
    async with chatting(tmp_path, settings=settings) as (stage, server):
        await three_questions(stage, f" {'y' * 160}")
        await ask(stage, "echo " + "number " * 150)
        await stage.until("make room")
        await stage.pilot.press("f6")
        await stage.until("c  Summarise the older messages", "l  Leave out the oldest messages")
        dialog = stage.app.screen
        assert isinstance(dialog, ContextFull)
        dialog._arming._armed_at = 0.0
        await stage.pilot.press("c")
        await question(stage)
        await stage.pilot.press("y")
        await settled(stage, lambda: texts(stage)[-1].startswith("number number"))
        assert "They counted." in json.dumps(server.asked[-1])


async def test_room_is_made_by_itself_with_one_line_where_that_is_switched_on(
    tmp_path: Path,
) -> None:
    settings = '[chat]\nmake_room = "summarise"\n[models."local://tiny:latest"]\ncontext = 500\n'
    async with chatting(tmp_path, settings=settings) as (stage, server):
        await three_questions(stage, f" {'y' * 160}")
        await ask(stage, "echo " + "number " * 150)
        await settled(stage, lambda: texts(stage)[-1].startswith("number number"))
        await stage.until("6 earlier messages were summarised to make room.")
        assert "They counted." in json.dumps(server.asked[-1])
        await stage.until("▸ summary of 6 earlier messages, which the model reads instead")
        shown, transcript = stage.controller.messages, stage.chat.transcript
        folded = transcript.block_list.block("summary-0")
        assert "They counted." in folded.source.text
        messages = stage.controller.session.client.conversation.messages
        assert is_compaction(messages[shown.position_of(folded.id) or 0])
        answer = shown.block_of(len(messages) - 1)
        assert answer is not None
        assert transcript.block_list.block(answer).kind == "answer"
        await ask(stage, "echo five")
        assert (
            stage.controller.messages.position_of(
                next(reversed(stage.controller.presenter.questions))
            )
            == len(texts(stage)) - 2
        )


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_it_looks_as_drawn(
    size: tuple[int, int], svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    async with staged(tmp_path / "config.toml", ScriptedRuntime(), size=size) as stage:
        summary = "They looked for a colour of the sky at noon, and for one at dusk. " * 4
        dialog = CompactionQuestion(
            "Use this summary?",
            "The oldest 24 messages are no longer sent; they have about 6,100 tokens. The summary "
            "takes 310. The newest 4 messages stay as before.\n"
            "The whole chat is kept: /tree shows it.",
            Passage("Summary", summary),
            (("y", "use it"), ("e", "edit"), ("r", "write another"), ("l", "leave out instead")),
        )
        stage.app.push_screen(dialog)
        await stage.settle()
        dialog._arming._armed_at = 0.0
        dialog._say_when_armed()
        await stage.settle()
        svg_snapshot(stage.app)
