"""Texts of chats for an embedding model: cut to its window, and shorter if that was too long."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from ollm_tui.protocol.blocks import EmbeddingContent, TextContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.request import Request, Response
from ollm_tui.providers.router import ResolvedModel
from ollm_tui.runtime.media import similar
from ollm_tui.runtime.media.similar import ChatEmbedder, cut_text
from ollm_tui.runtime.media.task_models import TaskModel


@dataclass
class WindowedProvider:
    """Refuses a request with a text of more characters than its window."""

    window: int
    code: int = ErrorCode.INTERNAL_ERROR
    embedded: list[str] = field(default_factory=list)

    async def invoke(self, request: Request) -> Response:
        assert isinstance(request.input, list)
        texts = [block.text for block in request.input if isinstance(block, TextContent)]
        if any(len(text) > self.window for text in texts):
            raise AIError(self.code, "input is too large")
        self.embedded += texts
        return Response(content=tuple(EmbeddingContent((float(len(text)),)) for text in texts))


def embedder(
    monkeypatch: pytest.MonkeyPatch, provider: WindowedProvider, **facts: Any
) -> ChatEmbedder:
    info = ModelInfo(name="mini", **facts)
    model = ResolvedModel(provider, ModelRef("local", "mini"), info)  # type: ignore[arg-type]

    async def only(_runtime: object) -> TaskModel:
        return TaskModel(model, None)

    monkeypatch.setattr(similar, "embedding_model_here", only)
    return ChatEmbedder(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "window", "length"),
    [("a" * 100, 512, 100), ("a" * 9999, 512, 1536), ("é" * 9999, 512, 768), ("é" * 9, 512, 9)],
)
def test_a_text_is_cut_to_the_window(text: str, window: int, length: int) -> None:
    assert len(cut_text(text, window)) == length


async def test_a_batch_that_is_refused_is_sent_one_by_one_and_shorter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    provider = WindowedProvider(100)
    vectors = await embedder(monkeypatch, provider, context=512).embed(["a" * 300, "b" * 10, "c"])
    assert [len(text) for text in provider.embedded] == [75, 10, 1]
    assert vectors == [(75.0,), (10.0,), (1.0,)]


async def test_a_text_that_is_never_taken_has_no_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = WindowedProvider(5)
    vectors = await embedder(monkeypatch, provider).embed(["a" * 300, "b" * 5])
    assert vectors == [None, (5.0,)]


@pytest.mark.parametrize("code", [ErrorCode.INTERNAL_ERROR, ErrorCode.SERVICE_UNAVAILABLE])
async def test_a_model_that_takes_nothing_is_an_error(
    monkeypatch: pytest.MonkeyPatch, code: ErrorCode
) -> None:
    with pytest.raises(AIError, match="too large"):
        await embedder(monkeypatch, WindowedProvider(-1, code)).embed(["a", "b"])


async def test_another_file_of_the_same_name_is_another_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = {
        await embedder(monkeypatch, WindowedProvider(9), **facts).find_model()
        for facts in ({}, {"size_bytes": 5}, {"size_bytes": 6}, {"details": {"digest": "ab"}})
    }
    assert len(names) == 4
