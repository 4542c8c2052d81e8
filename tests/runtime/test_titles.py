"""Titles that a model makes: when one is wanted, what is asked, and what is taken as one."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt_run import PromptRun
from ollm_tui.models.thinking import ThinkingSupport
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message, Timings, Usage
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, ProviderEvent, TextDelta
from ollm_tui.protocol.request import GenerationOptions
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.runtime.saved.titles import MAX_LENGTH, ChatTitles, title_from
from ollm_tui.store.conversations import ConversationStore, open_store
from tests.support.providers import ScriptedProvider

FAST = Timings(first_token_s=0.3, tokens_per_s=40.0)
FEW = Usage(prompt_tokens=20, completion_tokens=30, total_tokens=50)


@dataclass
class Stage:
    """A saved chat with a question and its answer, and what makes its title."""

    store: ConversationStore
    client: ChatClient
    provider: ScriptedProvider
    support: ThinkingSupport | None = None
    titles: ChatTitles = field(init=False)

    def __post_init__(self) -> None:
        self.titles = ChatTitles(self.store, self.unsaved, self.thinking_of, is_on=True)

    def unsaved(self, conversation: Conversation) -> ChatClient:
        return ChatClient(self.client._parts, conversation)

    async def thinking_of(self, _model: str) -> ThinkingSupport | None:
        return self.support

    def says(self, *events: ProviderEvent | anyio.Event | Exception) -> None:
        self.provider.script = events

    def is_wanted(self, timings: Timings | None = FAST, usage: Usage | None = FEW) -> bool:
        return self.titles.is_wanted(self.client, timings, usage)

    async def make(self, signal: AbortSignal | None = None) -> str | None:
        return await self.titles.make(self.client, signal or AbortSignal())

    async def saved_title(self) -> str:
        return (await self.store.list())[0].title


@asynccontextmanager
async def answered(
    folder: Path, *, saved: bool = True, answer: Sequence[ProviderEvent] = ()
) -> AsyncIterator[Stage]:
    provider = ScriptedProvider()
    registry = ProviderRegistry()
    registry.register(provider)
    parts = ChatParts(router=Router(registry, ModelCatalog(registry)))
    async with open_store(folder / "chats.db") as store:
        conversation = Conversation(
            model="scripted://m",
            system_prompt="Be brief.",
            tools=("clock",),
            options=GenerationOptions(temperature=0.2, num_ctx=8192, stop=("x",)),
        )
        journal = store.journal(conversation) if saved else None
        client = ChatClient(parts, conversation, journal=journal)
        stage = Stage(store, client, provider)
        stage.says(*(answer or (TextDelta("Short waves scatter."), Finish("stop"))))
        async with client.chat("Why is the sky blue?") as events:
            async for _event in events:
                pass
        provider.requests.clear()
        yield stage


async def test_a_title_is_made_by_the_model_and_saved(tmp_path: Path) -> None:
    async with answered(tmp_path) as stage:
        assert stage.is_wanted()
        stage.says(TextDelta('**"Blue '), TextDelta('sky."**\n\nMore'), Finish("stop"))
        assert await stage.make() == "Blue sky"
        assert stage.client.conversation.title == "Blue sky"
        assert await stage.saved_title() == "Blue sky"
        assert not stage.is_wanted()
        [request] = stage.provider.requests
        assert [message.role for message in request.messages or ()] == ["user", "assistant", "user"]
        assert request.system_prompt == "Be brief."
        assert request.options.num_ctx == 8192  # the model is not loaded anew
        assert request.options.stop is None
        assert (request.options.max_tokens or 999) < 100
        assert not request.tools
        assert len(stage.client.conversation.messages) == 2


async def test_a_persons_title_is_never_replaced(tmp_path: Path) -> None:
    async with answered(tmp_path) as stage:
        stage.says(TextDelta("Blue sky"), Finish("stop"))
        chat = (await stage.store.list())[0].id
        await stage.store.rename(chat, "Mine")
        assert await stage.make() is None
        assert await stage.saved_title() == "Mine"
        stage.client.conversation.own_title = "Mine"
        assert not stage.is_wanted()


def _own_title(stage: Stage) -> None:
    stage.client.conversation.own_title = "Mine"


def _stopped(stage: Stage) -> None:
    stage.client.conversation.messages[-1] = Message("assistant", "x", metadata={"ended": "failed"})


def _many(stage: Stage) -> None:
    stage.client.conversation.messages[:0] = [Message("user", "more")] * 3


def _off(stage: Stage) -> None:
    stage.titles = ChatTitles(stage.store, stage.unsaved, stage.thinking_of, is_on=False)


def _without_model(stage: Stage) -> None:
    stage.client.conversation.model = None


def _other_model(stage: Stage) -> None:
    stage.client.conversation.model = "scripted://other"


@pytest.mark.parametrize(
    "change", [_own_title, _stopped, _many, _off, _without_model, _other_model]
)
async def test_no_title_is_wanted(tmp_path: Path, change: Callable[[Stage], None]) -> None:
    async with answered(tmp_path) as stage:
        change(stage)
        assert not stage.is_wanted()


@pytest.mark.parametrize(
    ("timings", "usage", "is_wanted"),
    [
        (FAST, FEW, True),
        (None, None, True),
        (Timings(tokens_per_s=7.0), FEW, False),
        (Timings(first_token_s=11.0, tokens_per_s=40.0), FEW, False),
        (Timings(first_token_s=30.0, load_s=25.0, tokens_per_s=40.0), FEW, True),
        (FAST, Usage(prompt_tokens=5000, completion_tokens=1), False),
    ],
)
async def test_a_slow_model_and_a_long_chat_get_none(
    tmp_path: Path, timings: Timings | None, usage: Usage | None, is_wanted: bool
) -> None:
    async with answered(tmp_path) as stage:
        assert stage.is_wanted(timings, usage) == is_wanted


async def test_a_model_may_be_listed_with_a_tag(tmp_path: Path) -> None:
    async with answered(tmp_path) as stage:
        assert isinstance(stage.client._prompt, PromptRun)
        stage.client._prompt.model = "scripted://m:latest"
        assert stage.is_wanted()


async def test_a_model_that_is_chosen_meanwhile_gets_nothing_of_the_chat(tmp_path: Path) -> None:
    async with answered(tmp_path) as stage:

        async def choose(_model: str) -> None:
            stage.client.conversation.model = "scripted://other"

        stage.titles = ChatTitles(stage.store, stage.unsaved, choose, is_on=True)
        stage.says(TextDelta("Blue sky"), Finish("stop"))
        assert await stage.make() == "Blue sky"
        assert [request.model for request in stage.provider.requests] == ["m"]


async def test_a_chat_that_is_not_saved_gets_none(tmp_path: Path) -> None:
    async with answered(tmp_path, saved=False) as stage:
        assert not stage.is_wanted()


async def test_an_abort_ends_it_at_once_and_changes_nothing(tmp_path: Path) -> None:
    async with answered(tmp_path) as stage:
        signal, never = AbortSignal(), anyio.Event()
        stage.says(TextDelta("Half a ti"), never, Finish("stop"))
        made: list[str | None] = []

        async def make() -> None:
            made.append(await stage.make(signal))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(make)
                while not stage.provider.open_streams:
                    await anyio.lowlevel.checkpoint()
                signal.abort()
        assert made == [None]
        assert stage.provider.open_streams == 0
        assert await stage.saved_title() == "Why is the sky blue?"
        assert stage.is_wanted()  # the next answer may bring one


@pytest.mark.parametrize(
    "events",
    [
        (ErrorEvent(AIError(ErrorCode.INTERNAL_ERROR, "No.")),),
        (TextDelta(" \n"), Finish("stop")),
        (TextDelta("Blue"), Finish("content_filter")),
    ],
)
async def test_without_a_title_the_question_stays(tmp_path: Path, events: Any) -> None:
    async with answered(tmp_path) as stage:
        stage.says(*events)
        assert await stage.make() is None
        assert await stage.saved_title() == "Why is the sky blue?"


@pytest.mark.parametrize(
    ("modes", "should_think", "requests"),
    [
        (frozenset({"off", "last"}), False, 1),
        (frozenset({"last"}), None, 0),
        (frozenset({"off"}), None, 1),
    ],
)
async def test_a_model_does_not_think_about_a_title(
    tmp_path: Path, modes: Any, should_think: object, requests: int
) -> None:
    async with answered(tmp_path) as stage:
        stage.support = ThinkingSupport(modes=modes, default="last" if "last" in modes else "off")
        stage.says(TextDelta("Blue sky"), Finish("stop"))
        await stage.make()
        assert len(stage.provider.requests) == requests
        assert [one.should_think for one in stage.provider.requests] == [should_think] * requests


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Why the sky is blue", "Why the sky is blue"),
        ("Title: «Der blaue Himmel».", "Der blaue Himmel"),
        ("\n# Blue skies\nand more", "Blue skies"),
        ("Wait...", "Wait..."),
        ("***", None),
        ("", None),
        ("red\x1b[31m sky", "red␛[31m sky"),
        ("word " * 40, "word word word word word word word word word word word…"),
    ],
)
def test_what_is_taken_as_a_title(answer: str, title: str | None) -> None:
    assert title_from(answer) == title


@given(st.text(max_size=300))
def test_any_answer_gives_one_short_line_or_nothing(answer: str) -> None:
    title = title_from(answer)
    assert title is None or (0 < len(title) <= MAX_LENGTH and len(title.splitlines()) == 1)
