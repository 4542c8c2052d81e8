"""The figures of the context: one source for the status line, `/context` and what is refused."""

from collections.abc import Sequence

import anyio
import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.context import ContextGuard
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.model_support import ToolMode, ToolModes
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.tool_loop import ToolOffer
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.blocks import ImageContent, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message, Usage
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef
from ollm_tui.protocol.provider_events import Finish, TextDelta
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.tools import ToolCall, ToolResult, ToolSchema
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import ResolvedModel, Router
from ollm_tui.runtime.measure import ContextRoom, apply_remedy, measure, room_of
from ollm_tui.tokens.count import TokenCounter
from ollm_tui.tokens.limits import LeaveOutTurns, RaiseWindow
from tests.support.providers import ScriptedProvider
from tests.support.tools import Offered

TRAINED = {"context_trained": 131_072}


class Offers:
    """Offers these tools and runs none."""

    def __init__(self, schemas: Sequence[ToolSchema]) -> None:
        self._schemas = tuple(schemas)

    def offer(self, names: Sequence[str]) -> ToolOffer:
        return Offered(self._schemas, self._run)

    async def _run(self, call: ToolCall) -> ToolResult:
        return ToolResult(call_id=call.id, name=call.name, content="never")


class Chat:
    """A chat with one model that was named by its address and never listed."""

    def __init__(
        self,
        provider: ScriptedProvider,
        system: str | None = None,
        *,
        tools: Sequence[ToolSchema] = (),
        mode: ToolMode = "native",
    ) -> None:
        registry = ProviderRegistry()
        registry.register(provider)
        self.router = Router(registry, ModelCatalog(registry))
        self.counter = TokenCounter()
        self.conversation = Conversation(model="scripted://m", system_prompt=system)
        self.parts = ChatParts(
            router=self.router,
            counter=self.counter,
            tools=Offers(tools),
            modes=ToolModes(chosen={"m": mode}),
        )
        self.client = ChatClient(self.parts, self.conversation)

    async def ask(self, prompt: str) -> list[chat_events.ChatEvent]:
        async with self.client.chat(prompt) as events:
            return [event async for event in events]

    def room(self) -> ContextRoom:
        found = room_of(self.conversation, self.parts)
        assert found is not None
        return found

    async def ways(self) -> list[type]:
        figures = await measure(self.conversation, self.parts)
        return [type(way) for way in figures.ways]


def provider(window: int, usage: Usage | None = None) -> ScriptedProvider:
    return ScriptedProvider(
        script=[TextDelta("an answer of some length"), Finish("stop", usage)],
        models=[ModelInfo(name="m", context=window, details=TRAINED)],
    )


async def test_a_model_that_was_named_has_the_window_of_the_list() -> None:
    served = provider(100)
    [only] = await Chat(served).ask("x" * 600)
    assert isinstance(only, chat_events.ErrorEvent)
    assert only.error.details["context_tokens"] == 100
    assert served.requests == []


async def test_the_list_is_asked_once_and_a_silent_server_is_not_asked_to_count() -> None:
    served = provider(100)
    chat = Chat(served)
    await chat.ask("one")
    await chat.ask("two")
    assert served.listed == 1
    gone = ScriptedProvider(list_error=AIError(ErrorCode.TIMEOUT, "No answer."))
    found = await Chat(gone).router.informed(ResolvedModel(gone, ModelRef("scripted", "m")))
    assert (found.info, found.is_silent) == (None, True)


async def test_the_status_line_says_what_the_context_view_says() -> None:
    chat = Chat(provider(8_192), system="Be brief. " * 200)
    before = chat.room()
    figures = await measure(chat.conversation, chat.parts)
    assert before.used == figures.used > 400
    assert (
        (chat.room().used, chat.room().limit)
        == (figures.used, figures.limit)
        == (
            figures.used,
            8_192,
        )
    )
    await chat.ask("x" * 4_000)
    counted = chat.client.guard.state
    assert counted is not None
    after = await measure(chat.conversation, chat.parts)
    assert chat.room().used == after.used > counted.counted.tokens


async def test_an_answer_that_was_stopped_is_counted() -> None:
    chat = Chat(provider(8_192))
    await chat.ask("x")
    used = chat.room().used
    chat.conversation.messages.append(
        Message("assistant", "word " * 400, metadata={"ended": "stopped"})
    )
    assert chat.room().used > used + 400


async def test_a_server_that_cut_the_prompt_teaches_nothing() -> None:
    """Ollama reports what it kept of a prompt that is longer than its window."""
    chat = Chat(provider(0, Usage(prompt_tokens=4_096)))
    await chat.ask("x" * 36_000)
    await chat.ask("y")
    assert chat.room().used > 9_000
    figures = await measure(chat.conversation, chat.parts)
    assert figures.used > 9_000


async def test_a_larger_window_is_offered_only_where_a_request_brings_it() -> None:
    fixed, flexible = provider(100), provider(100)
    flexible.loads_with_window = True  # type: ignore[attr-defined]
    for served, offered in ((fixed, False), (flexible, True)):
        chat = Chat(served)
        await chat.ask("x" * 4_000)
        assert (RaiseWindow in await chat.ways()) is offered
    request = Request(model="m", input="x")
    found = ResolvedModel(fixed, ModelRef("scripted", "m"), fixed.models[0])
    assert ContextGuard(TokenCounter(), {}).window_of(request, found).tokens == 100


@pytest.mark.parametrize("kind", ["vllm", "llamacpp"])
async def test_a_hung_server_keeps_a_count_waiting_for_a_moment_only(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ollm_tui.providers import create_provider
    from ollm_tui.providers.spec import ProviderSpec

    monkeypatch.setattr(f"ollm_tui.providers.openai_compatible.{kind}.COUNT_S", 0.05)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener:
        [port] = {one.extra(anyio.abc.SocketAttribute.local_port) for one in listener.listeners}
        spec = ProviderSpec(
            name="s",
            kind="openai-compatible",
            backend=kind,
            base_url=f"http://127.0.0.1:{port}",
            list_timeout_s=600,
        )
        adapter = create_provider(spec)
        with anyio.fail_after(60):
            counted = await TokenCounter().count(Request(model="m", input="four"), adapter)
        assert counted.source == "estimate"
        await adapter.dispose()  # type: ignore[attr-defined]


async def test_what_a_server_reported_counts_for_the_status_line_as_for_the_context_view() -> None:
    """Four characters a token is far too few for many languages; the report corrects all of it."""
    chat = Chat(provider(32_768, Usage(prompt_tokens=8_000)))
    await chat.ask("x" * 8_000)
    shown = chat.room().used
    figures = await measure(chat.conversation, chat.parts)
    assert shown == figures.used == chat.room().used > 6_000


async def asked_and_measured(chat: Chat) -> tuple[int, int, int]:
    """Give what the newest request was counted as, then the figures for the very same one."""
    state = chat.client.guard.state
    assert state is not None
    del chat.conversation.messages[-1]  # its answer
    chat.conversation.counted = None
    shown = chat.room().used
    return state.counted.tokens, (await measure(chat.conversation, chat.parts)).used, shown


async def test_tools_that_are_described_in_text_are_counted_as_they_are_sent() -> None:
    tool = ToolSchema(name="clock", description="Tells the time in a city. " * 9)
    chat = Chat(provider(8_192), tools=[tool], mode="react")
    await chat.ask("what time is it?")
    await chat.ask("and now?")
    counted, measured, shown = await asked_and_measured(chat)
    assert counted == measured == shown > 200


async def test_pictures_that_are_not_sent_are_not_counted() -> None:
    blind = provider(8_192)
    text = ModelCapability(input=frozenset({"text"}), output=frozenset({"text"}))
    blind.models = [ModelInfo(name="m", context=8_192, capability=text)]
    chat = Chat(blind)
    picture = ImageContent(url="https://a.example/p.png")
    async with chat.client.chat([TextContent("what is it?"), picture]) as events:
        assert [event async for event in events]
    counted, measured, shown = await asked_and_measured(chat)
    assert counted == measured == shown < 100


async def test_leaving_out_a_turn_frees_what_is_announced_for_a_question_without_an_answer() -> (
    None
):
    chat = Chat(provider(1_000))
    chat.conversation.messages += [
        Message("user", "x" * 2_000),
        Message("user", "y" * 2_000),
        Message("assistant", "z" * 1_000),
        Message("user", "hello?"),
    ]
    before = await measure(chat.conversation, chat.parts)
    [way] = before.ways
    assert isinstance(way, LeaveOutTurns)
    apply_remedy(chat.conversation, way)
    after = await measure(chat.conversation, chat.parts)
    assert after.used == before.used - way.plan.freed < 1_000
