"""A message that is a template comes to every adapter as plain text, by router and chat."""

from pathlib import Path

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.templates.message_templates import render_request
from ollm_tui.templates.renderer import TemplateRenderer
from tests.contract.test_every_field import ADAPTERS, CHATS, Asked, adapter

ASKED = Message(
    "user",
    "hello {{ name }}",
    template_format="jinja2",
    metadata={"template_values": {"name": "{{ Ann }}"}},
)
SYSTEM = "Be {{ tone }}."


def sent(asked: Asked) -> list[str]:
    """Return the newest body of a chat that a server got."""
    received = [one for server in asked.servers for one in server.received]
    bodies = [str(one.json()) for one in received if one.path.endswith(CHATS)]
    return [body for body in bodies if "hello" in body]


async def test_every_adapter_gets_what_was_rendered(tmp_path: Path) -> None:
    async with TemplateRenderer() as renderer:

        async def render(request: Request, _info: ModelInfo | None) -> Request:
            return await render_request(request, {}, renderer)

        for name in ADAPTERS:
            async with adapter(name, tmp_path) as asked:
                registry = ProviderRegistry()
                registry.register(asked.provider)
                router = Router(registry, ModelCatalog(registry))
                router.render = render
                address = f"{asked.provider.name}://{asked.model}"
                request = Request(
                    model=address, messages=[ASKED], system_prompt=SYSTEM, stream=False,
                    template_format="hf", template_values={"tone": "kind"},
                )  # fmt: skip
                assert isinstance(await router.invoke(request), Response), name
                parts = ChatParts(router=router, render=render)
                client = ChatClient(parts, Conversation(model=address))
                options = ChatOptions(
                    system_prompt=SYSTEM, template_format="hf", template_values={"tone": "kind"}
                )
                async with client.chat(ASKED, options) as events:
                    assert [event async for event in events], name
                bodies = sent(asked)
            assert len(bodies) == 2, name
            for body in bodies:
                assert "hello {{ Ann }}" in body, (name, body)
                assert "Be kind." in body, (name, body)
                assert "template" not in body, (name, body)
