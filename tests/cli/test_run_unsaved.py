"""An answer that could not be saved to the chat that goes on is not passed over in silence."""

from types import SimpleNamespace
from typing import Any

import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.cli import run
from ollm_tui.cli.output import ERROR, OK
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import Finish, TextDelta
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from tests.support.providers import ScriptedProvider


@pytest.mark.parametrize(
    ("problem", "code", "notes"),
    [
        (None, OK, []),
        (
            AIError(ErrorCode.INTERNAL_ERROR, "Not saved: disk full."),
            ERROR,
            ["Not saved: disk full. The chat may lack this question or its answer."],
        ),
    ],
)
async def test_a_chat_that_cannot_be_saved_is_reported(
    problem: AIError | None, code: int, notes: list[str]
) -> None:
    registry = ProviderRegistry()
    registry.register(ScriptedProvider(script=[TextDelta("yes"), Finish("stop")]))
    parts = ChatParts(router=Router(registry, ModelCatalog(registry)))
    client = ChatClient(parts, Conversation(model="scripted://m"))
    client.saving.problem = problem
    warnings: list[str] = []
    show: Any = SimpleNamespace(set_model=lambda _: None, event=lambda _: None)
    output: Any = SimpleNamespace(note=warnings.append)
    stop: Any = SimpleNamespace(signal=None, answering=False)
    assert await run._ask(client, "hi", ChatOptions(), stop, show, output) == code
    assert warnings == notes
