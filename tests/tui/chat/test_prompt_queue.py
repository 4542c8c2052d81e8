"""One answer at a time: queueing, stopping, ends that are none."""

from typing import TYPE_CHECKING, cast

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.tui.chat.presenter import TurnPresenter
from ollm_tui.tui.chat.prompting import prompt_queue as turns_module
from ollm_tui.tui.chat.prompting.prompt_queue import PromptQueue
from tests.tui.chat.test_presenter import FakeStatus, FakeTranscript
from tests.tui.scripted import ScriptedClient, finish, text

if TYPE_CHECKING:
    from ollm_tui.chat.client import ChatClient


class Stage:
    def __init__(self) -> None:
        self.client = ScriptedClient()
        self.transcript = FakeTranscript()
        self.queue: list[object] = []
        presenter = TurnPresenter(self.transcript, FakeStatus())
        self.turns = PromptQueue(
            presenter, self.queue.append, lambda: cast("ChatClient", self.client)
        )


async def settled() -> None:
    for _turn in range(10):
        await anyio.lowlevel.checkpoint()


async def test_queued_prompts_are_asked_in_order() -> None:
    stage = Stage()
    async with anyio.create_task_group() as group:
        group.start_soon(stage.turns.run, "one")
        await settled()
        stage.turns.enqueue("two")
        stage.turns.enqueue("three")
        for _number in range(3):
            stage.client.answer("yes")
            await settled()
    assert stage.client.prompts == ["one", "two", "three"]
    assert stage.queue == [("two",), ("two", "three"), ("three",), ()]
    assert not stage.turns.is_busy


async def test_stop_works_at_once_and_the_queue_can_be_taken_back() -> None:
    stage = Stage()
    async with anyio.create_task_group() as group:
        group.start_soon(stage.turns.run, "one")
        await settled()
        stage.client.give(text("par"))
        await settled()
        stage.turns.enqueue("two")
        assert stage.turns.take_back() == "two"
        stage.turns.stop()
        assert ("stopped", "Stopped", None) in stage.transcript.notes
        assert not stage.turns.is_running
    assert stage.client.prompts == ["one"]
    assert not stage.turns.is_busy


async def test_a_client_that_does_not_stop_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns_module, "STOP_GRACE_S", 0.0)
    stage = Stage()
    stage.client.hangs_on_abort = True
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(stage.turns.run, "one")
            await settled()
            assert stage.turns.is_running
            stage.turns.stop()
    assert not stage.turns.is_busy


async def test_an_answer_whose_end_is_shown_is_not_running_while_it_closes() -> None:
    stage = Stage()
    async with anyio.create_task_group() as group:
        group.start_soon(stage.turns.run, "one")
        await settled()
        stage.client.give(text("yes"))
        await settled()
        assert stage.turns.is_running
        stage.client.give(finish(), closes=False)
        await settled()
        assert stage.turns.is_busy
        assert not stage.turns.is_running
        assert not stage.turns.can_stop
        stage.client.hang_up()
    assert "Stopped" not in str(stage.transcript.notes)
    assert not stage.turns.is_busy


async def test_a_second_stop_does_nothing() -> None:
    stage = Stage()
    stage.turns.stop()
    async with anyio.create_task_group() as group:
        group.start_soon(stage.turns.run, "one")
        await settled()
        for _press in range(50):
            stage.turns.stop()
    assert len(stage.transcript.notes) == 1


async def test_an_error_is_remembered_until_the_next_answer() -> None:
    stage = Stage()
    async with anyio.create_task_group() as group:
        group.start_soon(stage.turns.run, "one")
        await settled()
        stage.client.fail(AIError(ErrorCode.INTERNAL_ERROR, "Broken."))
        await settled()
        assert stage.turns.failed
        group.start_soon(stage.turns.run, None)
        await settled()
        stage.client.give(text("fine"), finish())
    assert not stage.turns.failed
    assert stage.client.prompts == ["one", None]


async def test_a_stream_without_an_end_is_an_error() -> None:
    stage = Stage()
    async with anyio.create_task_group() as group:
        group.start_soon(stage.turns.run, "one")
        await settled()
        stage.client.give(text("par"))
        stage.client.hang_up()
    assert stage.turns.failed
    assert "without an end marker" in str(stage.transcript.notes[-1])
