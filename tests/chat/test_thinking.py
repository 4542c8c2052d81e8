"""A mode of reasoning that a model is known not to have is refused before anything is sent."""

import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.provider_events import Finish, TextDelta, ThinkingDelta
from ollm_tui.protocol.request import ShouldThink, ThinkingConfig
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from tests.support.providers import ScriptedProvider

TEXT = frozenset({"text"})


async def end_of(
    wish: ShouldThink | None, *features: str
) -> tuple[chat_events.ChatEvent, ScriptedProvider]:
    capability = ModelCapability(TEXT, TEXT, frozenset(features)) if features else None
    provider = ScriptedProvider(models=[ModelInfo(name="m", capability=capability)])
    registry = ProviderRegistry()
    registry.register(provider)
    catalog = ModelCatalog(registry)
    await catalog.refresh()
    conversation = Conversation(model="scripted://m", should_think=wish)
    client = ChatClient(ChatParts(router=Router(registry, catalog)), conversation)
    async with client.chat("hi") as events:
        return [event async for event in events][-1], provider


@pytest.mark.parametrize("wish", [None, True, False, "off", "last", ThinkingConfig(mode="last")])
async def test_a_model_that_thinks_takes_on_and_off(wish: ShouldThink | None) -> None:
    end, provider = await end_of(wish, "stream", "thinking")
    assert end == chat_events.Finish(reason="stop")
    assert provider.requests[0].should_think == wish


@pytest.mark.parametrize("wish", ["first", "deep"])
async def test_a_mode_it_does_not_declare_is_refused_with_those_it_knows(
    wish: ShouldThink,
) -> None:
    end, provider = await end_of(wish, "stream", "thinking")
    assert isinstance(end, chat_events.ErrorEvent)
    assert end.error.code == ErrorCode.UNSUPPORTED_FEATURE
    assert "last, off" in str(end.error)
    assert provider.requests == []


async def test_a_model_that_does_not_think_takes_off_only() -> None:
    end, provider = await end_of(True, "stream")
    assert isinstance(end, chat_events.ErrorEvent)
    assert "does not think" in end.error.message
    assert provider.requests == []
    assert (await end_of(False, "stream"))[0] == chat_events.Finish(reason="stop")


async def test_of_a_model_nothing_is_known_about_the_provider_decides() -> None:
    end, provider = await end_of("deep")
    assert end == chat_events.Finish(reason="stop")
    assert provider.requests[0].should_think == "deep"


@pytest.mark.parametrize(
    ("pieces", "answer"),
    [
        (["\n\nThe answer is 4.\n\nYes."], "The answer is 4.\n\nYes."),
        (["\n", "\n", " ", " x\n", "y"], "  x\ny"),
        (["\r\n \t\n", "x"], "x"),
        (["x", "\n\n", "y"], "x\n\ny"),
        (["\n", " \n"], ""),
    ],
)
async def test_the_answer_after_the_reasoning_begins_with_its_first_line(
    pieces: list[str], answer: str
) -> None:
    thought = [ThinkingDelta("Two and"), ThinkingDelta(" two.\n")]
    provider = ScriptedProvider(script=(*thought, *map(TextDelta, pieces), Finish("stop")))
    registry = ProviderRegistry()
    registry.register(provider)
    conversation = Conversation(model="scripted://m")
    client = ChatClient(ChatParts(router=Router(registry, ModelCatalog(registry))), conversation)
    async with client.chat("hi") as events:
        received = [event async for event in events]
    deltas = [event.delta for event in received if isinstance(event, chat_events.TextDelta)]
    assert "".join(deltas) == answer == conversation.messages[-1].text
    assert all(deltas)
    thinking = [event.delta for event in received if isinstance(event, chat_events.ThinkingDelta)]
    assert "".join(thinking) == "Two and two.\n"
