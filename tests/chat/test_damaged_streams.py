"""Ten thousand damaged answers with tools on: one end each, and no call that was not really there.

The tools of half of them take only the arguments that were sent, so any damage of the bytes is
refused; the others take whatever has the right types, and only what no reader can miss is damaged.
"""

import json
import random
import resource
from collections.abc import Sequence

import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.model_support import ToolMode, ToolModes
from ollm_tui.chat.parts import ChatLimits, ChatParts
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.chat_events import ChatEvent
from ollm_tui.protocol.codec import message_to_json
from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.ports import ProviderStream
from ollm_tui.protocol.provider_events import Finish, ProviderEvent, TextDelta
from ollm_tui.protocol.request import Request
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from tests.providers.damage import (
    MOVING,
    damaged,
    damaged_once,
    end_early,
    in_chunks,
    scratch,
    tear,
)
from tests.providers.dialects import DIALECTS, FRAGILE, INTACT, Dialect
from tests.support.providers import ScriptedProvider
from tests.support.seeds import chance_for, in_parts
from tests.support.tools import ScriptedTool, runner_for

STREAMS = 10_000
EACH = STREAMS // (2 * len(DIALECTS))
PARTS = 7
"""Of the streams of each kind; no divisor of theirs, so that each has all kinds of damage."""
TORN, TORN_PARTS = 200, 4
MAX_GROWTH_KB = 64 * 1024
TYPED: dict[str, JsonObject] = {
    "weather": {
        "city": {"type": "string"},
        "days": {"type": "array", "items": {"type": "integer"}},
    },
    "clock": {"zone": {"type": "string"}, "exact": {"type": "boolean"}},
}


def tools(*, exact: bool) -> list[ScriptedTool]:
    """Make both tools; exact ones take nothing but the arguments that were sent."""
    return [
        ScriptedTool(
            name,
            parameters={
                "type": "object",
                "properties": {
                    key: {"const": INTACT[name][key]} if exact else kind
                    for key, kind in TYPED[name].items()
                },
                "required": [*TYPED[name]],
                "additionalProperties": False,
            },
        )
        for name in INTACT
    ]


class OneAnswer(ScriptedProvider):
    """Gives the decoded answer first, and after that a plain one."""

    def chat_stream(self, request: Request) -> ProviderStream:
        if self.requests:
            self.script = [TextDelta("Done."), Finish("stop")]
        return super().chat_stream(request)


def decoded(dialect: Dialect, body: bytes, chance: random.Random) -> list[ProviderEvent]:
    decoder = dialect.decoder()
    events = [event for chunk in in_chunks(body, chance) for event in decoder.feed(chunk)]
    return events + decoder.finish()


async def answered(
    script: Sequence[ProviderEvent], mode: ToolMode, offered: Sequence[ScriptedTool]
) -> tuple[list[ChatEvent], list[Message]]:
    """Let the chat have this answer with these tools on."""
    registry = ProviderRegistry()
    registry.register(OneAnswer(script=script))
    parts = ChatParts(
        router=Router(registry, ModelCatalog(registry)),
        tools=runner_for(*offered),
        modes=ToolModes(chosen={"m": mode}),
        limits=ChatLimits(max_turns=4),
    )
    client = ChatClient(parts, Conversation(model="scripted://m", tools=tuple(INTACT)))
    async with client.chat("hi") as events:
        return [event async for event in events], client.conversation.messages


def ran(offered: Sequence[ScriptedTool]) -> list[tuple[str, JsonObject]]:
    return [(tool.schema.name, args) for tool in offered for args in tool.calls]


def check_end(events: Sequence[ChatEvent]) -> None:
    ends = [e for e in events if isinstance(e, chat_events.Finish | chat_events.ErrorEvent)]
    assert ends == [events[-1]]
    if isinstance(ends[0], chat_events.ErrorEvent):
        assert "inside the program" not in ends[0].error.message
        assert ends[0].error.code in set(ErrorCode)


def check_history(messages: Sequence[Message]) -> None:
    """Every call has one result after it, in order, and all of it can be saved."""
    json.dumps([message_to_json(m) for m in messages], ensure_ascii=False).encode()
    calls = [call.id for message in messages for call in message.tool_calls]
    assert calls == [m.tool_call_id for m in messages if m.role == "tool"]
    assert len(set(calls)) == len(calls)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_the_answer_itself_runs_its_calls(dialect: Dialect) -> None:
    mode: ToolMode = "react" if dialect.mode == "react" else "native"
    for exact in (True, False):
        offered = tools(exact=exact)
        script = decoded(dialect, b"".join(dialect.frames), random.Random(1))
        events, messages = await answered(script, mode, offered)
        check_end(events)
        check_history(messages)
        assert ran(offered) == [(name, INTACT[name]) for name in dialect.expected]


@pytest.mark.one_in(6)
@in_parts(PARTS)
@pytest.mark.parametrize("exact", [True, False], ids=["any damage", "damage that shows"])
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_a_damaged_answer_runs_no_call_that_was_not_sent(
    dialect: Dialect, exact: bool, part: int
) -> None:
    chance = chance_for(20_261 + part)
    mode: ToolMode = "react" if dialect.mode == "react" else "native"
    intact = [(name, INTACT[name]) for name in dialect.expected]
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + MAX_GROWTH_KB
    runs = 0
    for number in range(part, EACH, PARTS):
        if number % 3:
            body = damaged(dialect.frames, MOVING, chance)
        else:
            body = damaged_once(dialect.frames, end_early, chance)
        if exact and number % 2:
            body = damaged_once([body], scratch, chance)
        offered = tools(exact=exact)
        events, messages = await answered(decoded(dialect, body, chance), mode, offered)
        check_end(events)
        check_history(messages)
        assert [call for call in ran(offered) if call not in intact] == [], body
        runs += len(ran(offered))
    assert runs, "no stream was left whole enough to prove anything"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss <= most


@pytest.mark.one_in(3)
@in_parts(TORN_PARTS)
@pytest.mark.parametrize("dialect", FRAGILE, ids=lambda dialect: dialect.name)
async def test_a_call_from_which_a_piece_was_lost_is_not_run(dialect: Dialect, part: int) -> None:
    chance = chance_for(20_262 + part)
    mode: ToolMode = "react" if dialect.mode == "react" else "native"
    intact = [(name, INTACT[name]) for name in dialect.expected]
    for _ in range(TORN // TORN_PARTS):
        body = damaged_once(dialect.frames, tear, chance)
        offered = tools(exact=False)
        events, messages = await answered(decoded(dialect, body, chance), mode, offered)
        check_end(events)
        check_history(messages)
        assert [call for call in ran(offered) if call not in intact] == [], body
