"""A chat is in the journal as it happens, and a journal that fails does not end it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel
import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.saving import pause_after
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import ProviderStream
from ollm_tui.protocol.provider_events import Finish, TextDelta
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from tests.support.providers import ScriptedProvider


@dataclass
class ListJournal:
    """Writes into a list; fails while `failure` is set."""

    steps: list[tuple[str, str]] = field(default_factory=list)
    failure: AIError | None = None

    def _write(self, step: str, message: Message) -> None:
        if self.failure is not None:
            raise self.failure
        self.steps.append((step, message.text))

    async def begin(self, message: Message) -> str:
        self._write("begin", message)
        return str(len(self.steps))

    async def update(self, message_id: str, message: Message) -> None:
        self._write(f"update {message_id}", message)

    async def finish(self, message_id: str, message: Message) -> None:
        self._write(f"finish {message_id}", message)

    async def branch(self, kept: int, messages: Sequence[Message]) -> None:
        for message in messages:
            self._write(f"branch {kept}", message)

    def rewind(self, kept: int) -> None:
        self.steps.append(("rewind", str(kept)))


def client_over(provider: ScriptedProvider, journal: ListJournal) -> ChatClient:
    registry = ProviderRegistry()
    registry.register(provider)
    parts = ChatParts(router=Router(registry, ModelCatalog(registry)))
    return ChatClient(parts, Conversation(model="scripted://m"), journal=journal)


class SlowJournal(ListJournal):
    """Has a message on its disk some turns of the event loop later."""

    async def begin(self, message: Message) -> str:
        for _ in range(50):
            await anyio.lowlevel.checkpoint()
        return await super().begin(message)


@pytest.mark.parametrize("journal", [ListJournal(), SlowJournal()], ids=["at once", "slowly"])
async def test_the_question_is_safe_before_it_is_sent(journal: ListJournal) -> None:
    class Looking(ScriptedProvider):
        def chat_stream(self, request: Request) -> ProviderStream:
            assert journal.steps == [("begin", "hi")]
            return super().chat_stream(request)

    provider = Looking(script=[TextDelta("Hel"), TextDelta("lo"), Finish("stop")])
    async with client_over(provider, journal).chat("hi") as events:
        assert [type(e).__name__ async for e in events][-1] == "Finish"
    assert journal.steps[0] == ("begin", "hi")
    assert journal.steps[1][0] == "begin"
    assert journal.steps[-1] == ("finish 2", "Hello")


async def test_a_question_is_safe_although_there_is_no_such_model() -> None:
    journal = SlowJournal()
    client = client_over(ScriptedProvider(script=[]), journal)
    client.conversation.model = "nowhere://m"
    async with client.chat("hi") as events:
        assert [type(event).__name__ async for event in events] == ["ErrorEvent"]
    assert journal.steps == [("begin", "hi")]


@pytest.mark.parametrize("by_signal", [True, False])
async def test_a_stopped_answer_is_finished_in_the_journal(by_signal: bool) -> None:
    journal, signal = ListJournal(), AbortSignal()
    provider = ScriptedProvider(script=[TextDelta("partial"), anyio.Event(), Finish("stop")])
    async with client_over(provider, journal).chat("hi", signal=signal) as events:
        async for _event in events:
            if not by_signal:
                break
            signal.abort()
    assert journal.steps[-1] == ("finish 2", "partial")


async def test_a_full_disk_does_not_end_the_chat_and_is_reported() -> None:
    journal = ListJournal(failure=AIError(ErrorCode.INTERNAL_ERROR, "Not saved: disk full."))
    client = client_over(ScriptedProvider(script=[TextDelta("ok"), Finish("stop")]), journal)
    async with client.chat("hi") as events:
        assert [e async for e in events][-1] == chat_events.Finish(reason="stop")
    assert client.saving.problem == AIError(ErrorCode.INTERNAL_ERROR, "Not saved: disk full.")
    journal.failure = None
    async with client.chat("again") as events:
        assert [e async for e in events][-1] == chat_events.Finish(reason="stop")
    assert client.saving.problem is None


async def test_an_answer_that_could_never_be_begun_is_finished_all_the_same() -> None:
    tried: list[str] = []

    class Full(ListJournal):
        async def begin(self, message: Message) -> str:
            tried.append(f"begin {message.role}")
            raise AIError(ErrorCode.INTERNAL_ERROR, "Not saved: disk full.")

        async def finish(self, message_id: str, message: Message) -> None:
            tried.append(f"finish {message_id!r} {message.text}")
            await super().finish(message_id, message)

    journal = Full()
    client = client_over(ScriptedProvider(script=[TextDelta("ok"), Finish("stop")]), journal)
    async with client.chat("hi") as events:
        assert [e async for e in events][-1] == chat_events.Finish(reason="stop")
    assert tried[0] == "begin user"
    assert tried[-1] == "finish '' ok"


async def test_a_fault_of_the_journal_while_an_answer_comes_is_the_one_closing_event() -> None:
    class Faulty(ListJournal):
        async def begin(self, message: Message) -> str:
            if message.role == "assistant":
                raise ValueError("no such column")
            return await super().begin(message)

    provider = ScriptedProvider(script=[TextDelta("ok"), anyio.Event(), Finish("stop")])
    client = client_over(provider, Faulty())
    with anyio.fail_after(5):
        async with client.chat("hi") as events:
            seen = [event async for event in events]
    assert isinstance(seen[-1], chat_events.ErrorEvent)
    assert seen[-1].error.code == ErrorCode.INTERNAL_ERROR
    assert provider.open_streams == 0


async def test_asking_again_goes_back_in_the_journal_to_the_question() -> None:
    journal = ListJournal()
    client = client_over(ScriptedProvider(script=[TextDelta("ok"), Finish("stop")]), journal)
    async with client.chat("hi") as events:
        assert [e async for e in events]
    async with client.retry() as events:
        assert [e async for e in events]
    at = journal.steps.index(("rewind", "1"))
    assert journal.steps[at + 1] == ("begin", "ok")


async def test_going_back_goes_back_in_the_journal_before_the_next_question() -> None:
    journal = ListJournal()
    client = client_over(ScriptedProvider(script=[TextDelta("ok"), Finish("stop")]), journal)
    for question in ("one", "two"):
        async with client.chat(question) as events:
            assert [e async for e in events]
    client.rewind(2)
    async with client.chat("three") as events:
        assert [e async for e in events]
    at = journal.steps.index(("rewind", "2"))
    assert journal.steps[at + 1] == ("begin", "three")


async def test_what_came_before_a_stall_is_handed_over() -> None:
    journal, gate = ListJournal(), anyio.Event()
    provider = ScriptedProvider(
        script=[TextDelta("one "), TextDelta("two "), TextDelta("three"), gate, Finish("stop")]
    )
    with anyio.fail_after(5):
        async with client_over(provider, journal).chat("hi") as events:
            async for _event in events:
                while not any("three" in text for _step, text in journal.steps):
                    await anyio.lowlevel.checkpoint()
                break
    assert journal.steps[-1] == ("finish 2", "one two three")


@pytest.mark.parametrize("size", [1, 50_000, 400_000])
def test_an_answer_of_ordinary_length_is_handed_over_ten_times_a_second(size: int) -> None:
    assert pause_after(size) == 0.1


@pytest.mark.parametrize("size", [1_000_000, 10_000_000, 10**9])
def test_what_a_long_answer_costs_in_a_second_does_not_grow_with_it(size: int) -> None:
    assert size / pause_after(size) == pytest.approx(4_000_000)


async def some_turns() -> None:
    """Let the loop turn, in far less time than any pause takes."""
    for _ in range(50):
        await anyio.lowlevel.checkpoint()


async def test_the_first_words_of_each_answer_are_begun_when_they_come() -> None:
    journal = ListJournal()
    provider = ScriptedProvider()
    client = client_over(provider, journal)
    for _ in range(3):
        first, second = anyio.Event(), anyio.Event()
        provider.script = [first, TextDelta("one"), second, TextDelta(" two"), Finish("stop")]
        journal.steps.clear()
        async with client.chat("hi") as events:
            await some_turns()
            first.set()
            async for event in events:
                if isinstance(event, chat_events.TextDelta):
                    await some_turns()
                    assert [step for step, _ in journal.steps] == ["begin", "begin"]
                    second.set()
                    break
            assert isinstance([event async for event in events][-1], chat_events.Finish)
