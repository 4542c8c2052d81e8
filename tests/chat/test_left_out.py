"""A chat says in one line what its answer was made without."""

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import Finish, LeftOut, TextDelta
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from tests.support.providers import ScriptedProvider

REFUSAL = AIError(ErrorCode.BAD_REQUEST, "Unknown parameter: 'top_k'.", status=400)


def clients(number: int) -> list[ChatClient]:
    """Give chats of one run with a server that knows no `top_k`."""
    registry = ProviderRegistry()
    script = (LeftOut("top_k", REFUSAL), TextDelta("Hello"), Finish("stop"))
    registry.register(ScriptedProvider(script=script))
    parts = ChatParts(router=Router(registry, ModelCatalog(registry)))
    return [ChatClient(parts, Conversation(model="scripted://m")) for _ in range(number)]


async def events_of(client: ChatClient, model: str | None = None) -> list[chat_events.ChatEvent]:
    async with client.chat("hi", ChatOptions(model=model)) as stream:
        return [event async for event in stream]


async def test_a_field_that_was_left_out_is_one_line_before_the_answer() -> None:
    (client,) = clients(1)
    note, *rest = await events_of(client)
    assert note == chat_events.Retrying(
        attempt=1,
        wait_s=0,
        error=REFUSAL,
        turn=1,
        instead="The answer was requested without `top_k`.",
    )
    assert [type(event).__name__ for event in rest] == ["TextDelta", "TurnComplete", "Finish"]
    assert client.conversation.last_answer() == "Hello"


async def test_it_is_reported_once_for_each_chat_and_model() -> None:
    first, second = clients(2)
    left_out_events = [
        sum(isinstance(event, chat_events.Retrying) for event in await events_of(client, model))
        for client, model in (
            (first, None),
            (first, None),
            (first, "scripted://other"),
            (first, "scripted://other"),
            (second, None),
        )
    ]
    assert left_out_events == [1, 0, 1, 0, 1]
