"""A model that calls tools it was not offered is told, and its answer is never empty in silence."""

import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.cli.event_writer import code_of
from ollm_tui.cli.output import OK
from ollm_tui.protocol import chat_events
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.runner import ToolRunner
from tests.contract.rig import Rig
from tests.support.tools import AllowAll, ScriptedTool


@pytest.mark.parametrize("offered", [(), ("clock",)], ids=["no tools", "another tool"])
async def test_it_is_told_and_the_person_sees_a_line(rig: Rig, offered: tuple[str, ...]) -> None:
    registry = ProviderRegistry()
    registry.register(rig.provider)
    weather, clock = ScriptedTool("weather"), ScriptedTool("clock")
    parts = ChatParts(
        router=Router(registry, ModelCatalog(registry)),
        tools=ToolRunner(ToolRegistry([weather, clock]), AllowAll()),
    )
    model = f"{rig.provider.name}://{rig.request('tool').model}"
    client = ChatClient(parts, Conversation(model=model, tools=offered))
    async with client.chat("tool") as stream:
        events = [event async for event in stream]
    assert weather.calls == []
    ended = [e.result for e in events if isinstance(e, chat_events.ToolCallResult)]
    results = [one for one in ended if one.name != "clock"]
    texts = [e for e in events if isinstance(e, chat_events.TextDelta) and e.delta.strip()]
    # the grammar of a server may allow only what is offered
    assert results or texts or clock.calls, "an answer has words, or says which call did not run"
    assert all(one.content.startswith("Not run: ") and one.is_error for one in results)
    if results and not texts:
        assert any(code_of(event) != OK for event in events)
        kept = [m for m in client.conversation.messages if m.role == "tool"]
        assert len(kept) >= 2, "the model read the first one and was asked again"
