"""Older messages make room: a summary stands for them or they are left out; nothing is lost."""

import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.compaction import HEADING, CompactionKind
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.summary import SummaryProgress, transcript
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.blocks import ImageContent, TextContent, ThinkingContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.ports import ChatJournal, ProviderStream, StreamingFormat
from ollm_tui.protocol.provider_events import (
    ErrorEvent,
    Finish,
    ProviderEvent,
    TextDelta,
    ThinkingDelta,
)
from ollm_tui.protocol.request import GenerationOptions, Request, Response
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.store import statements
from ollm_tui.store.conversations import ConversationStore, open_store
from ollm_tui.store.rows import MessageRow

Answer = Callable[[Request], Sequence[ProviderEvent | anyio.Event]]


def says(text: str) -> Sequence[ProviderEvent]:
    return [TextDelta(text), Finish("stop")]


@dataclass
class Summarizer:
    """A model with a tokenizer of its own: four letters of a request are one token."""

    window: int = 8192
    summary: Answer = lambda _request: says("They talked about the sky.")
    name: str = "scripted"
    label: str = "Scripted"
    streaming_format: StreamingFormat = "sse"
    summaries: list[Request] = field(default_factory=list)
    prompts: list[Request] = field(default_factory=list)

    async def count_tokens(self, request: Request) -> int:
        texts = [request.system_prompt or "", *(one.text for one in request.conversation)]
        return sum(len(text) for text in texts) // 4 + 4 * len(texts)

    def chat_stream(self, request: Request) -> ProviderStream:
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[AsyncIterator[ProviderEvent]]:
        assert await self.count_tokens(request) <= self.window
        is_summary = (request.system_prompt or "").startswith("You summarise")
        (self.summaries if is_summary else self.prompts).append(request)
        yield self._events(self.summary(request) if is_summary else says("Yes."), request)

    async def _events(
        self, steps: Sequence[ProviderEvent | anyio.Event], request: Request
    ) -> AsyncIterator[ProviderEvent]:
        for step in steps:
            if isinstance(step, anyio.Event):
                with anyio.CancelScope() as waiting:
                    assert request.signal is not None
                    request.signal.subscribe(waiting.cancel)
                    await step.wait()
                if waiting.cancelled_caught:
                    yield Finish("abort")
                    return
                continue
            yield step

    async def invoke(self, request: Request) -> Response | ProviderStream:
        return self.chat_stream(request)

    def capabilities(self) -> Sequence[ModelCapability]:
        return ()

    async def list_models(self) -> Sequence[ModelInfo]:
        return [ModelInfo(name="m", context=self.window)]


async def client_over(
    provider: Summarizer,
    messages: Sequence[Message] = (),
    *,
    journal: ChatJournal | None = None,
    compacts: CompactionKind | None = None,
    conversation: Conversation | None = None,
) -> ChatClient:
    registry = ProviderRegistry()
    registry.register(provider)
    catalog = ModelCatalog(registry)
    await catalog.refresh()
    parts = ChatParts(router=Router(registry, catalog), compacts=compacts)
    conversation = conversation or Conversation(model="scripted://m")
    conversation.messages += messages
    return ChatClient(parts, conversation, journal=journal)


def talk(turns: int, length: int = 200) -> list[Message]:
    """Give questions with their answers; each pair has about so many tokens."""
    filler = "x" * (2 * length)
    return [
        message
        for number in range(1, turns + 1)
        for message in (
            Message("user", f"Question {number} {filler}"),
            Message("assistant", f"Answer {number} {filler}"),
        )
    ]


async def ask(client: ChatClient, prompt: str) -> list[chat_events.ChatEvent]:
    async with client.chat(prompt) as events:
        return [event async for event in events]


async def test_a_summary_stands_for_all_but_the_newest_turns_and_nothing_goes() -> None:
    provider, before = Summarizer(), talk(20)
    options = GenerationOptions(num_ctx=8192, stop=("Question",), response_format="json")
    conversation = Conversation(model="scripted://m", system_prompt="Be brief.", options=options)
    client = await client_over(provider, before, conversation=conversation)
    proposal = await client.propose_summary("names")
    assert client.conversation.messages == before, "nothing counts before it was accepted"
    [request] = provider.summaries
    assert request.options.num_ctx == 8192, "another window would load the model again"
    assert (request.options.stop, request.options.response_format, request.tools) == (
        None,
        None,
        (),
    )
    assert "Above all, keep: names" in (request.system_prompt or "")
    assert "Question 1 " in request.conversation[0].text
    assert "Question 20 " not in request.conversation[0].text, "it is kept as it is"
    assert proposal.freed > 1000
    await client.compact(proposal)
    after = client.conversation.messages
    assert after[: proposal.position] == before[: proposal.position]
    assert after[proposal.position + 1 :] == before[proposal.position :]
    await ask(client, "And now?")
    [sent] = provider.prompts
    assert sent.system_prompt == "Be brief."
    first, *kept = sent.conversation
    assert first.text.startswith(f"{HEADING}\n\nThey talked about the sky.\n\nQuestion ")
    assert [one.text for one in kept[-3:]] == [before[-2].text, before[-1].text, "And now?"]
    assert "Question 1 " not in str(sent.conversation)
    assert client.conversation.title == before[0].text


@pytest.mark.parametrize("window", [700, 2048, 8192])
async def test_a_chat_longer_than_the_window_is_summarised_in_pieces_that_fit(window: int) -> None:
    seen: list[str] = []

    def summary(request: Request) -> Sequence[ProviderEvent]:
        seen.append(request.conversation[0].text)
        return says(f"Summary {len(seen)}.")

    provider = Summarizer(window=window, summary=summary)
    client = await client_over(provider, talk(90, 300))
    progress = SummaryProgress()
    proposal = await client.propose_summary(progress=progress)
    assert len(provider.summaries) > 1, "and each fitted: the provider looks"
    for number, text in enumerate(seen[1:], 1):
        assert f"Summary {number}." in text, "each goes on from the one before"
    for number in range(1, (proposal.position // 2) + 1):
        assert any(f"Question {number} " in text for text in seen), number
    assert proposal.text == f"Summary {len(seen)}."
    assert (progress.part, progress.share) == (len(seen), 1.0)
    await client.compact(proposal)
    assert isinstance((await ask(client, "And now?"))[-1], chat_events.Finish)


async def test_results_of_tools_are_trimmed_and_thinking_is_left_out() -> None:
    call = ToolCall(id="c1", name="read_file", args={"path": "a.txt"})
    text = transcript(
        [
            Message("user", [TextContent("Look."), ImageContent(url="https://x.test/a.png")]),
            Message("assistant", [ThinkingContent("Hmm, secret.")], tool_calls=[call]),
            Message("tool", "a" * 5000 + "END", name="read_file", tool_call_id="c1"),
            Message("assistant", "It says END."),
        ]
    )
    assert "User: Look.\n[image]" in text
    assert 'Assistant calls read_file: {"path": "a.txt"}' in text
    assert "secret" not in text
    assert text.count("a" * 300) == 1
    assert "END" in text
    assert len(text) < 1000


FAILURES: dict[str, tuple[Sequence[ProviderEvent], str]] = {
    "empty": ([TextDelta("  "), Finish("stop")], "The model wrote an empty summary."),
    "thinking": (
        [ThinkingDelta("Hm."), Finish("stop")],
        "The model wrote only thinking and no summary.",
    ),
    "length": ([TextDelta("They"), Finish("length")], "The summary reached its length limit."),
    "error": (
        [TextDelta("They"), ErrorEvent(AIError(ErrorCode.ENGINE_ERROR, "The engine stopped."))],
        "The engine stopped.",
    ),
}


@pytest.mark.parametrize("kind", FAILURES)
async def test_a_failed_summary_is_one_sentence_with_the_other_way_out(kind: str) -> None:
    steps, sentence = FAILURES[kind]
    provider, before = Summarizer(summary=lambda _request: steps), talk(20)
    client = await client_over(provider, before)
    with pytest.raises(AIError) as raised:
        await client.propose_summary()
    assert raised.value.message == sentence
    assert (raised.value.hint or "").startswith("Leave out the oldest messages instead")
    assert client.conversation.messages == before
    await client.compact(await client.propose_leaving_out())
    assert isinstance((await ask(client, "And now?"))[-1], chat_events.Finish)


async def test_the_oldest_turns_are_left_out_and_the_model_reads_that_they_were() -> None:
    provider, before = Summarizer(window=2000), talk(10)
    client = await client_over(provider, before)
    proposal = await client.propose_leaving_out()
    assert provider.summaries == [], "no model is asked"
    await client.compact(proposal)
    await ask(client, "And now?")
    [sent] = provider.prompts
    number = proposal.position
    assert f"[{number} messages before this were left out to make room.]" in (
        sent.conversation[0].text
    )
    assert 500 < await provider.count_tokens(sent) < 1300


async def test_a_stop_changes_nothing_and_frees_the_chat() -> None:
    held = anyio.Event()
    provider = Summarizer(summary=lambda _request: [TextDelta("They"), held, Finish("stop")])
    client, signal = await client_over(provider, talk(20)), AbortSignal()
    before = [*client.conversation.messages]
    progress = SummaryProgress()

    async def stop() -> None:
        while not progress.text:
            await anyio.lowlevel.checkpoint()
        with pytest.raises(AIError) as busy:
            await ask(client, "Meanwhile?")
        assert busy.value.code == ErrorCode.CONFLICT
        signal.abort()

    async with anyio.create_task_group() as group:
        group.start_soon(stop)
        with pytest.raises(AIError) as raised:
            await client.propose_summary(signal=signal, progress=progress)
    assert raised.value.code == ErrorCode.ABORTED
    assert client.conversation.messages == before
    assert isinstance((await ask(client, "And now?"))[-1], chat_events.Finish)


async def test_what_was_proposed_for_another_state_of_the_chat_is_refused() -> None:
    client = await client_over(Summarizer(), talk(20))
    proposal = await client.propose_leaving_out()
    await ask(client, "And now?")
    with pytest.raises(AIError, match="has changed"):
        await client.compact(proposal)
    short = await client_over(Summarizer(), [Message("user", "Only this?")])
    with pytest.raises(AIError, match="no older messages"):
        await short.propose_summary()


async def test_a_summary_is_summarised_again_with_what_came_since() -> None:
    provider = Summarizer(window=3000)
    client = await client_over(provider, talk(10))
    await client.compact(await client.propose_summary())
    client.conversation.messages += talk(8)
    second = await client.propose_summary()
    assert "They talked about the sky." in provider.summaries[-1].conversation[0].text
    await client.compact(second)
    await ask(client, "And now?")
    assert str(provider.prompts[-1].conversation).count(HEADING) == 1


# By itself, at the limit


@pytest.mark.parametrize("wanted", ["summary", "left_out"])
async def test_room_is_made_by_itself_where_it_is_wanted(wanted: CompactionKind) -> None:
    provider, before = Summarizer(window=2000), talk(9)
    client = await client_over(provider, before, compacts=wanted)
    events = await ask(client, "And now?")
    [compacted] = [one for one in events if isinstance(one, chat_events.Compacted)]
    assert compacted.kind == wanted
    assert compacted.why is None
    assert isinstance(events[-1], chat_events.Finish)
    assert not [one for one in events if isinstance(one, chat_events.ContextWarning)]
    messages = client.conversation.messages
    assert messages[: compacted.position] == before[: compacted.position]
    assert [one.text for one in messages[-2:]] == ["And now?", "Yes."]
    assert [one.text for one in messages].count("And now?") == 1


async def test_where_a_summary_fails_the_messages_are_left_out_and_it_says_why() -> None:
    provider = Summarizer(window=2000, summary=lambda _request: FAILURES["length"][0])
    client = await client_over(provider, talk(9), compacts="summary")
    events = await ask(client, "And now?")
    [compacted] = [one for one in events if isinstance(one, chat_events.Compacted)]
    assert compacted.kind == "left_out"
    assert compacted.message.startswith("The summary reached its length limit. ")
    assert isinstance(events[-1], chat_events.Finish)


async def test_nothing_is_made_shorter_by_itself_unless_it_is_wanted() -> None:
    client = await client_over(Summarizer(window=2000), talk(9))
    events = await ask(client, "And now?")
    assert not [one for one in events if isinstance(one, chat_events.Compacted)]
    blocked = await client_over(Summarizer(window=1000), talk(9))
    [end] = await ask(blocked, "And now?")
    assert isinstance(end, chat_events.ErrorEvent)
    assert end.error.code == ErrorCode.CONTEXT_LENGTH_EXCEEDED


async def test_a_stop_while_room_is_made_ends_the_prompt_and_changes_nothing() -> None:
    held = anyio.Event()
    provider = Summarizer(window=2000, summary=lambda _request: [held])
    client, signal, before = (
        await client_over(provider, talk(9), compacts="summary"),
        AbortSignal(),
        talk(9),
    )
    events = []
    async with client.chat("And now?", signal=signal) as stream:
        async for event in stream:
            events.append(event)
            if isinstance(event, chat_events.PromptProgress):
                assert event.phase == "compacting"
                signal.abort()
    assert isinstance(events[-1], chat_events.Finish)
    assert events[-1].reason == "abort"
    assert client.conversation.messages == [*before, Message("user", "And now?")]


# Saved chats


async def saved(provider: Summarizer, store: ConversationStore, turns: int) -> ChatClient:
    conversation = Conversation(model="scripted://m")
    client = await client_over(
        provider, journal=store.journal(conversation), conversation=conversation
    )
    for number in range(turns):
        await ask(client, f"Question {number} {'x' * 400}")
    return client


async def test_a_saved_chat_keeps_the_old_branch_and_opens_with_the_new_one(tmp_path: Path) -> None:
    async with open_store(tmp_path / "chats.db") as store:
        client = await saved(Summarizer(window=4000), store, 12)
        before = [*client.conversation.messages]
        proposal = await client.propose_summary()
        await client.compact(proposal)
        await ask(client, "And now?")
        journal = client.saving.journal
        assert journal is not None
        [chat] = await store.list()
        fresh = await store.load(chat.id)
        assert fresh.history == client.conversation.messages
        forks = await store.trees.siblings(store.journal(Conversation(), fresh))
        assert list(forks) == [proposal.position]
        [old, new] = forks[proposal.position]
        assert fresh.messages[proposal.position].id == new
        old_branch = await store.load(chat.id, message_id=old)
        assert old_branch.history == before
        record = await store.records.read(chat.id)
        assert record is not None
        models = {one.message.text: one.model for one in record.messages}
        assert models["Yes."] == "scripted://m"


async def test_a_crash_in_the_middle_leaves_the_chat_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    write, rows = statements._write_message, []

    def copied(connection: sqlite3.Connection, row: MessageRow, writer: str) -> None:
        write(connection, row, writer)
        rows.append(row)
        if len(rows) == 2:  # the summary is written, and the first message after it
            for file in tmp_path.glob("chats.db*"):
                shutil.copy(file, crashed)

    async with open_store(tmp_path / "chats.db") as store:
        client = await saved(Summarizer(window=4000), store, 12)
        before = [*client.conversation.messages]
        proposal = await client.propose_summary()
        monkeypatch.setattr(statements, "_write_message", copied)
        await client.compact(proposal)
        monkeypatch.undo()
        assert len(rows) > 2
        [chat] = await store.list()
        assert (await store.load(chat.id)).history == client.conversation.messages
    async with open_store(crashed / "chats.db") as store:
        assert (await store.load(chat.id)).history == before
        assert len(await store.trees.read(chat.id)) == 1
