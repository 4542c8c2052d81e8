"""Prompts that are templates: rendered once, kept and saved as they were sent."""

from collections.abc import Sequence
from dataclasses import replace

import anyio
import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation, SystemTemplate
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.protocol import chat_events
from ollm_tui.protocol.blocks import TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonMapping, JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.provider_events import Finish, TextDelta
from ollm_tui.protocol.request import Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import RenderRequest, Router
from tests.support.providers import ScriptedProvider

ASKED = Message(
    "user",
    "Dear {{ name }}",
    template_format="jinja2",
    metadata={"template_values": {"name": "{{ Ann }}"}},
)


class Journal:
    """Keeps what is written."""

    def __init__(self) -> None:
        self.written: list[Message] = []

    async def begin(self, message: Message) -> str:
        self.written.append(message)
        return str(len(self.written))

    async def update(self, message_id: str, message: Message) -> None:
        self.written[int(message_id) - 1] = message

    async def finish(self, message_id: str, message: Message) -> None:
        await self.update(message_id, message)

    async def branch(self, kept: int, messages: Sequence[Message]) -> None:
        self.written[kept:] = messages

    def rewind(self, kept: int) -> None:
        del self.written[kept:]


class Renderer:
    """Puts values into braces, and counts how often it is asked."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.gate: anyio.Event | None = None

    async def __call__(self, request: Request, _info: ModelInfo | None) -> Request:
        self.requests.append(request)
        if self.gate is not None:
            await self.gate.wait()
        values = dict(request.template_values or {})
        messages = [self._plain(one, {**values, **_own(one)}) for one in request.conversation]
        system = request.system_prompt
        if system and request.template_format:
            system = self._filled(system, values)
        return replace(
            request, messages=messages, system_prompt=system, template_format=None,
            template_values=None,
        )  # fmt: skip

    def _plain(self, message: Message, values: JsonMapping) -> Message:
        if message.template_format is None:
            return message
        text = self._filled(message.text, values)
        return replace(message, content=(TextContent(text),), template_format=None)

    def _filled(self, text: str, values: JsonMapping) -> str:
        if "{{ missing }}" in text:
            raise AIError(ErrorCode.BAD_REQUEST, "'missing' has no value.")
        for name, value in values.items():
            text = text.replace(f"{{{{ {name} }}}}", str(value))
        return text


def _own(message: Message) -> JsonMapping:
    own = message.metadata.get("template_values")
    return own if isinstance(own, dict) else {}


def client_over(
    provider: ScriptedProvider, render: RenderRequest | None, journal: Journal | None = None
) -> ChatClient:
    registry = ProviderRegistry()
    registry.register(provider)
    parts = ChatParts(router=Router(registry, ModelCatalog(registry)), render=render)
    return ChatClient(parts, Conversation(model="scripted://m"), journal=journal)


def answering() -> ScriptedProvider:
    return ScriptedProvider(script=[TextDelta("Yes {{ name }}."), Finish("stop")])


async def ask(
    client: ChatClient,
    prompt: str | Message | None,
    options: ChatOptions | None = None,
    signal: AbortSignal | None = None,
) -> list[chat_events.ChatEvent]:
    stream = client.retry(options) if prompt is None else client.chat(prompt, options, signal)
    async with stream as events:
        return [event async for event in events]


def texts(messages: object) -> list[str]:
    return [message.text for message in messages]  # type: ignore[attr-defined]


async def test_the_history_and_the_saved_chat_have_the_text_that_was_sent() -> None:
    provider, render, journal = answering(), Renderer(), Journal()
    client = client_over(provider, render, journal)
    await ask(client, ASKED)
    assert texts(provider.requests[0].conversation) == ["Dear {{ Ann }}"]
    assert texts(client.conversation.messages) == ["Dear {{ Ann }}", "Yes {{ name }}."]
    assert journal.written == client.conversation.messages
    assert [one.template_format for one in journal.written] == [None, None]
    assert journal.written[0].metadata == ASKED.metadata
    assert client.conversation.title == "Dear {{ Ann }}"


async def test_a_retry_and_the_next_prompts_render_nothing_again() -> None:
    provider, render = answering(), Renderer()
    client = client_over(provider, render)
    await ask(client, ASKED)
    await ask(client, None)
    await ask(client, "{{ name }}", ChatOptions(template_values={"name": "Bob", "Ann": "Eve"}))
    reopened = client_over(provider, render)
    reopened.conversation.messages = [*client.conversation.messages]
    await ask(reopened, "and now?")
    sent = texts(provider.requests[-1].conversation)
    assert sent[:3] == ["Dear {{ Ann }}", "Yes {{ name }}.", "{{ name }}"]
    assert len(render.requests) == 2, "the second has values, but no template"


async def test_messages_of_the_history_that_are_templates_are_rendered_with_the_prompt() -> None:
    provider, render = answering(), Renderer()
    client = client_over(provider, render)
    client.conversation.messages = [replace(ASKED, role="system"), Message("user", "{{ name }}")]
    client.conversation.messages.append(Message("assistant", "{{ name }}"))
    await ask(client, "hi")
    assert texts(provider.requests[0].conversation)[:3] == [
        "Dear {{ Ann }}", "{{ name }}", "{{ name }}",
    ]  # fmt: skip
    assert client.conversation.messages[0].template_format is None


async def test_the_system_prompt_is_rendered_for_each_prompt_and_stays_a_template() -> None:
    provider, render = answering(), Renderer()
    client = client_over(provider, render)
    client.conversation.system_prompt = "Be {{ tone }}."
    await ask(client, "hi", ChatOptions(template_values={"tone": "kind"}))
    client.conversation.system_template = SystemTemplate("Be {{ tone }}.", "jinja2")
    await ask(client, "hi", ChatOptions(template_values={"tone": "kind"}))
    await ask(client, "hi", ChatOptions(template_values={"tone": "{{ tone }}"}))
    await ask(client, "hi", ChatOptions(system_prompt="{{ tone }}"))
    own = ChatOptions(system_prompt="{{ a }}", template_format="hf", template_values={"a": "b"})
    await ask(client, "hi", own)
    assert [one.system_prompt for one in provider.requests] == [
        "Be {{ tone }}.", "Be kind.", "Be {{ tone }}.", "{{ tone }}", "b",
    ]  # fmt: skip
    assert client.conversation.system_prompt == "Be {{ tone }}."
    client.conversation.system_prompt = "{{ tone }}"
    await ask(client, "hi", ChatOptions(template_values={"tone": "kind"}))
    assert provider.requests[-1].system_prompt == "{{ tone }}", "another text is plain"
    assert not any(one.names_templates for one in provider.requests)


async def test_a_prompt_that_cannot_be_rendered_is_not_kept() -> None:
    provider, journal = answering(), Journal()
    client = client_over(provider, Renderer(), journal)
    missing = Message("user", "{{ missing }}", template_format="hf")
    (end,) = await ask(client, missing)
    assert isinstance(end, chat_events.ErrorEvent)
    assert end.error.message == "'missing' has no value."
    assert client.conversation.messages == journal.written == []
    client.conversation.model = None
    (end,) = await ask(client, ASKED)
    assert isinstance(end, chat_events.ErrorEvent)
    assert client.conversation.messages == []
    client.conversation.model = "scripted://m"
    await ask(client, "hi")
    assert texts(provider.requests[0].conversation) == ["hi"]


async def test_without_a_renderer_it_is_refused() -> None:
    provider = answering()
    client = client_over(provider, None)
    (end,) = await ask(client, ASKED)
    assert isinstance(end, chat_events.ErrorEvent)
    assert end.error.code == ErrorCode.UNSUPPORTED_FEATURE
    assert not provider.requests


async def test_a_stop_while_it_is_rendered_takes_the_prompt_back() -> None:
    provider, render, signal = answering(), Renderer(), AbortSignal()
    render.gate = anyio.Event()
    client = client_over(provider, render)
    async with client.chat(ASKED, signal=signal) as events:
        while not render.requests:
            await anyio.lowlevel.checkpoint()
        signal.abort()
        assert [event async for event in events] == [chat_events.Finish(reason="abort")]
    assert client.conversation.messages == []
    async with client.chat(ASKED):
        while len(render.requests) < 2:
            await anyio.lowlevel.checkpoint()
    assert client.conversation.messages == [], "who leaves early sent nothing"


async def test_a_variable_may_have_the_name_of_a_mark_of_the_chat() -> None:
    values: JsonObject = {"correction": "now", "ended": "late"}
    provider = answering()
    client = client_over(provider, Renderer())
    marked = replace(ASKED, metadata={"template_values": values})
    await ask(client, marked)
    await ask(client, None)
    assert texts(client.conversation.messages) == ["Dear {{ name }}", "Yes {{ name }}."]
    assert len(provider.requests) == 2
    for mark in values:
        with pytest.raises(AIError, match=f"The metadata key '{mark}' of a prompt is set by"):
            await ask(client, Message("user", "hi", metadata={mark: True}))
    assert len(client.conversation.messages) == 2


async def test_a_prompt_has_the_role_of_the_user() -> None:
    client = client_over(answering(), Renderer())
    with pytest.raises(AIError, match="A prompt has the role `user`, not 'system'"):
        await ask(client, Message("system", "hi"))
    assert client.conversation.messages == []
