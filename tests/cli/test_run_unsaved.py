"""An answer that could not be saved to the chat that goes on is not passed over in silence."""

from types import SimpleNamespace
from typing import Any

import pytest

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.parts import ChatParts
from ollm_tui.cli import run
from ollm_tui.cli.output import ERROR, OK
from ollm_tui.config.flags import Flags
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
            ["Not saved: disk full. This question and its answer are not in the chat."],
        ),
    ],
)
async def test_a_chat_that_cannot_be_saved_is_reported(
    problem: AIError | None, code: int, notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = ProviderRegistry()
    registry.register(ScriptedProvider(script=[TextDelta("yes"), Finish("stop")]))
    parts = ChatParts(router=Router(registry, ModelCatalog(registry)))
    client = ChatClient(parts, Conversation(model="scripted://m"))
    client.saving.problem = problem

    async def chosen(*_: object) -> ChatClient:
        return client

    async def no_news(*_: object) -> None:
        return None

    monkeypatch.setattr(run, "_client", chosen)
    warnings: list[str] = []
    runtime: Any = SimpleNamespace(
        branches=SimpleNamespace(news=no_news),
        offered_tools=tuple,
        config=SimpleNamespace(tools=SimpleNamespace(enabled=())),
    )
    show: Any = SimpleNamespace(set_model=lambda _: None, event=lambda _: None)
    output: Any = SimpleNamespace(note=warnings.append)
    stop: Any = SimpleNamespace(signal=None, answering=False)
    flags = Flags(goes_on=True)
    assert await run._ask("hi", runtime, flags, stop, show, output) == code
    assert warnings == notes
